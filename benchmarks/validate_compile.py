"""The compile checks of a manifest: what `tileops validate --compile` adds for implemented entries.

In: the shipped manifest. Out: for each family, served by one worker process at a time, seconds of
CPU of the workers with their start, also for each entry and dtype case, and the slowest entry by
the clock. A case is opaque or inlined as its class's policy on the CPU, where Inductor runs, says.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Iterable

from benchmarks.case import Benchmark, Case, Options, Table, Values

#: What a case may take, in seconds; `--jobs` divides it.
LIMITS = {"opaque": 1.5, "inlined": 4.0}


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
    findings, unchecked = 0, 0
    marks = [time.perf_counter()]
    before = os.times()
    slowest = ("", 0.0)
    for found in check_compiled(entries, worker_of(folder)):
        marks.append(time.perf_counter())
        # The first entry of a run starts its worker.
        each = (marks[-1] - marks[-2]) / cases[found.entry.op]
        if len(marks) > 2 and each > slowest[1]:
            slowest = (found.entry.op, each)
        findings += len(found.findings)
        unchecked += found.unchecked
    count = sum(cases.values())
    after = os.times()
    seconds = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    return {
        "entries": len(entries),
        "inlined": inlined,
        "cases": count,
        "findings": findings,
        "unchecked": unchecked,
        "seconds": seconds,
        "wall_s": marks[-1] - marks[0],
        "s_per_case": seconds / count,
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
            "family", "entries", "inlined", "cases", "findings", "unchecked", "seconds", "s/case",
            "slowest", "s/case",
        )
    )  # fmt: skip
    keys = (
        "entries", "inlined", "cases", "findings", "unchecked", "seconds", "s_per_case", "slowest",
        "slowest_s_per_case",
    )  # fmt: skip
    for name, item in values.items():
        table.add(name, *(item[key] for key in keys))
    sums = {key: sum(item[key] for item in values.values()) for key in keys[:6]}
    if values:
        each = sums["seconds"] / max(sums["cases"], 1)
        table.add("all", *(sums[key] for key in keys[:6]), each, "", "")
    limits = ", ".join(f"{limit:g} s {name}" for name, limit in LIMITS.items())
    return f"{table}\nat most {limits} for each entry and dtype case, divided by --jobs"


BENCHMARK = Benchmark(
    "validate_compile", "compile checks of a manifest, seconds of CPU", cases, shown
)
