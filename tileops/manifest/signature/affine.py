"""Affine axes: `a * M + e` with a positive literal `a`, solved for `M`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tileops.manifest.language.syntax import Binary, Expr, Literal, Name, names_in


@dataclass(frozen=True, slots=True)
class Affine:
    """`scale * index + offset`; an offset of None is zero."""

    index: str
    scale: int
    offset: Expr | None


def solutions(node: Expr, indices: frozenset[str]) -> Iterator[Affine]:
    """The axis solved for each index that stands in it once, in an affine place."""
    match node:
        case Name(id=name) if name in indices:
            yield Affine(name, 1, None)
        case Binary(op="*", left=Literal(value=int(factor)), right=inner) if _positive(factor):
            yield from _scaled(inner, factor, indices)
        case Binary(op="*", left=inner, right=Literal(value=int(factor))) if _positive(factor):
            yield from _scaled(inner, factor, indices)
        case Binary(op="+", left=left, right=right):
            for part, other in ((left, right), (right, left)):
                yield from _shifted(part, other, "+", indices)
        case Binary(op="-", left=left, right=right):
            yield from _shifted(left, right, "-", indices)


def _positive(factor: int) -> bool:
    return not isinstance(factor, bool) and factor > 0


def _scaled(inner: Expr, factor: int, indices: frozenset[str]) -> Iterator[Affine]:
    for found in solutions(inner, indices):
        offset = None if found.offset is None else Binary("*", Literal(factor), found.offset)
        yield Affine(found.index, found.scale * factor, offset)


def _shifted(part: Expr, other: Expr, op: str, indices: frozenset[str]) -> Iterator[Affine]:
    rest = names_in(other)
    for found in solutions(part, indices):
        if found.index in rest:
            continue
        if found.offset is None:
            offset = other if op == "+" else Binary("-", Literal(0), other)
        else:
            offset = Binary(op, found.offset, other)
        yield Affine(found.index, found.scale, offset)
