"""The measurement of one row on a GPU: values first, then all device times in turn.

In: a row. Out: microseconds of ours, of the kernel alone and of every baseline, five times each;
the error against the reference; where that lies under the roofline of this GPU; and what the
measurement itself took.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks import profile
from benchmarks.case import DeviceLost, Unmeasurable, Values
from benchmarks.kernels import device_time
from benchmarks.kernels.baselines import Baseline, baselines
from benchmarks.kernels.judge import OURS
from benchmarks.kernels.subject import Subject, subject_of
from tileops.testing.cases import Row

#: Beyond this, ||ours - reference|| / ||reference|| is an error and no rounding.
ERROR_LIMIT = 3e-2
Calls = list[Callable[[], Any]]


def measure(row: Row, compiling: bool) -> Values:
    """Everything about one row."""
    with torch.no_grad():
        try:
            return _measure(row, compiling)
        except Unmeasurable:
            raise
        except Exception as error:
            _still_there(error)
            raise
        finally:
            _release()


def _measure(row: Row, compiling: bool) -> Values:
    seconds: dict[str, float] = {}
    with _timed(seconds, "inputs"):
        first = subject_of(row, device_time.device())
    with _timed(seconds, "values"):
        served, declined = serving(first)
        error, failures = error_of(first), {}
    with _timed(seconds, "inputs"):
        size = sum(tensor.nbytes for tensor in first.tensors)
        written = max(0, first.bytes - size)
        count = device_time.sets_for(size + written)
        subjects = [first, *(first.with_copy() for _ in range(count - 1))]
    recorded = {}
    for form in _forms(subjects, served, compiling):
        try:
            with _timed(seconds, form.name), form.within():
                calls = form.make()
                # Without memory for the reference there is nothing to hold a baseline against.
                if form.checked and error is not None:
                    _check(calls[0](), first)
                recorded[form.name] = device_time.record(calls)
        except Exception as failed:
            if form.name == "tileops":
                raise
            _still_there(failed)
            text = (str(failed).splitlines() or [""])[0]
            failures[form.name] = f"{type(failed).__name__}: {text[:200]}"
    with _timed(seconds, "timing"):
        repeats = device_time.repeats_us(recorded)
    times = {name: statistics.median(items) for name, items in repeats.items()}
    return {
        "op": row.op,
        "family": row.bound.header.family,
        "served": served or "reference",
        "declined": declined,
        "error": error,
        "wrong": error is not None and not error <= ERROR_LIMIT,
        "us": times,
        "repeats": repeats,
        "ours": [name for name in repeats if name in OURS],
        "failures": failures,
        "seconds": seconds,
        **roofline(first, times["tileops"]),
    }


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    seconds[name] = round(seconds.get(name, 0.0) + time.perf_counter() - begun, 3)


def _still_there(error: BaseException) -> None:
    """After a fault of a kernel a CUDA device answers nothing until the process ends."""
    if not torch.cuda.is_available():
        return
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        raise DeviceLost(f"the device is lost: {str(error).splitlines()[0][:200]}") from error
    _release()


def _release() -> None:
    try:
        torch.cuda.empty_cache()
    except RuntimeError:
        # A lost device frees nothing, and what was raised before says more.
        return


def serving(subject: Subject) -> tuple[str | None, dict[str, str]]:
    """The kernel that takes the call, None where all decline; and why the others declined."""
    declined: dict[str, str] = {}
    if subject.layout.overload.written:
        return None, declined
    for name, launcher in subject.launchers():
        reason = subject.launch(launcher)()
        if reason is None:
            return name, declined
        declined[name] = reason
    return None, declined


@dataclass(frozen=True, slots=True)
class _Form:
    """One way to make the row's call, made for all sets of tensors."""

    name: str
    make: Callable[[], Calls]
    within: Callable[[], AbstractContextManager[Any]] = nullcontext
    checked: bool = False


def _forms(subjects: Sequence[Subject], served: str | None, compiling: bool) -> Iterator[_Form]:
    """Ours, then what a user would take instead."""
    yield _Form("tileops", lambda: [item.ours for item in subjects])
    if served is not None:
        launcher = dict(subjects[0].launchers())[served]
        yield _Form("kernel", lambda: [item.launch(launcher) for item in subjects])
    for at, baseline in enumerate(baselines_of(subjects[0])):
        if compiling or not baseline.compiles:
            make = functools.partial(_calls_of, at, subjects)
            yield _Form(baseline.name, make, baseline.within, checked=True)
    if compiling:
        yield _Form("compile", lambda: compiled(subjects))
    # Last: what it allocates in between may leave the others too little memory.
    yield _Form("eager", lambda: [item.plain for item in subjects])


def baselines_of(subject: Subject) -> list[Baseline]:
    """Every baseline of a row beside its reference."""
    ref_api = subject.row.bound.operator.signature.entry.ref_api
    name = None if ref_api is None else ref_api.text
    return list(baselines(subject.row.op, subject.values, name))


def _calls_of(at: int, subjects: Sequence[Subject]) -> Calls:
    return [baselines_of(item)[at].call for item in subjects]


def _check(results: Any, subject: Subject) -> None:
    """A baseline whose values are wrong, or another dtype's, is none; it may give the first of the
    results alone."""
    got = _flat(results)
    want = _flat(subject.plain())[: len(got) or None]
    if [(t.shape, t.dtype) for t in got] != [(t.shape, t.dtype) for t in want]:
        raise ValueError("its results have other shapes or dtypes")
    error = max((_distance(*pair) for pair in zip(got, want, strict=True)), default=0.0)
    if not error <= ERROR_LIMIT:
        raise ValueError(f"its values are off by {error:.2g}")


def compiled(subjects: Sequence[Subject]) -> Calls:
    """One compiled function for all sets of tensors."""
    torch._dynamo.reset()
    function = torch.compile(subjects[0].reference, dynamic=False, fullgraph=True)
    return [lambda item=item: function(*item.inputs, **item.keywords) for item in subjects]


def error_of(subject: Subject) -> float | None:
    """||ours - reference|| / ||reference||, the worst output; None without a reference value."""
    ours = subject.outputs()
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
    copy = profile.memory_ceiling("copy")
    tf32 = torch.backends.cuda.matmul.allow_tf32
    matrix = profile.matrix_ceiling(_dtype_of(subject), tf32)
    by_memory = subject.bytes / copy.rate * 1e6
    by_matrix = 0.0 if matrix is None else subject.flops / matrix.rate * 1e6
    bound, ceiling = ("memory", copy) if by_memory >= by_matrix else ("matrix", matrix)
    assert ceiling is not None
    return {
        "flops": subject.flops,
        "bytes": subject.bytes,
        "bytes_per_s": subject.bytes / us * 1e6,
        "flops_per_s": subject.flops / us * 1e6,
        "bound": bound,
        "floor_us": max(by_memory, by_matrix),
        "of_ceiling": max(by_memory, by_matrix) / us,
        "ceiling": ceiling.values(),
        "ceilings": [item.values() for item in (copy, matrix) if item is not None],
    }


def _dtype_of(subject: Subject) -> str:
    """The dtype of the row's products: its largest floating tensor, or int8 without any."""
    floating = [t for t in subject.tensors if t.dtype.is_floating_point or t.is_complex()]
    if not floating:
        return "int8" if any(t.dtype == torch.int8 for t in subject.tensors) else "none"
    largest = max(floating, key=lambda tensor: tensor.numel())
    return str(largest.dtype).removeprefix("torch.")
