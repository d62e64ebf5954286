"""The first torch.compile of a model in a fresh process: with empty caches, and with filled ones.

In: a decode step of decoder.py, on the GPU or small on the CPU. Out: seconds of the clock that
`import tileops` and the first call take, for the plain model and ours under each boundary policy.
"cold" processes find no cache folder, "disk" ones that of a cold process:
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
from benchmarks.noise import change, figure
from benchmarks.results import ROOT, gpu

# A cold process takes a quarter of a minute at least, and on a busy CPU a whole one.
TIMES = 3
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
    """The plain model, and ours by boundary policy; "default" is every operator's own."""
    return ("plain", "default", "opaque", "reference", *(("kernel",) if device == "cuda" else ()))


def measure(form: str, device: str, quick: bool) -> Values:
    """One form, cold and then from disk, several times."""
    size = "small" if quick or device == "cpu" else "llama3-8b"
    runs: dict[str, list[dict[str, Any]]] = {state: [] for state in STATES}
    for _ in range(1 if quick else TIMES):
        with tempfile.TemporaryDirectory(prefix="tileops-cold-") as folder:
            for state in STATES:
                runs[state].append(_child(form, device, size, Path(folder)))
    repeats = {
        state: [item["import_s"] + item["first_call_s"] for item in found]
        for state, found in runs.items()
    }
    return {
        "model": size,
        "seconds": {state: statistics.median(items) for state, items in repeats.items()},
        "parts": {
            state: {part: statistics.median(item[part] for item in found) for part in PARTS}
            for state, found in runs.items()
        },
        "repeats": repeats,
        "ours": [] if form == "plain" else list(STATES),
    }


def cases(options: Options) -> Iterable[Case]:
    """One case for each form."""
    device = "cuda" if gpu() is not None else "cpu"
    if options.compiling:
        for form in forms(device)[: 2 if options.quick else None]:
            run = functools.partial(measure, form, device, options.quick)
            yield Case(f"{device}, {form}", run)


def shown(values: dict[str, Values]) -> Shown:
    """A row for each form and state of the caches."""
    table = Table(
        ("first call, s", "seconds", "band", "of it import", "compile", "to plain", "band")
    )
    for name, item in values.items():
        plain = values.get(f"{name.partition(', ')[0]}, plain", item)
        for state, seconds in item["seconds"].items():
            times, parts = item["repeats"][state], item["parts"][state]
            found = None if plain is item else change(plain["repeats"][state], times)
            table.add(
                f"{name}, {state}", seconds, f"{figure(times).band:.0%}",
                parts["import_s"], parts["first_call_s"],
                None if found is None else found.median,
                None if found is None else f"{found.band:.0%}",
            )  # fmt: skip
    models = ", ".join(dict.fromkeys(item["model"] for item in values.values()))
    return [table, f"a decode step of the {models} model of end_to_end"]


BENCHMARK = Benchmark(
    "cold_compile", "first torch.compile of a model in a fresh process, seconds", cases, shown
)
