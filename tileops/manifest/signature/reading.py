"""What an expression needs, and under which condition it needs it.

In: a tree and the discriminants. Out: pairs of a name and the guard under which evaluation reads
it. Conditions over discriminants come first in `and` and `or`, so that what they rule out is never
read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tileops.manifest.language.rewrite import map_children
from tileops.manifest.language.syntax import (
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Expr,
    Name,
    Not,
    children,
)
from tileops.manifest.signature.points import Discriminants


def both(first: Expr | None, second: Expr | None) -> Expr | None:
    """The conjunction of two guards, None being always."""
    if first is None or second is None or first == second:
        return second if first is None else first
    items: list[Expr] = []
    for part in (first, second):
        for item in part.items if isinstance(part, BoolOp) and part.op == "and" else (part,):
            if item not in items:
                items.append(item)
    return items[0] if len(items) == 1 else BoolOp("and", tuple(items))


def either(guards: list[Expr | None]) -> Expr | None:
    """The disjunction of guards, None being always."""
    items: list[Expr] = []
    for guard in guards:
        if guard is None:
            return None
        for item in guard.items if isinstance(guard, BoolOp) and guard.op == "or" else (guard,):
            if item not in items:
                items.append(item)
    items.sort(key=str)
    return items[0] if len(items) == 1 else BoolOp("or", tuple(items))


_OPPOSITE = {"==": "!=", "!=": "==", "in": "not in", "not in": "in"}


def negated(guard: Expr) -> Expr:
    """The opposite of a guard, without a `not` where an operator says it."""
    match guard:
        case Not(operand=operand):
            return operand
        case Compare(first=first, ops=(op,), rest=rest, at=at) if op in _OPPOSITE:
            return Compare(first, (_OPPOSITE[op],), rest, at)
        case _:
            return Not(guard)


def conditions_first(node: Expr, discriminants: Discriminants) -> Expr:
    """The expression with discriminant conditions in front in every `and` and `or`."""
    node = map_children(node, lambda child: conditions_first(child, discriminants))
    if not isinstance(node, BoolOp):
        return node
    pure = [item for item in node.items if discriminants.reads(item)[1]]
    rest = [item for item in node.items if item not in pure]
    return replace(node, items=(*pure, *rest))


def needs(
    node: Expr, discriminants: Discriminants, guard: Expr | None = None
) -> Iterator[tuple[str, Expr | None]]:
    """Every plain name the expression reads, with the guard under which it does."""
    match node:
        case Name(id=name):
            yield name, guard
        case Conditional(test=test, then=then, otherwise=otherwise):
            if discriminants.reads(test)[1]:
                yield from needs(test, discriminants, guard)
                yield from needs(then, discriminants, both(guard, test))
                yield from needs(otherwise, discriminants, both(guard, negated(test)))
            else:
                for child in (test, then, otherwise):
                    yield from needs(child, discriminants, guard)
        case BoolOp(op=op, items=items):
            for item in items:
                yield from needs(item, discriminants, guard)
                if discriminants.reads(item)[1]:
                    guard = both(guard, item if op == "and" else negated(item))
        case Call(args=(Comprehension(body=body, variable=variable, source=source),)):
            yield from needs(source, discriminants, guard)
            for name, inner in needs(body, discriminants, guard):
                if name != variable:
                    yield name, inner
        case _:
            for child in children(node):
                yield from needs(child, discriminants, guard)


def variables_of(node: Expr, discriminants: Discriminants) -> frozenset[str]:
    """The variables that decide what an expression reads."""
    names: set[str] = set()
    for _, guard in needs(node, discriminants):
        if guard is not None:
            names |= discriminants.reads(guard)[0]
    return frozenset(names)
