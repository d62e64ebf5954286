"""The compile checks of a manifest: what `tileops validate --compile` adds for implemented entries.

In: the shipped manifest. Out: for each family, served by one worker process at a time, seconds of
CPU of the workers, also for each entry and dtype case without the workers' starts, and the slowest
entry by the clock. A start is what the first entry of a worker takes beyond what it takes again:
importing torch, Dynamo and Inductor. A case is opaque or inlined as its class's policy on the CPU,
where Inductor runs, says.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Iterable

from benchmarks.case import Benchmark, Case, Options, Table, Values

#: What a case may take, in seconds; `--jobs` divides it.
LIMITS = {"opaque": 1.5, "inlined": 4.0}


def cpu_of_children() -> float:
    """Seconds of CPU of the processes that have ended."""
    now = os.times()
    return now.children_user + now.children_system


@functools.cache
def start_seconds() -> float:
    """What a worker takes before it is as fast as it gets: one entry once, against twice."""
    from tileops.manifest.fingerprint import spec_folder
    from tileops.manifest.load import load_manifest
    from tileops.validator.compiled import check_compiled
    from tileops.validator.workers import worker_of

    folder = spec_folder()
    entry = load_manifest(folder).entry("GEMMFwdOp")
    assert entry is not None
    marks = [cpu_of_children()]
    for times in (1, 2):
        list(check_compiled([entry] * times, worker_of(folder)))
        marks.append(cpu_of_children())
    once, twice = marks[1] - marks[0], marks[2] - marks[1]
    return 2 * once - twice


def measure(family: str, most: int | None) -> Values:
    """One run over the entries of a family, the first `most` of them."""
    import tileops
    from tileops.manifest.fingerprint import spec_folder
    from tileops.manifest.load import load_manifest
    from tileops.runtime.boundary import policy_of
    from tileops.testing.cases import rows
    from tileops.validator.compiled import check_compiled
    from tileops.validator.workers import worker_of

    names = [
        entry.name
        for entry in tileops.registry.entries
        if (entry.family, entry.status) == (family, "implemented")
    ][:most]
    folder = spec_folder()
    entries = [entry for entry in load_manifest(folder).entries if entry.op in names]
    cases = {name: len({tuple(row.case.dtypes.values()) for row in rows(name)}) for name in names}
    policies = [policy_of(rows(name)[0].bound.op_class, name).cpu for name in names]
    inlined = sum(policy != "opaque" for policy in policies)
    findings, unchecked, workers = 0, 0, 0
    command = worker_of(folder)

    def start(channel: int) -> list[str]:
        nonlocal workers
        workers += 1
        return command(channel)

    each_start = start_seconds()
    marks = [time.perf_counter()]
    before = cpu_of_children()
    slowest = ("", 0.0)
    seen = 0
    for found in check_compiled(entries, start):
        marks.append(time.perf_counter())
        each = (marks[-1] - marks[-2]) / cases[found.entry.op]
        # The first entry of a worker waits for its start.
        if workers == seen and each > slowest[1]:
            slowest = (found.entry.op, each)
        seen = workers
        findings += len(found.findings)
        unchecked += found.unchecked
    count = sum(cases.values())
    seconds = cpu_of_children() - before
    return {
        "entries": len(entries),
        "inlined": inlined,
        "cases": count,
        "findings": findings,
        "unchecked": unchecked,
        "workers": workers,
        "start_s": each_start,
        "seconds": seconds,
        "wall_s": marks[-1] - marks[0],
        "s_per_case": (seconds - workers * each_start) / count,
        "slowest": slowest[0],
        "slowest_s_per_case": slowest[1],
    }


def cases(options: Options) -> Iterable[Case]:
    """One case for each family, or the smallest one alone."""
    import tileops

    names = [entry.family for entry in tileops.registry.entries if entry.status == "implemented"]
    families = sorted(set(names), key=lambda name: (names.count(name), name))
    for family in families[:1] if options.quick else families:
        yield Case(family, functools.partial(measure, family, 1 if options.quick else None))


def shown(values: dict[str, Values]) -> str:
    """One row for each family, and all of them together."""
    table = Table(
        (
            "family", "entries", "inlined", "cases", "findings", "unchecked", "workers", "seconds",
            "s/case", "slowest", "s/case",
        )
    )  # fmt: skip
    keys = (
        "entries", "inlined", "cases", "findings", "unchecked", "workers", "seconds", "s_per_case",
        "slowest", "slowest_s_per_case",
    )  # fmt: skip
    for name, item in values.items():
        table.add(name, *(item[key] for key in keys))
    sums = {key: sum(item[key] for item in values.values()) for key in keys[:7]}
    start = max((item["start_s"] for item in values.values()), default=0.0)
    if values:
        each = (sums["seconds"] - sums["workers"] * start) / max(sums["cases"], 1)
        table.add("all", *(sums[key] for key in keys[:7]), each, "", "")
    limits = ", ".join(f"{limit:g} s {name}" for name, limit in LIMITS.items())
    return (
        f"{table}\nat most {limits} for each entry and dtype case, divided by --jobs; "
        f"beside them {start:.2g} s for the start of each worker"
    )


BENCHMARK = Benchmark(
    "validate_compile", "compile checks of a manifest, seconds of CPU", cases, shown
)
