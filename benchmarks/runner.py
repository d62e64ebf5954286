"""Runs benchmarks case by case: progress, the time limit, resuming, tables.

In: benchmarks and options. Out: tables on stdout, lines in result files, and the exit status.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import results
from benchmarks.case import Benchmark, Case, DeviceLost, Options, Unmeasurable, Values, text_of
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
    run = _Run(benchmark, request.options, file, results.new_run())
    cases = [case for case in benchmark.cases(request.options) if _wanted(case, request.only)]
    failed: frozenset[str] = frozenset()
    if request.resume and (found := file.unfinished()) is not None:
        run.id, run.values, failed = found.run, found.values, found.failed
        say(f"{benchmark.name}: goes on with run {run.id}, {len(run.values)} cases done")
    waiting = [case for case in cases if case.id not in run.values]
    # What failed may fail again, and take the device with it: last.
    waiting.sort(key=lambda case: case.id in failed)
    for at, case in enumerate(waiting):
        if deadline is not None and time.monotonic() > deadline:
            left = len(waiting) - at
            say(f"{benchmark.name}: the time is up, {left} cases are left for --resume")
            break
        run.compile_ahead(waiting[at:])
        say(f"[{at + 1}/{len(waiting)}] {benchmark.name} {case.id}{run.estimate(len(waiting))}")
        if not run.measure(case):
            say(f"{benchmark.name}: {len(waiting) - at - 1} cases are left for --resume")
            break
    _show(benchmark, {c.id: run.values[c.id] for c in cases if c.id in run.values}, run.failed)
    return len(run.failed)


@dataclass(slots=True)
class _Run:
    """One benchmark while it runs."""

    benchmark: Benchmark
    options: Options
    file: results.ResultFile
    id: str
    values: dict[str, Values] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)
    measured: int = 0
    ready: set[str] = field(default_factory=set)

    def compile_ahead(self, cases: Sequence[Case]) -> None:
        """When the next case is the first of a batch."""
        prepare = self.benchmark.prepare
        if prepare is None or cases[0].id in self.ready:
            return
        batch = cases[: self.benchmark.batch]
        self.ready.update(case.id for case in batch)
        prepare(batch, self.options)

    def measure(self, case: Case) -> bool:
        """Measures and writes down; whether others may follow."""
        self.measured += 1
        try:
            found = case.measure()
        except Unmeasurable as error:
            say(f"    not measured: {error}")
            return True
        except Exception as error:
            first = (str(error).splitlines() or [""])[0]
            reason = f"{type(error).__name__}: {first[:300]}"
            self.failed.append(f"{case.id}: {reason}")
            say(f"    failed: {self.failed[-1]}")
            self.file.append(self.benchmark.name, self.id, case.id, failed=reason)
            return not isinstance(error, DeviceLost)
        self.values[case.id] = found
        self.file.append(self.benchmark.name, self.id, case.id, found)
        return True

    def estimate(self, count: int) -> str:
        """The time that the cases left will take, at the pace so far."""
        if self.measured < 2:
            return ""
        left = (time.monotonic() - self.begun) / self.measured * (count - self.measured)
        return f"  (about {left:.0f} s left)"


def _wanted(case: Case, only: tuple[str, ...]) -> bool:
    return not only or any(text in case.id for text in only)


def _show(benchmark: Benchmark, values: dict[str, Values], failed: Sequence[str]) -> None:
    machine, versions = results.machine(), results.versions()
    print(f"\n{benchmark.name}: {benchmark.summary}")
    where = machine["gpu"] or machine["cpu"]
    code = ", ".join(f"{name} {version}" for name, version in versions.items())
    print(f"{where}, {machine['cores']} cores, {code}")
    if values:
        print(text_of(benchmark.shown(values)))
    for line in failed:
        print(f"FAILED {line}")
    print(flush=True)
