"""The rows that the compile tests run over: the registry decides, no list by hand.

Collected in every worker, so only rows are read here; tensors are made inside the tests.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

import tileops
from tileops.testing.cases import Row, rows
from tileops.testing.report import one_per_branch

#: Sizes at which a CPU compile is about the compiler and not about the arithmetic.
SMALL = 2048

ENTRIES = tileops.registry.entries
IMPLEMENTED = tuple(entry for entry in ENTRIES if entry.status == "implemented")
SPEC_ONLY = tuple(entry for entry in ENTRIES if entry.status != "implemented")

ROWS = {entry.name: rows(entry.name) for entry in IMPLEMENTED}
EVERY_ROW = tuple(row for found in ROWS.values() for row in found)
#: One row per dtype case and effect branch; the others are slow.
FIRST_ROWS = tuple(row for found in ROWS.values() for row in one_per_branch(found))


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
