"""The predicates: what the `requires` of a metadata tensor may call, one implementation each.

In: the contents of the constrained tensor and a call's arguments, another tensor as its `Values`.
Out: whether the relation holds. A predicate never raises on contents: what is malformed does not
hold. To add one: a row in `PREDICATES`, a test, a row in the language reference.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from operator import le, lt, sub
from typing import Any, TypeAlias

from tileops.manifest.language import moe_layout
from tileops.manifest.language.arrays import Values
from tileops.manifest.language.kinds import BOOL, INT, SEQ_INT, TENSOR, ADTKind, UnionKind
from tileops.manifest.language.primitives import Formal, Primitive

Ints: TypeAlias = Sequence[int]


@dataclass(frozen=True, slots=True)
class Predicate:
    """One member. `rank` is the rank its tensor is read at, None for any; `total` names the
    formal that a failing tensor's own contents determine, None where none is."""

    primitive: Primitive
    rank: int | None
    total: Callable[[Values], int] | None

    @property
    def name(self) -> str:
        return self.primitive.name

    def holds(self, tensor: Values, arguments: Sequence[Any]) -> bool:
        """Whether the tensor satisfies a call with these arguments."""
        if self.rank is not None and len(tensor.shape) != self.rank:
            return False
        return bool(self.primitive.run(tensor, *arguments))


def _items(value: Values | Ints) -> Ints:
    return value.data if isinstance(value, Values) else value


def _rises(data: Ints) -> bool:
    return all(map(le, data, islice(data, 1, None)))


def _steps(data: Ints) -> list[int]:
    """The differences of neighbours; of offsets, the lengths of their segments."""
    return list(map(sub, islice(data, 1, None), data))


def prefix_offsets(tensor: Values, total: int) -> bool:
    data = tensor.data
    return len(data) > 0 and data[0] == 0 and data[-1] == total and _rises(data)


def max_segment(tensor: Values, bound: int) -> bool:
    return max(map(abs, _steps(tensor.data)), default=0) <= max(bound, 0)


def in_range(tensor: Values, lo: int, hi: int) -> bool:
    data = tensor.data
    return not len(data) or (min(data) >= lo and max(data) < hi)


def sums_to(tensor: Values, total: int) -> bool:
    return sum(tensor.data) == total


def exclusive_prefix_of(tensor: Values, lengths: Values | Ints) -> bool:
    items = list(_items(lengths))
    return list(tensor.data) == list(accumulate(items[:-1], initial=0))[: len(items)]


def indices_within(tensor: Values, offsets: Values) -> bool:
    if tensor.shape[1] != 2:
        return False
    segments, places = tensor.data[0::2], tensor.data[1::2]
    lengths = _steps(offsets.data)
    if not len(segments):
        return True
    if min(segments) < 0 or max(segments) >= len(lengths) or min(places) < 0:
        return False
    return all(map(lt, places, map(lengths.__getitem__, segments)))


def chunk_offsets_of(tensor: Values, offsets: Values, chunk: int) -> bool:
    if chunk <= 0:
        return False
    counts = (-(-length // chunk) for length in _steps(offsets.data))
    return list(tensor.data) == list(accumulate(counts, initial=0))


def paged_fits(tensor: Values, offsets: Values, capacity: int) -> bool:
    lengths = _steps(offsets.data)
    if len(lengths) != len(tensor.data):
        return False
    return all(
        start + length <= capacity for start, length in zip(tensor.data, lengths, strict=True)
    )


def layout_valid(tensor: Values, layout: Any, rows: int, experts: int) -> bool:
    return moe_layout.valid(tensor.data, layout, rows, experts)


def _last(tensor: Values) -> int:
    data: array[int] = tensor.data
    return data[-1] if len(data) else 0


def _p(
    name: str,
    formals: tuple[Formal, ...],
    rank: int | None,
    run: Callable[..., bool],
    total: Callable[[Values], int] | None = None,
) -> Predicate:
    return Predicate(Primitive(name, formals, lambda _: BOOL, run), rank, total)


_TOTAL, _BOUND = Formal("total", INT), Formal("bound", INT)
_OFFSETS = Formal("offsets", TENSOR)

PREDICATES: dict[str, Predicate] = {
    predicate.name: predicate
    for predicate in (
        _p("prefix_offsets", (_TOTAL,), 1, prefix_offsets, _last),
        _p("max_segment", (_BOUND,), 1, max_segment),
        _p("in_range", (Formal("lo", INT), Formal("hi", INT)), None, in_range),
        _p("sums_to", (_TOTAL,), 1, sums_to, lambda tensor: sum(tensor.data)),
        _p(
            "exclusive_prefix_of",
            (Formal("lengths", UnionKind((SEQ_INT, TENSOR))),),
            1,
            exclusive_prefix_of,
        ),
        _p("indices_within", (_OFFSETS,), 2, indices_within),
        _p("chunk_offsets_of", (_OFFSETS, Formal("chunk", INT)), 1, chunk_offsets_of),
        _p("attn.paged_fits", (_OFFSETS, Formal("capacity", INT)), 1, paged_fits),
        _p(
            "moe.layout_valid",
            (Formal("layout", ADTKind("*", ())), Formal("rows", INT), Formal("experts", INT)),
            1,
            layout_valid,
        ),
    )
}
