"""Which rows go first: the ones that say most, so that a run that is cut has seen every operator.

In: rows of operators. Out: the same rows. The first round has the largest bfloat16 row of each
operator, the next ones other dtypes and sizes; in each round families take turns.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import TypeVar

from tileops.manifest.dtypes import DTYPES
from tileops.manifest.workload.instantiate import instantiate
from tileops.testing.cases import Row

T = TypeVar("T")

_DTYPES = ("bfloat16", "float16", "float8_e4m3fn", "float32")


def ordered(operators: Mapping[str, Sequence[Row]]) -> list[Row]:
    """All rows of `operators`, which are by name."""
    families: dict[str, list[list[Row]]] = {}
    for rows in operators.values():
        if rows:
            families.setdefault(rows[0].bound.header.family, []).append(_within(rows))
    # Round by round over the operators of a family, then family by family within a round.
    rounds = [list(itertools.zip_longest(*operators_rows)) for operators_rows in families.values()]
    found: list[Row] = []
    for group in itertools.zip_longest(*rounds, fillvalue=()):
        found += in_turn([[row for row in rows if row is not None] for rows in group])
    return found


def _within(rows: Sequence[Row]) -> list[Row]:
    """Dtypes in turn, the usual ones first; of each the largest row first."""
    by_dtype: dict[tuple[str, ...], list[Row]] = {}
    for row in sorted(rows, key=_size, reverse=True):
        by_dtype.setdefault(tuple(row.case.dtypes.values()), []).append(row)
    return list(in_turn([by_dtype[key] for key in sorted(by_dtype, key=_preference)]))


def _preference(dtypes: tuple[str, ...]) -> int:
    first = dtypes[0] if dtypes else ""
    return _DTYPES.index(first) if first in _DTYPES else len(_DTYPES)


def _size(row: Row) -> int:
    metas = [meta for meta in instantiate(row.case).inputs.values() if meta is not None]
    return sum(prod(meta.shape) * DTYPES[meta.dtype].bits for meta in metas)


def in_turn(groups: Iterable[Iterable[T]]) -> Iterator[T]:
    """The first of each group, then the second of each, and so on."""
    missing = object()
    for items in itertools.zip_longest(*groups, fillvalue=missing):
        yield from (item for item in items if item is not missing)  # type: ignore[misc]
