"""The measurement of one row on a GPU: values first, then all device times in one run.

In: a row. Out: microseconds of ours, of the kernel alone and of every baseline, the error against
the reference, and where that lies under the roofline of this GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.case import Unmeasurable, Values
from benchmarks.kernels import device_time
from benchmarks.kernels.baselines import baselines
from benchmarks.kernels.subject import Subject, subject_of
from tileops.testing.cases import Row

#: Beyond this, ||ours - reference|| / ||reference|| is an error and no rounding.
ERROR_LIMIT = 3e-2


def measure(row: Row, compiling: bool) -> Values:
    """Everything about one row."""
    with torch.no_grad():
        try:
            return _measure(row, compiling)
        finally:
            torch.cuda.empty_cache()


def _measure(row: Row, compiling: bool) -> Values:
    first = subject_of(row, device_time.device())
    served = serving(first)
    error, failures = error_of(first), {}
    size = sum(tensor.nbytes for tensor in first.tensors)
    written = max(0, first.bytes - size)
    count = device_time.sets_for(size + written)
    subjects = [first, *(first.with_copy() for _ in range(count - 1))]
    times = {"tileops": device_time.graph_us([item.ours for item in subjects])}
    for name, make in _variants(subjects, served, compiling):
        try:
            times[name] = device_time.graph_us(make())
        except Exception as failed:
            torch.cuda.synchronize()
            text = (str(failed).splitlines() or [""])[0]
            failures[name] = f"{type(failed).__name__}: {text[:200]}"
    return {
        "op": row.op,
        "family": row.bound.header.family,
        "served": served or "reference",
        "error": error,
        "wrong": error is not None and not error <= ERROR_LIMIT,
        "us": times,
        "failures": failures,
        **roofline(first, times["tileops"]),
    }


def serving(subject: Subject) -> str | None:
    """The kernel that takes the call; None where all decline."""
    if subject.layout.overload.written:
        return None
    for name, launcher in subject.launchers():
        if subject.launch(launcher)() is None:
            return name
    return None


def _variants(
    subjects: Sequence[Subject], served: str | None, compiling: bool
) -> list[tuple[str, Callable[[], list[Callable[[], Any]]]]]:
    found: list[tuple[str, Callable[[], list[Callable[[], Any]]]]] = []
    launcher = None if served is None else dict(subjects[0].launchers())[served]
    if launcher is not None:
        found.append(("kernel", lambda: [item.launch(launcher) for item in subjects]))
    names = [name for name, _ in baselines(subjects[0].row.op, subjects[0].values)]
    for name in names:
        found.append(
            (name, lambda name=name: [dict(baselines(s.row.op, s.values))[name] for s in subjects])
        )
    found.append(("eager", lambda: [item.plain for item in subjects]))
    if compiling:
        found.append(("compile", lambda: _compiled(subjects)))
    return found


def _compiled(subjects: Sequence[Subject]) -> list[Callable[[], Any]]:
    """One compiled function for all sets of tensors."""
    torch._dynamo.reset()
    function = torch.compile(subjects[0].reference, dynamic=False, fullgraph=True)
    return [lambda item=item: function(*item.inputs, **item.keywords) for item in subjects]


def error_of(subject: Subject) -> float | None:
    """||ours - reference|| / ||reference||, the worst output; None without a reference value."""
    ours = subject.ours()
    try:
        want = subject.plain()
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
        return None
    pairs = zip(_flat(ours), _flat(want), strict=True)
    return max((_distance(got, reference) for got, reference in pairs), default=0.0)


def _flat(results: Any) -> list[torch.Tensor]:
    items = results if isinstance(results, tuple) else (results,)
    return [item for item in items if item is not None]


def _distance(got: torch.Tensor, want: torch.Tensor) -> float:
    if got.numel() == 0:
        return 0.0
    kind = torch.complex64 if got.is_complex() else torch.float32
    got, want = got.to(kind), want.to(kind)
    # A NaN or an infinity where the reference has the same one is no distance.
    same = (got == want) | (got.isnan() & want.isnan())
    difference = torch.where(same, 0.0, got - want)
    size = torch.where(want.isfinite(), want, 0.0).norm().clamp(min=1e-30)
    distance = float(difference.norm() / size)
    return distance if distance == distance else 1e30


def roofline(subject: Subject, us: float) -> Values:
    """Rates by the entry's cost model, and the share of the ceiling that bounds the row."""
    if subject.bytes == 0 and subject.flops == 0:
        raise Unmeasurable("its cost model prices the row at nothing")
    copy = device_time.copy_bytes_per_s()
    floating = [t.dtype for t in subject.tensors if t.dtype.is_floating_point]
    dtype = floating[0] if floating else torch.float32
    matmul = device_time.matmul_flops_per_s(dtype)
    by_memory, by_matrix = subject.bytes / copy * 1e6, subject.flops / matmul * 1e6
    return {
        "flops": subject.flops,
        "bytes": subject.bytes,
        "bytes_per_s": subject.bytes / us * 1e6,
        "flops_per_s": subject.flops / us * 1e6,
        "bound": "memory" if by_memory >= by_matrix else "matrix",
        "floor_us": max(by_memory, by_matrix),
        "of_ceiling": max(by_memory, by_matrix) / us,
        "copy_bytes_per_s": copy,
        "matmul_flops_per_s": matmul,
        "matmul_dtype": str(dtype).removeprefix("torch."),
    }
