"""The integers of a row that shrinking may lower, each as a knob that reads and turns one.

In: a case. Out: its knobs in a fixed order: axis lengths, items of shapes, length and scale of
lists, and, marked as parameters, integers inside parameters. Turning one gives a changed `State`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tileops.manifest.adt import ADTValue
from tileops.manifest.values import convert
from tileops.manifest.workload.case import Case


@dataclass(frozen=True, slots=True)
class State:
    """What shrinking changes of a case."""

    params: Mapping[str, Any]
    indices: Mapping[str, Any]

    def of(self, case: Case) -> Case:
        return replace(case, params=self.params, indices=self.indices)

    def with_index(self, name: str, value: Any) -> State:
        return State(self.params, {**self.indices, name: value})

    def with_param(self, name: str, value: Any) -> State:
        return State({**self.params, name: value}, self.indices)


@dataclass(frozen=True, slots=True)
class Knob:
    """One integer. `part` is '' for a plain one, 'count' or 'scale' of a list, an item's place,
    or the field of an ADT value."""

    name: str
    part: str | int = ""
    param: bool = False

    def read(self, state: State) -> int:
        value = (state.params if self.param else state.indices)[self.name]
        match self.part:
            case "":
                found = value
            case "count":
                found = len(value)
            case "scale":
                found = max(value, default=0)
            case int(at):
                found = value[at]
            case str(field):
                found = value.fields[field]
        return int(found)

    def turn(self, state: State, case: Case, target: int) -> State:
        """The state with this integer set. Raises ValueError where no value has it."""
        value = (state.params if self.param else state.indices)[self.name]
        match self.part:
            case "":
                changed: Any = target
            case "count":
                changed = value[:target]
            case "scale":
                top = max(value)
                changed = type(value)(
                    max(item * target // top, 1) if item > 0 else item for item in value
                )
            case int(at):
                changed = type(value)((*value[:at], target, *value[at + 1 :]))
            case str(field):
                fields = {value.kind: {**value.fields, field: target}}
                param = case.signature.param(self.name)
                assert param is not None
                changed = convert(fields, param.type, case.signature.adts)
        return (
            state.with_param(self.name, changed)
            if self.param
            else state.with_index(self.name, changed)
        )

    @property
    def scalar(self) -> bool:
        return self.part == ""


def knobs_of(case: Case) -> tuple[Knob, ...]:
    """Every knob of a case that stands above zero."""
    return tuple(knob for knob in _all(case) if knob.read(State(case.params, case.indices)) > 0)


def _all(case: Case) -> Iterator[Knob]:
    for name, value in case.indices.items():
        if isinstance(value, list):
            yield Knob(name, "scale")
            yield Knob(name, "count")
        elif isinstance(value, tuple):
            yield from (Knob(name, at) for at in range(len(value)))
        else:
            yield Knob(name)
    for name, value in case.params.items():
        if type(value) is int:
            yield Knob(name, param=True)
        elif isinstance(value, ADTValue):
            fields = value.fields.items()
            yield from (Knob(name, key, True) for key, item in fields if type(item) is int)
        elif isinstance(value, list | tuple) and all(type(item) is int for item in value):
            yield from (Knob(name, at, True) for at in range(len(value)))
