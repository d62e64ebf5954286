"""`tileops warmup`: compiles the kernels of chosen rows for the GPU at hand, ahead of serving.

Triton keeps what it compiles on disk (TRITON_CACHE_DIR), where later processes find it. Operators
are divided among worker processes, since compiling is work of the CPU.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from os import cpu_count

from tileops.cli.errors import FINDINGS, OK, CommandError, unknown
from tileops.cli.output import progress, table, write

_MOST_JOBS = 8
_HEADER = ("case", "target", "implementation", "seconds")
#: A case, the target and implementation that served it, seconds.
Warmed = tuple[str, str, str, float]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--op", metavar="NAME", action="append", help="only this operator; repeatable"
    )
    parser.add_argument("--family", metavar="NAME", action="append", help="only this family")
    parser.add_argument("--row", metavar="LABEL", action="append", help="only rows of this label")
    parser.add_argument(
        "--dtype", metavar="NAME", action="append", help="only cases that have this dtype"
    )
    parser.add_argument(
        "--device", default="cuda", help="where calls run; by default the current GPU"
    )
    parser.add_argument("--max-elements", type=int, metavar="N", help="shrink rows to this size")
    parser.add_argument(
        "--jobs", type=int, metavar="N", default=min(_MOST_JOBS, cpu_count() or 1),
        help="worker processes",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    import torch

    if args.jobs < 1:
        raise CommandError(f"--jobs must be at least 1, got {args.jobs}")
    if args.device.startswith("cuda") and not torch.cuda.is_available():
        raise CommandError("there is no CUDA device here to compile for", FINDINGS)
    ops = _chosen(args)
    rows: list[tuple[str, ...]] = []
    failed: list[str] = []
    started = time.perf_counter()
    show = progress("warmup", "operators")
    for done, (op, warmed, errors) in enumerate(_all(ops, args), start=1):
        rows += [(case, target, how, f"{seconds:.2f}") for case, target, how, seconds in warmed]
        failed += errors
        show(done, len(ops), op)
    if not rows and not failed:
        raise CommandError("no row has what was asked for")
    write(table(_HEADER, sorted(rows)))
    seconds = time.perf_counter() - started
    print(f"warmup: {len(rows)} calls of {len(ops)} operators, {seconds:.0f} s", file=sys.stderr)
    for line in failed:
        print(f"tileops: {line}", file=sys.stderr)
    return FINDINGS if failed else OK


def _chosen(args: argparse.Namespace) -> list[str]:
    """The implemented operators that the options name."""
    from tileops.runtime.shipped import registered

    registry = registered()
    entries = registry.entries
    for name in args.op or ():
        if name not in registry:
            raise unknown("op", name, [entry.name for entry in entries])
    for name in args.family or ():
        if name not in {entry.family for entry in entries}:
            raise unknown("family", name, {entry.family for entry in entries})
    chosen = [
        entry.name
        for entry in entries
        if entry.status == "implemented"
        and (not args.op or entry.name in args.op)
        and (not args.family or entry.family in args.family)
    ]
    if not chosen:
        raise CommandError("no operator that was asked for is implemented")
    return chosen


def _all(ops: list[str], args: argparse.Namespace) -> Iterator[tuple[str, list[Warmed], list[str]]]:
    """The operators as they end, and what became of each."""
    options = (args.row, args.dtype, args.device, args.max_elements)
    jobs = min(args.jobs, len(ops))
    if jobs == 1:
        yield from ((op, *warm(op, *options)) for op in ops)
        return
    # A forked process cannot use a GPU that its parent has used.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        pending = {pool.submit(warm, op, *options): op for op in ops}
        for future in as_completed(pending):
            yield (pending[future], *future.result())


def warm(
    op: str,
    labels: list[str] | None,
    dtypes: list[str] | None,
    device: str,
    max_elements: int | None,
) -> tuple[list[Warmed], list[str]]:
    """Makes every chosen call of an operator once."""
    from tileops.runtime.shipped import registered
    from tileops.runtime.warmup import warmup
    from tileops.testing.cases import rows

    registered()
    warmed: list[Warmed] = []
    failed: list[str] = []
    for row in rows(op):
        if labels and row.case.label not in labels:
            continue
        if dtypes and not set(dtypes) & set(row.case.dtypes.values()):
            continue
        started = time.perf_counter()
        try:
            case = row.tensors(device, max_elements=max_elements)
            served = warmup(case.overload, *case.args, **case.kwargs)
        except Exception as error:
            failed.append(f"{row}: {type(error).__name__}: {error}".partition("\n")[0])
            continue
        seconds = time.perf_counter() - started
        warmed += [(str(row), item.target, item.implementation, seconds) for item in served]
    return warmed, failed
