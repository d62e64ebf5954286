"""Shape term -> every written-out shape that it stands for, each with the guard that selects it.

In: a shape term of a checked signature. Out: `Alternative`s: type families expanded, and, by
`folded`, conditions over discriminants in the axes decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from tileops.manifest.language.rewrite import fold, replace_names
from tileops.manifest.language.syntax import Apply, Axes, Conditional, Expr, ShapeTerm, walk
from tileops.manifest.signature.model import Signature, substitute_shape
from tileops.manifest.signature.patterns import conjunction, pattern_conditions
from tileops.manifest.signature.points import Discriminants
from tileops.manifest.signature.reading import both, negated


@dataclass(frozen=True, slots=True)
class Alternative:
    """One written-out shape of a tensor and the guard that selects it (None: always)."""

    guard: Expr | None
    axes: Axes


def alternatives(term: ShapeTerm, signature: Signature) -> tuple[Alternative, ...]:
    """Every written-out shape that a term stands for, type families expanded."""
    return tuple(sorted(_expand(term, signature, None), key=lambda item: str(item.guard)))


def _expand(term: ShapeTerm, signature: Signature, guard: Expr | None) -> Iterator[Alternative]:
    if isinstance(term, Axes):
        yield Alternative(guard, term)
        return
    assert isinstance(term, Apply)
    family = signature.families[term.family]
    values = {name: arg for (name, _), arg in zip(family.formals, term.args, strict=True)}
    for case in family.cases:
        conditions = [
            (replace_names(condition, values), truth)
            for pattern, expr in zip(case.patterns, family.match, strict=True)
            for condition, truth in pattern_conditions(pattern, expr)
        ]
        inner = guard
        for condition in conjunction(conditions):
            inner = both(inner, condition)
        yield from _expand(substitute_shape(case.shape, values), signature, inner)


def folded(shape: Alternative, discriminants: Discriminants) -> Iterator[Alternative]:
    """The shape at either side of each discriminant condition in its axes.

    An axis such as `2 * N if present(w) else N` is affine only once its condition is decided.
    """
    tests = (
        node.test
        for item in shape.axes.items
        for node in walk(item.expr)
        if isinstance(node, Conditional) and discriminants.reads(node.test)[1]
    )
    test = next(tests, None)
    if test is None:
        yield shape
        return
    for decided in (True, False):
        items = tuple(
            type(item)(fold(item.expr, partial(_decide, test, decided)))
            for item in shape.axes.items
        )
        guard = both(shape.guard, test if decided else negated(test))
        yield from folded(Alternative(guard, Axes(items, shape.axes.at)), discriminants)


def _decide(test: Expr, truth: bool, node: Expr) -> bool | None:
    return truth if node == test else None
