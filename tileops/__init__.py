"""Custom operators for torch.compile, declared once in YAML.

Importing the package registers every entry of its manifest as `torch.ops.tileops.<operator>`.
Without torch, or in a static process, only the torch-free parts are there.
"""

import importlib
import importlib.util
import logging
from typing import Any

from tileops._version import __version__
from tileops.static import is_static

__all__ = [
    "CallError",
    "Policy",
    "Target",
    "__version__",
    "boundary_policy",
    "load_manifest",
    "record_implementations",
    "register_target",
    "registry",
    "use_target",
    "warmup",
]

logging.getLogger("tileops").addHandler(logging.NullHandler())

if not is_static() and importlib.util.find_spec("torch") is not None:
    from tileops.runtime.boundary import Policy, boundary_policy
    from tileops.runtime.errors import CallError
    from tileops.runtime.shipped import load_manifest, register
    from tileops.runtime.targets import Target, register_target, use_target

    registry = register()

# Found when they are asked for: an import does without the modules.
_LATER = {
    "record_implementations": "tileops.runtime.dispatch",
    "warmup": "tileops.runtime.warmup",
}


def __getattr__(name: str) -> Any:
    if name == "testing":
        return importlib.import_module("tileops.testing")
    if name in _LATER and not is_static():
        return getattr(importlib.import_module(_LATER[name]), name)
    if name in __all__:
        raise AttributeError(f"tileops.{name} needs torch, and a process that is not static")
    raise AttributeError(f"module 'tileops' has no attribute {name!r}")
