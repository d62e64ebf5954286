"""Patterns of type family cases: which values they take, and the conditions that say so.

In: a checked case or pattern. Out: whether it takes values, or conditions over what is matched.
Reading patterns from YAML is `families`.
"""

from __future__ import annotations

from typing import Any

from tileops.manifest.adt import ADTValue
from tileops.manifest.language.syntax import Compare, Expr, Field, Literal, Name, Not, Present
from tileops.manifest.signature.model import Case, Pattern


def matches(case: Case, values: tuple[Any, ...]) -> bool:
    """Whether a case takes these values of what its family matches."""
    return all(
        _matches(pattern, value) for pattern, value in zip(case.patterns, values, strict=True)
    )


def _matches(pattern: Pattern, value: Any) -> bool:
    if pattern.anything:
        return True
    if pattern.constructor:
        return (
            isinstance(value, ADTValue)
            and value.kind == pattern.constructor
            and all(value.fields.get(name) == wanted for name, wanted in pattern.fields)
        )
    return type(value) is type(pattern.value) and value == pattern.value


def pattern_conditions(pattern: Pattern, expr: Expr) -> list[tuple[Expr, bool]]:
    """A pattern as conditions on what it matches, each with the truth it must have."""
    if pattern.anything:
        return []
    if pattern.constructor:
        assert isinstance(expr, Name)
        result: list[tuple[Expr, bool]] = [
            (Compare(Field(expr.id, "kind"), ("==",), (Literal(pattern.constructor),)), True)
        ]
        for name, value in pattern.fields:
            result += _equals(Field(expr.id, name), value)
        return result
    return _equals(expr, pattern.value)


def _equals(expr: Expr, value: Any) -> list[tuple[Expr, bool]]:
    if value is None:
        assert isinstance(expr, Name)
        return [(Present(expr.id), False)]
    if isinstance(value, bool):
        return [(expr, value)]
    return [(Compare(expr, ("==",), (Literal(value),)), True)]


def conjunction(conditions: list[tuple[Expr, bool]]) -> list[Expr]:
    """Conditions with their truths as plain conditions."""
    return [expr if truth else Not(expr) for expr, truth in conditions]
