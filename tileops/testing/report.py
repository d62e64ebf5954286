"""`check`: every property that a compiled model relies on, for one operator.

In: an operator with workload rows, or any torch.library operator and a function that makes calls.
Out: a `Report`, true when everything passed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from tileops.runtime.registry import Registry
from tileops.testing import compiled
from tileops.testing.call import Call
from tileops.testing.cases import Row, rows
from tileops.testing.compiled import CheckFailed
from tileops.testing.sizes import LENGTHS, lengths

__all__ = ["Report", "Result", "check"]

Make = Callable[[int], tuple[Sequence[Any], Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Result:
    """One check of one case; `message` is empty when it passed."""

    case: str
    check: str
    message: str
    seconds: float

    @property
    def passed(self) -> bool:
        return not self.message


@dataclass(frozen=True, slots=True)
class Report:
    """What `check` found; true when nothing failed, and there was something to check."""

    op: str
    results: tuple[Result, ...]

    @property
    def failures(self) -> tuple[Result, ...]:
        """The checks that failed."""
        return tuple(result for result in self.results if not result.passed)

    def __bool__(self) -> bool:
        return bool(self.results) and not self.failures

    def __str__(self) -> str:
        count = len(self.results)
        lines = [f"{self.op}: {count - len(self.failures)} of {count} passed"]
        for item in self.results:
            mark = "ok    " if item.passed else "FAILED"
            lines.append(f"  {mark} {item.check:10} {item.case} ({item.seconds:.1f} s)")
            if item.message:
                lines.append(f"         {item.message}")
        return "\n".join(lines)

    def require(self) -> Report:
        """The report itself; raises CheckFailed with its text unless it is true."""
        if not self:
            raise CheckFailed(str(self))
        return self


@dataclass(frozen=True, slots=True)
class Subject:
    """What is checked together: a call, and calls that differ from it in sizes."""

    name: str
    call: Callable[[], Call]
    sizes: Callable[[], list[Call]]
    contiguous: tuple[str, ...] = ()

    def variants(self) -> Iterator[tuple[str, Call]]:
        """The call, on tensors laid out in every way that it must take."""
        return compiled.variants(self.call(), self.contiguous)


def check(
    op: Any,
    *,
    call: Make | None = None,
    device: torch.device | str = "cpu",
    max_elements: int = 4096,
    every_row: bool = False,
    registry: Registry | None = None,
    manifest: Path | None = None,
    raises: bool = False,
) -> Report:
    """Holds an operator to opcheck and to cold fullgraph compiles: static, dynamic and unbacked.

    An operator of a manifest is called as its rows say, shrunk to `max_elements`: one row per dtype
    case and effect branch, or `every_row`. Any other operator needs `call`, which makes (args,
    kwargs) with a given number of rows, the size that varies. With `raises` a failure is raised as
    CheckFailed instead of only being reported.
    """
    if call is not None:
        name = str(op)
        subjects = [_made(op, call)]
    else:
        found = rows(op, registry=registry, manifest=manifest)
        name = found[0].op if found else str(op)
        chosen = found if every_row else one_per_branch(found)
        subjects = [_of_row(row.shrunk(max_elements), device) for row in chosen]
    report = Report(name, tuple(result for item in subjects for result in _checks(item)))
    return report.require() if raises else report


def one_per_branch(found: Sequence[Row]) -> tuple[Row, ...]:
    """The first row of every dtype case and effect branch."""
    first: dict[Any, Row] = {}
    for row in found:
        first.setdefault(row.branch, row)
    return tuple(first.values())


def sized_calls(row: Row, make: Callable[[Row], Call]) -> list[Call]:
    """The row's call at four lengths, as far as its rules let one size vary."""
    found, free = lengths(row.case)
    calls = [make(replace(row, case=case)) for case in found]
    return [replace(call, free=tuple(n for n in free if n in call.arguments)) for call in calls]


def _of_row(row: Row, device: torch.device | str) -> Subject:
    def make(item: Row) -> Call:
        return item.tensors(device).call

    contiguous = row.bound.header.contiguous
    return Subject(str(row), lambda: make(row), lambda: sized_calls(row, make), contiguous)


def _made(op: Any, make: Make) -> Subject:
    """Calls made by hand; every axis that follows the number of rows is dynamic."""
    overload = op if isinstance(op, torch._ops.OpOverload) else op.default

    def at(count: int) -> Call:
        args, kwargs = make(count)
        call = Call(overload, tuple(args), dict(kwargs))
        other = Call(overload, tuple(make(count + 1)[0]), dict(make(count + 1)[1]))
        free = tuple(
            (name, axis)
            for name, tensor in call.tensors.items()
            for axis, size in enumerate(tensor.shape)
            if size != other.tensors[name].shape[axis]
        )
        return replace(call, unbacked=free)

    return Subject(str(overload), lambda: at(LENGTHS[0]), lambda: [at(n) for n in LENGTHS])


def _checks(subject: Subject) -> Iterator[Result]:
    steps: dict[str, Callable[[], Any]] = {
        "fake": lambda: _every(subject, compiled.check_fake),
        "static": lambda: compiled.check_static(subject.call()),
        "dynamic": lambda: _dynamic(subject),
        "unbacked": lambda: compiled.check_unbacked(subject.call()),
        "opcheck": lambda: _every(subject, compiled.check_opcheck),
        "inductor": lambda: compiled.check_inductor(subject.call()),
    }
    lying = False
    for name, step in steps.items():
        # Under Inductor a result that differs from its fake corrupts memory.
        if name == "inductor" and lying:
            continue
        start = time.perf_counter()
        message = ""
        try:
            step()
        except Exception as error:
            kind = "" if isinstance(error, CheckFailed) else f"{type(error).__name__}: "
            message = f"{kind}{error}" or type(error).__name__
            lying |= name == "fake"
        yield Result(subject.name, name, message, time.perf_counter() - start)


def _every(subject: Subject, step: Callable[[Call], Any]) -> None:
    for way, call in subject.variants():
        try:
            step(call)
        except CheckFailed as error:
            prefix = "" if way == "contiguous" else f"{way}: "
            raise CheckFailed(f"{prefix}{error}", error.fault) from error


def _dynamic(subject: Subject) -> None:
    calls = subject.sizes()
    if calls:
        compiled.check_dynamic(calls)
