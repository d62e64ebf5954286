"""`import tileops` after torch: warm and cold, and what an entry costs.

In: generated manifests of several sizes, and the one that ships. Out: milliseconds of CPU in fresh
processes, the best of several that alternate between sizes. Warm: bytecode and the import cache
are there. Cold: only the bytecode is, as on the first import after an installation.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.case import Benchmark, Case, Options, Shown, Table, Values
from benchmarks.generated_manifest import write_manifest
from benchmarks.results import ROOT

SIZES = (20, 200, 2000)
QUICK_SIZES = (5,)
WARM_TIMES = 7
COLD_TIMES = {20: 3, 200: 3, 2000: 1}
# The bar: what a warm import may cost at 200 entries.
WARM_LIMIT_MS = 100.0


def _child(cache: Path, folder: Path | None) -> dict[str, Any]:
    """What a fresh process measures, its cache kept in `cache`."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"TILEOPS_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1"}
    arguments = [] if folder is None else [str(folder), "tileops_benchmark"]
    command = [sys.executable, "-m", "benchmarks.startup_child", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no output"])[-1])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _best(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return min(runs, key=lambda item: item["cpu_ms"])


def measure(entries: int | None, warm_times: int, cold_times: int) -> Values:
    """Warm and cold imports of a generated manifest, or of the shipped one for None."""
    with tempfile.TemporaryDirectory(prefix="tileops-startup-") as name:
        base = Path(name)
        folder = None
        if entries is not None:
            folder = base / "spec"
            write_manifest(folder, entries)
        first = _child(base / "cache", folder)  # maybe without bytecode
        cold = [_child(base / f"cold{at}", folder) for at in range(cold_times)] or [first]
        warm = [_child(base / "cache", folder) for _ in range(warm_times)]
    best = _best(warm)
    values: Values = {
        "warm_ms": best["cpu_ms"],
        "warm_wall_ms": min(item["wall_ms"] for item in warm),
        "cold_ms": _best(cold)["cpu_ms"],
        "repeats": {
            "warm": [item["cpu_ms"] for item in warm],
            "cold": [item["cpu_ms"] for item in cold],
        },
        **{key: best[key] for key in ("entries", "overloads", "skipped", "heavy")},
    }
    if "modules_ms" in best:
        values["modules_ms"] = min(item["modules_ms"] for item in warm)
        values["register_ms"] = min(item["register_ms"] for item in warm)
        values["warm_us_per_entry"] = values["register_ms"] / best["entries"] * 1e3
        values["cold_us_per_entry"] = values["cold_ms"] / best["entries"] * 1e3
    return values


def cases(options: Options) -> Iterable[Case]:
    """The generated sizes, then the manifest that ships."""
    sizes = QUICK_SIZES if options.quick else SIZES
    warm = 1 if options.quick else WARM_TIMES
    for size in sizes:
        cold = 0 if options.quick else COLD_TIMES[size]
        yield Case(f"{size} entries", functools.partial(measure, size, warm, cold))
    if not options.quick:
        yield Case("shipped", functools.partial(measure, None, warm, 3))


def shown(values: dict[str, Values]) -> Shown:
    """One row for each manifest."""
    table = Table(
        ("manifest", "entries", "overloads", "warm ms", "(clock)", "modules", "register",
         "us/entry", "cold ms", "us/entry")
    )  # fmt: skip
    for name, item in values.items():
        table.add(
            name, item["entries"], item["overloads"], item["warm_ms"], item["warm_wall_ms"],
            item.get("modules_ms"), item.get("register_ms"), item.get("warm_us_per_entry"),
            item["cold_ms"], item.get("cold_us_per_entry"),
        )  # fmt: skip
    lines: list[Table | str] = [table]
    if (bar := values.get("200 entries")) is not None:
        verdict = "reached" if bar["warm_ms"] <= WARM_LIMIT_MS else "missed"
        lines.append(f"at most {WARM_LIMIT_MS:.0f} ms warm at 200 entries: {verdict}")
    heavy = sorted({module for item in values.values() for module in item["heavy"]})
    lines.append(f"loaded although a warm import needs none of it: {', '.join(heavy) or 'nothing'}")
    return lines


BENCHMARK = Benchmark("startup", "import tileops after torch, milliseconds of CPU", cases, shown)
