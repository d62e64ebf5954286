"""The static check of a manifest: what `tileops validate` costs.

In: the shipped manifest and generated ones. Out: seconds of CPU and milliseconds for each entry,
in this process, of reading, signatures and plans, and workloads with their cost models; of
instantiating 2000 cases, contents not made; and what `tileops validate --static` takes as a
process: seconds, and its largest memory in MiB.
"""

from __future__ import annotations

import functools
import gc
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from benchmarks.case import Benchmark, Case, Options, Table, Values
from benchmarks.generated_manifest import write_manifest

SIZES = (20, 200, 2000)
QUICK_SIZES = (5,)


def check(folder: Path) -> Values:
    """Times each stage over all entries of a folder."""
    from tileops.diagnostics.model import Findings
    from tileops.manifest.load import load_manifest
    from tileops.manifest.signature.check import check_entry
    from tileops.manifest.signature.plan import build_plan
    from tileops.manifest.workload.check import cases as cases_of
    from tileops.manifest.workload.check import check_workloads
    from tileops.manifest.workload.instantiate import instantiate

    gc.collect()
    marks = [time.process_time()]
    manifest = load_manifest(folder)
    marks.append(time.process_time())
    findings = Findings()
    planned = []
    for entry in manifest.entries:
        signature = check_entry(entry, manifest.adts, findings)
        plan = None if signature is None else build_plan(signature, findings)
        if signature is not None and plan is not None:
            planned.append((signature, plan))
    marks.append(time.process_time())
    for signature, plan in planned:
        check_workloads(signature, plan, findings)
    marks.append(time.process_time())
    count_of_cases = 0
    for signature, plan in planned:
        for case in cases_of(signature, plan):
            instantiate(case)
            count_of_cases += 1
    marks.append(time.process_time())
    *parts, instances = [after - before for before, after in itertools.pairwise(marks)]
    count = len(manifest.entries)
    return {
        "entries": count,
        "errors": manifest.findings.errors + findings.errors,
        "seconds": sum(parts),
        "read_s": parts[0],
        "signature_s": parts[1],
        "workload_s": parts[2],
        "ms_per_entry": sum(parts) / count * 1e3,
        "cases": count_of_cases,
        "s_per_2000_cases": instances / count_of_cases * 2000,
    }


def measure(entries: int | None, times: int) -> Values:
    """The best of several checks."""
    from tileops.manifest.fingerprint import spec_folder

    with tempfile.TemporaryDirectory(prefix="tileops-validate-") as name:
        folder = spec_folder()
        if entries is not None:
            folder = Path(name) / "spec"
            write_manifest(folder, entries)
        best = min((check(folder) for _ in range(times)), key=lambda item: item["seconds"])
        return {**best, **command(folder)}


def command(folder: Path) -> Values:
    """The whole run of the command line."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "tileops", "validate", "--static", "--spec", str(folder)],
        stdout=subprocess.DEVNULL,
    )
    _, _, usage = os.wait4(process.pid, 0)
    # Linux counts kilobytes.
    return {"command_s": time.perf_counter() - start, "peak_mib": usage.ru_maxrss / 1024}


def cases(options: Options) -> Iterable[Case]:
    """The generated sizes, then the manifest that ships."""
    for size in QUICK_SIZES if options.quick else SIZES:
        times = 1 if options.quick or size > 200 else 3
        yield Case(f"{size} entries", functools.partial(measure, size, times))
    if not options.quick:
        yield Case("shipped", functools.partial(measure, None, 3))


def shown(values: dict[str, Values]) -> str:
    """One row for each manifest."""
    table = Table(
        (
            "manifest", "entries", "errors", "seconds", "read", "signatures", "workloads",
            "ms/entry", "2000 cases", "command", "peak MiB",
        )
    )  # fmt: skip
    for name, item in values.items():
        table.add(
            name, item["entries"], item["errors"], item["seconds"], item["read_s"],
            item["signature_s"], item["workload_s"], item["ms_per_entry"], item["s_per_2000_cases"],
            item["command_s"], item["peak_mib"],
        )  # fmt: skip
    return str(table)


BENCHMARK = Benchmark("validate", "static check of a manifest, seconds of CPU", cases, shown)
