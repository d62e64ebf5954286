"""One import in a fresh process: `python -m benchmarks.startup_child [FOLDER NAMESPACE]`.

torch is there first and does not count. Without arguments `import tileops` is measured, with them
the same work on another manifest: the package stays static, and the runtime registers the folder.
Out: one JSON line.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any


class _Watch:
    """Milliseconds of CPU and of the clock since the last look."""

    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def look(self) -> tuple[float, float]:
        cpu, wall = time.process_time(), time.perf_counter()
        passed = (cpu - self._cpu) * 1e3, (wall - self._wall) * 1e3
        self._cpu, self._wall = time.process_time(), time.perf_counter()
        return passed


def measure(folder: str | None, namespace: str) -> dict[str, Any]:
    """What one import costs."""
    import torch  # noqa: F401

    watch = _Watch()
    if folder is None:
        import tileops

        cpu, wall = watch.look()
        registry = tileops.registry
        parts = {}
    else:
        from pathlib import Path

        from tileops.runtime.shipped import registry_of

        modules_cpu, modules_wall = watch.look()
        registry = registry_of(Path(folder), namespace)
        register_cpu, register_wall = watch.look()
        cpu, wall = modules_cpu + register_cpu, modules_wall + register_wall
        parts = {"modules_ms": modules_cpu, "register_ms": register_cpu}
    return {
        "cpu_ms": cpu,
        "wall_ms": wall,
        **parts,
        "entries": len(registry.entries),
        "overloads": sum(len(entry.operators) for entry in registry.entries),
        "skipped": len(registry.skipped),
        "heavy": sorted({"triton", "sympy", "yaml", "torch._dynamo"} & set(sys.modules)),
    }


if __name__ == "__main__":
    os.environ["TILEOPS_STATIC"] = "1" if len(sys.argv) > 1 else "0"
    given = sys.argv[1] if len(sys.argv) > 1 else None
    print(json.dumps(measure(given, sys.argv[2] if given else "tileops")))
