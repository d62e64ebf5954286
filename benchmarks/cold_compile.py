"""The first torch.compile of a model in a fresh process: with empty caches, and with filled ones.

In: a decode step of decoder.py, on the GPU or small on the CPU. Out: seconds of the clock that
`import tileops` and the first call take, the plain model and ours under each boundary policy in
turn. "cold" processes find no cache folder, "disk" ones that of a cold process:
Inductor's and Triton's files, and what tileops keeps.
"""

from __future__ import annotations

import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.case import Benchmark, Case, Options, Shown, Table, Values
from benchmarks.noise import figure, ratio
from benchmarks.results import ROOT, gpu, say

#: On the CPU a cold compilation takes a minute, most of it a C++ compiler.
TIMES = {"cuda": 3, "cpu": 2}
STATES = ("cold", "disk")
PARTS = ("import_s", "first_call_s")


def _child(form: str, device: str, size: str, folder: Path) -> dict[str, Any]:
    caches = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton",
              "TILEOPS_CACHE_DIR": "tileops"}  # fmt: skip
    environment = {**os.environ, **{name: str(folder / part) for name, part in caches.items()}}
    # The plain model registers nothing.
    environment["TILEOPS_STATIC"] = "1" if form == "plain" else "0"
    command = [sys.executable, "-m", "benchmarks.cold_compile_child", form, device, size]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no output"])[-1])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def forms(device: str) -> tuple[str, ...]:
    """The plain model, and ours by boundary policy."""
    return ("plain", "opaque", "reference", *(("kernel",) if device == "cuda" else ()))


def measure(device: str, quick: bool) -> Values:
    """Every form, cold and then from disk, several times in turn."""
    names = forms(device)[: 2 if quick else None]
    size = "small" if quick or device == "cpu" else "llama3-8b"
    runs: dict[str, list[dict[str, Any]]] = {
        f"{name}, {state}": [] for name in names for state in STATES
    }
    for _ in range(1 if quick else TIMES[device]):
        for name in names:
            with tempfile.TemporaryDirectory(prefix="tileops-cold-") as folder:
                for state in STATES:
                    say(f"    {name}, {state}")
                    found = _child(name, device, size, Path(folder))
                    runs[f"{name}, {state}"].append(found)
    repeats = {
        key: [item["import_s"] + item["first_call_s"] for item in found]
        for key, found in runs.items()
    }
    return {
        "model": size,
        "seconds": {key: statistics.median(items) for key, items in repeats.items()},
        "parts": {
            key: {part: statistics.median(item[part] for item in found) for part in PARTS}
            for key, found in runs.items()
        },
        "repeats": repeats,
        "ours": [key for key in repeats if not key.startswith("plain")],
    }


def cases(options: Options) -> Iterable[Case]:
    """One case, since all forms take turns."""
    device = "cuda" if gpu() is not None else "cpu"
    if options.compiling:
        yield Case(f"{device}, decode step", functools.partial(measure, device, options.quick))


def shown(values: dict[str, Values]) -> Shown:
    """A row for each form and state of the caches."""
    table = Table(
        ("model and form", "seconds", "band", "of it import", "first call", "to plain", "band")
    )
    for name, item in values.items():
        for key, seconds in item["seconds"].items():
            form, _, state = key.partition(", ")
            parts, times = item["parts"][key], item["repeats"]
            plain = None if form == "plain" else ratio(times[key], times[f"plain, {state}"])
            table.add(
                f"{name}, {item['model']}: {key}", seconds, f"{figure(times[key]).band:.0%}",
                parts["import_s"], parts["first_call_s"],
                None if plain is None else plain.median,
                None if plain is None else f"{plain.band:.0%}",
            )  # fmt: skip
    return [table]


BENCHMARK = Benchmark(
    "cold_compile", "first torch.compile of a model in a fresh process, seconds", cases, shown
)
