"""The rows that the compile tests run over: the registry decides, no list by hand.

Collected in every worker, so only rows are read here; tensors are made inside the tests.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
import torch

import tileops
from tileops.elementwise.table import TABLE
from tileops.reduction import table as reduction
from tileops.testing.cases import Row, rows
from tileops.testing.report import one_per_branch

#: Sizes at which a CPU compile is about the compiler and not about the arithmetic.
SMALL = 2048

ENTRIES = tileops.registry.entries
IMPLEMENTED = tuple(entry for entry in ENTRIES if entry.status == "implemented")
SPEC_ONLY = tuple(entry for entry in ENTRIES if entry.status != "implemented")

ROWS = {entry.name: rows(entry.name) for entry in IMPLEMENTED}
EVERY_ROW = tuple(row for found in ROWS.values() for row in found)
#: Entries whose classes, references and kernels one generator makes.
TABLED = {row.op for row in (*TABLE, *reduction.TABLE)}


def _sort_of(dtype: object) -> str:
    """Which dtypes one generator treats alike."""
    known = getattr(torch, str(dtype).removeprefix("torch."))
    if known.is_complex:
        return "complex"
    return "float" if known.is_floating_point else "bool" if known == torch.bool else "integer"


def _first_rows(name: str, found: tuple[Row, ...]) -> tuple[Row, ...]:
    """One row per effect branch and dtype case, or sort of dtypes where one generator is behind."""
    chosen = one_per_branch(found)
    if name not in TABLED:
        return chosen
    sorts = {}
    for row in chosen:
        sorts.setdefault((*map(_sort_of, row.case.dtypes.values()), row.overload), row)
    return tuple(sorts.values())


#: The rows that are compiled and exported each time; the others are slow.
FIRST_ROWS = tuple(row for name, found in ROWS.items() for row in _first_rows(name, found))


#: One row per operator and overload of the table, whose sizes are the generator's matter: what is
#: compiled with sizes left open.
OPEN_ROWS = tuple(
    {
        (row.op, row.overload if row.op in TABLED else row.id): row for row in reversed(FIRST_ROWS)
    }.values()
)[::-1]


def _form(row: Row) -> str:
    """What tabled operators of one form share: their generator, the schema but for the name."""
    overloads = row.bound.header.overloads
    schema = next(item.schema for item in overloads if item.name == row.overload)
    return f"{row.bound.header.family} {schema.partition('(')[2]}"


#: One row per form of tabled operators, and every other open row: what is compiled to C++ with
#: sizes of which nothing is known, in which one operator of a form is like another.
UNKNOWN_ROWS = tuple(
    {_form(row) if row.op in TABLED else row.id: row for row in reversed(OPEN_ROWS)}.values()
)[::-1]


def _sized_alike(row: Row) -> tuple[object, ...]:
    """What tells apart the rows whose sizes go other ways: parameters, presence and ranks, but
    neither dtypes nor the sizes themselves."""
    case = row.case
    ranks = [len(value) for value in case.indices.values() if isinstance(value, tuple)]
    present = sorted(name for name, there in case.present.items() if there)
    params = {k: v for k, v in case.params.items() if "dtype" not in k}
    return row.op, row.overload, repr(params), tuple(present), tuple(ranks)


#: One row for each way that sizes go: what is traced at four lengths each time.
SIZED_ROWS = tuple({_sized_alike(row): row for row in reversed(EVERY_ROW)}.values())[::-1]


def parameters(chosen: Iterable[Row], quick: Iterable[Row]) -> list[object]:
    """Rows as pytest parameters; those that are not quick are marked slow."""
    now = {id(row) for row in quick}
    return [
        pytest.param(row, id=str(row), marks=() if id(row) in now else pytest.mark.slow)
        for row in chosen
    ]


def class_of(row: Row) -> type:
    """The Python class of an implemented entry."""
    found = row.bound.op_class
    assert found is not None, f"{row.op} is implemented and has no class"
    return found
