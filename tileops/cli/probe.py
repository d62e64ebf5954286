"""What torch and the registered package are in this process, printed as JSON.

`tileops doctor` runs this in a child: the command line itself stays without torch, and an
installation so broken that importing it ends the process still gets a report.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def report(import_seconds: float) -> None:
    """Prints devices as torch sees them, and what `import tileops` registered."""
    import torch

    import tileops

    found: dict[str, Any] = {"torch": torch.__version__, "import_seconds": import_seconds}
    found["devices"] = ["cpu", *(_gpu(i) for i in range(torch.cuda.device_count()))]
    registry = getattr(tileops, "registry", None)
    if registry is not None:
        found["entries"] = [entry.name for entry in registry.entries]
        found["skipped"] = [[entry.name, entry.reason] for entry in registry.skipped]
    json.dump(found, sys.stdout)


def _gpu(index: int) -> str:
    import torch

    major, minor = torch.cuda.get_device_capability(index)
    return f"cuda:{index} {torch.cuda.get_device_name(index)} (sm_{major}{minor})"
