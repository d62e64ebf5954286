"""Imports torch and the registered package in this process, and prints what it sees as JSON.

`tileops doctor` runs this in a child: the command line itself stays without torch, and an
installation so broken that importing it ends the process still gets a report.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def look() -> dict[str, Any]:
    """Devices as torch sees them, and what `import tileops` registered."""
    import torch

    start = time.perf_counter()
    import tileops

    seconds = time.perf_counter() - start
    found: dict[str, Any] = {"torch": torch.__version__, "import_seconds": round(seconds, 3)}
    found["devices"] = ["cpu", *(_gpu(i) for i in range(torch.cuda.device_count()))]
    registry = getattr(tileops, "registry", None)
    if registry is not None:
        found["entries"] = [entry.name for entry in registry.entries]
        found["skipped"] = [[entry.name, entry.reason] for entry in registry.skipped]
    return found


def _gpu(index: int) -> str:
    import torch

    major, minor = torch.cuda.get_device_capability(index)
    return f"cuda:{index} {torch.cuda.get_device_name(index)} (sm_{major}{minor})"


if __name__ == "__main__":
    json.dump(look(), sys.stdout)
