"""Runs benchmarks case by case: progress, the time limit, resuming, tables.

In: benchmarks and options. Out: tables on stdout, lines in result files, and the exit status.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import results
from benchmarks.case import Benchmark, Case, Options, Unmeasurable, Values
from benchmarks.results import say


@dataclass(frozen=True, slots=True)
class Request:
    """`only` keeps the cases whose id contains one of the texts; `seconds` limits the whole run."""

    options: Options
    folder: Path = results.FOLDER
    seconds: float | None = None
    resume: bool = False
    only: tuple[str, ...] = ()


def run(benchmarks: Sequence[Benchmark], request: Request) -> int:
    """Runs them in order; 1 when a case failed."""
    started = time.monotonic()
    deadline = None if request.seconds is None else started + request.seconds
    failed = 0
    for benchmark in benchmarks:
        if benchmark.needs_gpu and results.gpu() is None:
            print(f"{benchmark.name}: skipped, this machine has no CUDA device")
            continue
        failed += _run_one(benchmark, request, deadline)
    return 1 if failed else 0


def _run_one(benchmark: Benchmark, request: Request, deadline: float | None) -> int:
    file = results.ResultFile(request.folder / f"{benchmark.name}.jsonl")
    run_id, values = results.new_run(), {}
    if request.resume and (found := file.unfinished()) is not None:
        run_id, values = found
        say(f"{benchmark.name}: goes on with run {run_id}, {len(values)} cases done")
    cases = [case for case in benchmark.cases(request.options) if _wanted(case, request.only)]
    failed = []
    begun, measured = time.monotonic(), 0
    for at, case in enumerate(cases):
        if case.id in values:
            continue
        if deadline is not None and time.monotonic() > deadline:
            left = sum(item.id not in values for item in cases[at:])
            say(f"{benchmark.name}: the time is up, {left} cases are left for --resume")
            break
        left = _estimate(begun, measured, at, cases)
        say(f"[{at + 1}/{len(cases)}] {benchmark.name} {case.id}{left}")
        measured += 1
        try:
            found_values = case.measure()
        except Unmeasurable as error:
            say(f"    not measured: {error}")
            continue
        except Exception as error:
            first = (str(error).splitlines() or [""])[0]
            failed.append(f"{case.id}: {type(error).__name__}: {first[:300]}")
            say(f"    failed: {failed[-1]}")
            continue
        values[case.id] = found_values
        file.append(benchmark.name, run_id, case.id, found_values)
    _show(benchmark, {c.id: values[c.id] for c in cases if c.id in values}, failed)
    return len(failed)


def _wanted(case: Case, only: tuple[str, ...]) -> bool:
    return not only or any(text in case.id for text in only)


def _estimate(begun: float, measured: int, at: int, cases: Sequence[Case]) -> str:
    if measured < 2:
        return ""
    left = (time.monotonic() - begun) / measured * (len(cases) - at)
    return f"  (about {left:.0f} s left)"


def _show(benchmark: Benchmark, values: dict[str, Values], failed: Sequence[str]) -> None:
    machine, versions = results.machine(), results.versions()
    print(f"\n{benchmark.name}: {benchmark.summary}")
    where = machine["gpu"] or machine["cpu"]
    code = ", ".join(f"{name} {version}" for name, version in versions.items())
    print(f"{where}, {machine['cores']} cores, {code}")
    if values:
        print(benchmark.shown(values))
    for line in failed:
        print(f"FAILED {line}")
    print(flush=True)
