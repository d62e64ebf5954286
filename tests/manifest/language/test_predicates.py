"""Every predicate: contents that satisfy it, and each way in which contents do not."""

from __future__ import annotations

from array import array
from math import prod

import pytest

from tests.manifest.language.test_generators import contiguous, masked
from tileops.manifest.language.arrays import Values
from tileops.manifest.language.predicates import PREDICATES


def tensor(*items: int, width: int = 0) -> Values:
    shape = (len(items) // width, width) if width else (len(items),)
    assert prod(shape) == len(items)
    return Values(shape, "int32", array("i", items))


OFFSETS = tensor(0, 3, 3, 8)
ALIGNED = contiguous("aligned", "physical_psum", 4)
TILES = contiguous("aligned", "per_row", 2)
TIGHT = contiguous("tight", "physical_psum")
ROWS = contiguous("tight", "per_row")

HOLDS = [
    ("prefix_offsets", OFFSETS, [8]),
    ("prefix_offsets", tensor(0), [0]),
    ("max_segment", OFFSETS, [5]),
    ("max_segment", tensor(), [0]),
    ("in_range", tensor(2, 5), [2, 6]),
    ("in_range", tensor(), [1, 0]),
    ("in_range", tensor(1, 2, 3, 4, width=2), [1, 5]),
    ("sums_to", tensor(1, 2, 3), [6]),
    ("sums_to", tensor(), [0]),
    ("exclusive_prefix_of", tensor(0, 3, 3), [[3, 0, 5]]),
    ("exclusive_prefix_of", tensor(0, 3, 3), [tensor(3, 0, 5)]),
    ("exclusive_prefix_of", tensor(), [[]]),
    ("indices_within", tensor(0, 2, 2, 4, width=2), [OFFSETS]),
    ("indices_within", Values((0, 2), "int32", array("i")), [OFFSETS]),
    ("chunk_offsets_of", tensor(0, 2, 2, 5), [OFFSETS, 2]),
    ("attn.paged_fits", tensor(5, 8, 3), [OFFSETS, 8]),
    ("moe.layout_valid", tensor(3, 0), [masked(3), 6, 2]),
    ("moe.layout_valid", tensor(2, 2, 5), [TIGHT, 5, 3]),
    ("moe.layout_valid", tensor(0, 0, 2), [ROWS, 3, 3]),
    ("moe.layout_valid", tensor(3, 4, 9), [ALIGNED, 12, 3]),
    ("moe.layout_valid", tensor(0, -1, 2, 2, -1, -1), [TILES, 6, 3]),
]

FAILS = [
    ("prefix_offsets", tensor(), [0]),
    ("prefix_offsets", tensor(1, 8), [8]),
    ("prefix_offsets", tensor(0, 5, 4, 8), [8]),
    ("prefix_offsets", OFFSETS, [9]),
    ("prefix_offsets", tensor(0, 1, width=2), [1]),
    ("max_segment", OFFSETS, [4]),
    ("in_range", tensor(1, 5), [2, 6]),
    ("in_range", tensor(2, 6), [2, 6]),
    ("sums_to", tensor(1, 2), [4]),
    ("exclusive_prefix_of", tensor(0, 3, 4), [[3, 0, 5]]),
    ("exclusive_prefix_of", tensor(0, 3), [[3, 0, 5]]),
    ("exclusive_prefix_of", tensor(0), [[]]),
    ("indices_within", tensor(0, 3, width=2), [OFFSETS]),
    ("indices_within", tensor(1, 0, width=2), [OFFSETS]),
    ("indices_within", tensor(3, 0, width=2), [OFFSETS]),
    ("indices_within", tensor(-1, 0, width=2), [OFFSETS]),
    ("indices_within", tensor(0, -1, width=2), [OFFSETS]),
    ("indices_within", tensor(0, 0, 0, width=3), [OFFSETS]),
    ("indices_within", tensor(0, 0), [OFFSETS]),
    ("chunk_offsets_of", tensor(0, 2, 2, 4), [OFFSETS, 2]),
    ("chunk_offsets_of", tensor(0, 2, 2), [OFFSETS, 2]),
    ("chunk_offsets_of", tensor(0, 2, 2, 5), [OFFSETS, 0]),
    ("attn.paged_fits", tensor(6, 8, 3), [OFFSETS, 8]),
    ("attn.paged_fits", tensor(5, 8), [OFFSETS, 8]),
    ("moe.layout_valid", tensor(4, 0), [masked(3), 6, 2]),
    ("moe.layout_valid", tensor(-1, 0), [masked(3), 6, 2]),
    ("moe.layout_valid", tensor(3), [masked(3), 6, 2]),
    ("moe.layout_valid", tensor(3, 0), [masked(3), 7, 2]),
    ("moe.layout_valid", tensor(2, 1, 5), [TIGHT, 5, 3]),
    ("moe.layout_valid", tensor(2, 2, 4), [TIGHT, 5, 3]),
    ("moe.layout_valid", tensor(0, 2, 1), [ROWS, 3, 3]),
    ("moe.layout_valid", tensor(0, 1, 3), [ROWS, 3, 3]),
    ("moe.layout_valid", tensor(3, 3, 9), [ALIGNED, 12, 3]),
    ("moe.layout_valid", tensor(3, 4, 13), [ALIGNED, 12, 3]),
    ("moe.layout_valid", tensor(3, 4, 9), [ALIGNED, 11, 3]),
    ("moe.layout_valid", tensor(0, 1, 2, 2, 2, 2), [TILES, 6, 3]),
    ("moe.layout_valid", tensor(-1, 0, 2, 2, 2, 2), [TILES, 6, 3]),
    ("moe.layout_valid", tensor(1, 1, 0, 0, 2, 2), [TILES, 6, 3]),
    ("moe.layout_valid", tensor(0, 0, 1, 1, 3, 3), [TILES, 6, 3]),
]


@pytest.mark.parametrize(("name", "contents", "arguments"), HOLDS)
@pytest.mark.rule("PRD-1", "PRD-2")
def test_holds(name: str, contents: Values, arguments: list[object]) -> None:
    assert PREDICATES[name].holds(contents, arguments) is True


@pytest.mark.parametrize(("name", "contents", "arguments"), FAILS)
@pytest.mark.rule("PRD-1", "PRD-2")
def test_does_not_hold(name: str, contents: Values, arguments: list[object]) -> None:
    assert PREDICATES[name].holds(contents, arguments) is False


def test_every_predicate_is_tested_both_ways() -> None:
    assert {name for name, *_ in HOLDS} == {name for name, *_ in FAILS} == set(PREDICATES)
