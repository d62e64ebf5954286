"""What makes a row itself, so that shrinking can keep it: which integers exceed which.

In: a case and its knobs. Out: `Traits`: integers above one, ordered pairs that one rule reads,
lists of which one bounds the other item by item, and equalities of a refinement that hold and give
an index its value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from operator import le
from typing import Any

from tileops.manifest.language.rewrite import fold
from tileops.manifest.language.syntax import Compare, Expr, Name, walk
from tileops.manifest.workload.case import Case, CaseFails
from tileops.manifest.workload.instantiate import Solver
from tileops.manifest.workload.knobs import Knob, State


@dataclass(frozen=True, slots=True)
class Traits:
    """`plural` stay above one; of an ordered pair the first stays below the second, likewise the
    items of a bounded list; `equal` are indices with the expressions that give them."""

    plural: tuple[Knob, ...]
    ordered: tuple[tuple[Knob, Knob], ...]
    bounded: tuple[tuple[str, str], ...]
    equal: tuple[tuple[str, Expr], ...]

    def kept(self, state: State) -> bool:
        """Whether a state keeps everything but the equalities."""
        return (
            all(knob.read(state) > 1 for knob in self.plural)
            and all(low.read(state) < high.read(state) for low, high in self.ordered)
            and all(
                _within(state.indices[low], state.indices[high]) for low, high in self.bounded
            )
        )

    def restored(self, state: State, case: Case) -> State:
        """The state with its equalities made to hold again."""
        for name, expr in self.equal:
            solver = Solver(state.of(case))
            try:
                if not solver.knows(expr):
                    continue
                value = solver.evaluate(expr, name)
            except CaseFails:
                continue
            state = state.with_index(name, tuple(value) if isinstance(value, list) else value)
        return state


def traits_of(case: Case, knobs: tuple[Knob, ...]) -> Traits:
    """The traits of a case as its row has it."""
    start = State(case.params, case.indices)
    plural = tuple(k for k in knobs if k.part != "scale" and k.read(start) > 1)
    lists = [name for name, value in case.indices.items() if isinstance(value, list)]
    bounded = tuple(
        pair
        for first, second in combinations(lists, 2)
        for pair in ((first, second), (second, first))
        if _within(case.indices[pair[0]], case.indices[pair[1]])
    )
    return Traits(plural, tuple(_ordered(case, knobs, start)), bounded, tuple(_equal(case)))


def _within(low: list[int], high: list[int]) -> bool:
    return len(low) == len(high) and all(map(le, low, high))


def _ordered(case: Case, knobs: tuple[Knob, ...], start: State) -> Iterator[tuple[Knob, Knob]]:
    """Plain integers that a rule or a generator reads together, the smaller first."""
    scalars = {knob.name: knob for knob in knobs if knob.scalar}
    exprs: list[tuple[Expr, ...]] = [(rule.expr,) for rule in case.signature.rules]
    exprs += case.branch.arguments.values()
    pairs: set[tuple[str, str]] = set()
    for group in exprs:
        names = sorted({name for expr in group for name in case.branch.names_of(expr)})
        pairs.update(combinations([name for name in names if name in scalars], 2))
    for first, second in sorted(pairs):
        values = scalars[first].read(start), scalars[second].read(start)
        if values[0] != values[1]:
            low, high = (first, second) if values[0] < values[1] else (second, first)
            yield scalars[low], scalars[high]


def _equal(case: Case) -> Iterator[tuple[str, Expr]]:
    """Indices that a refinement equates with something, where it does so in this case."""
    solver = Solver(case)
    seen: set[str] = set()
    workload = case.workload
    for rule in case.signature.rules:
        folded = fold(rule.expr, lambda node: workload.discriminants.truth(node, case.point))
        for node in walk(folded):
            if not isinstance(node, Compare) or node.ops != ("==",):
                continue
            for side, other in ((node.rest[0], node.first), (node.first, node.rest[0])):
                if not isinstance(side, Name) or side.id not in case.indices or side.id in seen:
                    continue
                if _equals(case.indices[side.id], other, solver):
                    seen.add(side.id)
                    yield side.id, other
                    break


def _equals(value: Any, expr: Expr, solver: Solver) -> bool:
    try:
        if not solver.knows(expr):
            return False
        found = solver.evaluate(expr, "")
    except CaseFails:
        return False
    return bool((tuple(found) if isinstance(found, list) else found) == value)


__all__ = ["Traits", "traits_of"]
