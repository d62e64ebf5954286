"""Compiles rows ahead in several processes, into the caches on disk; measures nothing.

In: cases of the kernels benchmark. Out: their Triton kernels and those that Inductor makes of the
references lie in Triton's and Inductor's caches. The processes are idle when this returns, so that
nothing disturbs what is timed then. A row that fails here is compiled, or fails, where it is timed.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from benchmarks.case import Case, Options
from benchmarks.results import say

MOST_WORKERS = 8


def prepare(cases: Sequence[Case], options: Options, size: int | None = None) -> None:
    """Compiles the rows of these cases; at once where there are no processes for it."""
    workers = workers_for(options)
    if workers < 2 or len(cases) < 2:
        return
    begun = time.monotonic()
    pool = _pool(workers)
    ids = [case.id for case in cases]
    one = functools.partial(compile_row, compiling=options.compiling, size=size)
    try:
        found = list(pool.map(one, ids))
    except BrokenProcessPool:
        _pool.cache_clear()
        say("    a compiling process died; the rows are compiled one by one")
        return
    failed = sum(reason is not None for reason in found)
    say(
        f"    {len(ids)} rows compiled ahead by {workers} processes "
        f"in {time.monotonic() - begun:.0f} s{f', {failed} of them not' if failed else ''}"
    )


def workers_for(options: Options) -> int:
    """How many processes compile: the wish, or one core each with two to spare."""
    usable = getattr(os, "sched_getaffinity", None)
    cores = len(usable(0)) if usable else os.cpu_count() or 1
    return options.workers or min(MOST_WORKERS, cores - 2)


@functools.cache
def _pool(workers: int) -> ProcessPoolExecutor:
    # A forked process cannot use CUDA.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin)


def _begin() -> None:
    """Before torch is imported: each of these processes is one of many."""
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    os.environ["OMP_NUM_THREADS"] = "1"


@functools.cache
def _rows() -> dict[str, object]:
    from benchmarks.kernels import named_rows

    return dict(named_rows())


def compile_row(case_id: str, compiling: bool, size: int | None = None) -> str | None:
    """Makes the calls of a row once; why that failed, if it did. In a worker process.

    `size` bounds the tensors of a row without a GPU.
    """
    import torch

    from benchmarks.kernels import device_time, measure
    from benchmarks.kernels.subject import subject_of

    # Inductor chooses between configurations by timing them, which must not happen beside others.
    torch._inductor.config.autotune_local_cache = False
    try:
        with torch.no_grad():
            device = "cpu" if size else device_time.device()
            subject = subject_of(_rows()[case_id], device, size)  # type: ignore[arg-type]
            subject.ours()
            if compiling:
                measure.compiled([subject])[0]()
                for baseline in measure.baselines_of(subject):
                    if baseline.compiles:
                        baseline.call()
            if not size:
                torch.cuda.synchronize()
                del subject
                torch.cuda.empty_cache()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None
