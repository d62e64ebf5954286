"""Custom operators for torch.compile, declared once in YAML."""

import logging

from tileops._version import __version__

logging.getLogger("tileops").addHandler(logging.NullHandler())

__all__ = ["__version__"]
