"""The same row at other sizes: the four lengths of a dynamic check, empty and size-one calls.

In: a row's case. Out: cases that differ in one index, or in several that must move together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tileops.manifest.workload.case import Case, CaseFails
from tileops.manifest.workload.instantiate import generate, instantiate, unmet

__all__ = ["LENGTHS", "lengths", "with_size"]

LENGTHS = (8, 9, 300, 301)

#: Where a rule asks a size to be a multiple, multiples of the lengths are tried.
FACTORS = (1, 16, 128)


@dataclass(frozen=True, slots=True)
class Slot:
    """One size that a row gives: an index, an item of one, or an integer parameter."""

    name: str
    item: int | None = None
    param: bool = False

    def read(self, case: Case) -> int:
        value = (case.params if self.param else case.indices)[self.name]
        return int(value if self.item is None else value[self.item])

    def write(self, case: Case, size: int) -> Case:
        values = dict(case.params if self.param else case.indices)
        old = values[self.name]
        if self.item is None:
            values[self.name] = size
        else:
            values[self.name] = type(old)((*old[: self.item], size, *old[self.item + 1 :]))
        return replace(case, params=values) if self.param else replace(case, indices=values)


def lengths(case: Case, sizes: Sequence[int] = LENGTHS) -> tuple[list[Case], tuple[str, ...]]:
    """The case at each size of the first index that takes them all, and the parameters that vary.

    Empty where no index and no integer parameter can. Lengths that another axis already has are
    stepped over: torch gives equal sizes one symbol, and guards that they stay equal. So are those
    of which one alone makes an axis of a result 1, as a count of blocks is: torch guards that too.
    """
    taken = _sizes(case)
    for factor in FACTORS:
        for shift in range(20):
            shifted = [(size + shift) * factor for size in sizes]
            if not taken & set(shifted):
                break
        for slots in _choices(case):
            found = [_at(case, slots, size) for size in shifted]
            cases = [item for item in found if item is not None]
            if len(cases) == len(found) and len(set(map(_single, cases))) == 1:
                return cases, tuple(slot.name for slot in slots if slot.param)
    return [], ()


def _single(case: Case) -> frozenset[tuple[str, int]]:
    """The axes of results that are 1."""
    return frozenset(
        (name, axis)
        for name, spec in instantiate(case).outputs.items()
        for axis, size in enumerate(() if spec is None else spec[0])
        if size == 1
    )


def _sizes(case: Case) -> set[int]:
    """The sizes of every axis of the case's inputs."""
    instance = instantiate(case)
    return {size for meta in instance.inputs.values() if meta is not None for size in meta.shape}


def with_size(case: Case, size: int) -> Iterator[Case]:
    """The case with one index at `size`, for the first index that can take it."""
    for slots in _choices(case):
        found = _at(case, slots, size)
        if found is not None:
            yield found
            return


def _choices(case: Case) -> Iterator[tuple[Slot, ...]]:
    """Single sizes first, then those that are equal, then integer parameters."""
    slots = []
    for name, value in case.indices.items():
        if isinstance(value, tuple | list):
            slots += [Slot(name, item) for item in range(len(value))]
        elif isinstance(value, int):
            slots.append(Slot(name))
    yield from ((slot,) for slot in slots)
    values = dict.fromkeys(slot.read(case) for slot in slots)
    for value in values:
        equal = tuple(slot for slot in slots if slot.read(case) == value)
        if len(equal) > 1:
            yield equal
    for name, value in case.params.items():
        if isinstance(value, int) and not isinstance(value, bool):
            yield (Slot(name, param=True),)


def _at(case: Case, slots: Sequence[Slot], size: int) -> Case | None:
    made = case
    for slot in slots:
        made = slot.write(made, size)
    return made if _holds(made, instantiate) else None


def _holds(case: Case, make: Callable[[Case], Any]) -> bool:
    try:
        instance = make(case)
        return not unmet(instance, generate(instance))
    except CaseFails:
        return False
