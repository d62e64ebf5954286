"""Whether this process is static: it reads manifests and registers nothing, so it needs no torch.

The console script's module `tileops_cli` marks the process; `TILEOPS_STATIC=1` does the same.
A verb that needs the operators after all asks the runtime for them itself.
"""

from __future__ import annotations

import os
import sys


def is_static() -> bool:
    """Whether `import tileops` must leave torch alone in this process."""
    if os.environ.get("TILEOPS_STATIC", "") not in ("", "0"):
        return True
    # The mark lives in the script's own module: an environment variable would reach the worker
    # processes that a verb starts, and those do need the operators.
    return bool(getattr(sys.modules.get("tileops_cli"), "static", False))
