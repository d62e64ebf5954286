"""Every generator: an example, what its values always satisfy, and what lies outside its domain."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileops.manifest.adt import ADTValue
from tileops.manifest.language.arrays import Builder, Values
from tileops.manifest.language.generators import GENERATORS, seed_of
from tileops.manifest.language.predicates import PREDICATES
from tileops.manifest.language.symbolic import DomainError


def make(name: str, *arguments: object, dtype: str = "int32", seed: str = "seed") -> Values:
    return GENERATORS[name].generate(arguments, dtype, seed)


def rows(values: Values) -> list[list[int]]:
    """The values with the last axis apart."""
    width = values.shape[-1]
    return [list(values.data[at : at + width]) for at in range(0, len(values.data), width)]


def contiguous(packing: str, metadata_kind: str, alignment: int = 1) -> ADTValue:
    fields = {"packing": packing, "metadata_kind": metadata_kind, "alignment": alignment}
    return ADTValue("contiguous", fields)


def masked(max_m: int) -> ADTValue:
    return ADTValue("masked", {"max_m": max_m})


EXAMPLES: list[tuple[str, tuple[object, ...], tuple[int, ...], list[int]]] = [
    ("as_tensor", ([3, 0, 2],), (3,), [3, 0, 2]),
    ("as_tensor", ([],), (0,), []),
    ("prefix_sum", ([3, 0, 2],), (4,), [0, 3, 3, 5]),
    ("prefix_sum", ([],), (1,), [0]),
    ("exclusive_prefix_sum", ([3, 0, 2],), (3,), [0, 3, 3]),
    ("chunk_indices", ([5, 0, 2], 2), (4, 2), [0, 0, 0, 1, 0, 2, 2, 0]),
    ("chunk_offsets", ([5, 0, 2], 2), (4,), [0, 3, 3, 4]),
    ("token_indices", ([2, 1],), (3, 2), [0, 0, 0, 1, 1, 0]),
    ("packed_positions", ([3, 2],), (5,), [0, 1, 2, 0, 1]),
    ("key_windows", ([3, 0, 4], 2, 3, "start"), (3,), [0, 3, 3]),
    ("key_windows", ([3, 0, 4], 2, 3, "end"), (3,), [3, 4, 5]),
    ("full", ((2, 3), -7), (2, 3), [-7] * 6),
    ("full", ((), 4), (), [4]),
    ("moe.layout_metadata", (masked(5), 15, 3), (3,), [5, 2, 5]),
    ("moe.layout_metadata", (contiguous("tight", "physical_psum"), 7, 3), (3,), [3, 5, 7]),
    ("moe.layout_metadata", (contiguous("tight", "per_row"), 4, 3), (4,), [0, 0, 1, 2]),
    ("moe.layout_metadata", (contiguous("aligned", "per_row", 2), 6, 2), (6,), [0, 0, 0, 0, 1, 1]),
    (
        "moe.layout_metadata",
        (contiguous("aligned", "physical_psum", 4), 12, 4),
        (4,),
        [2, 6, 10, 12],
    ),
    ("moe.masked_routed_metadata", (masked(9), 4, 12), (4,), [4, 2, 4, 2]),
    ("moe.masked_routed_metadata", (masked(9), 4, 2), (4,), [0, 1, 0, 1]),
]


@pytest.mark.parametrize(("name", "arguments", "shape", "data"), EXAMPLES)
@pytest.mark.rule("GEN-1")
def test_example(
    name: str, arguments: tuple[object, ...], shape: tuple[int, ...], data: list[int]
) -> None:
    for dtype in ("int32", "int64"):
        values = make(name, *arguments, dtype=dtype)
        assert (values.shape, list(values.data), values.dtype) == (shape, data, dtype)


OUTSIDE: list[tuple[str, tuple[object, ...], str]] = [
    ("as_tensor", ([1, -1],), "at least 0, got -1"),
    ("prefix_sum", ([-2],), "at least 0, got -2"),
    ("exclusive_prefix_sum", ([],), "must not be empty"),
    ("exclusive_prefix_sum", ([-1],), "at least 0"),
    ("chunk_indices", ([4], 0), "chunk must be positive, got 0"),
    ("chunk_indices", ([-4], 2), "at least 0"),
    ("chunk_offsets", ([4], -1), "chunk must be positive"),
    ("token_indices", ([],), "must not be empty"),
    ("token_indices", ([3, 0],), "at least 1, got 0"),
    ("packed_positions", ([0],), "at least 1"),
    ("paged_block_table", (2, 0, 4), "width must lie in (0, 4], got 0"),
    ("paged_block_table", (2, 5, 4), "width must lie in (0, 4], got 5"),
    ("paged_block_table", (-1, 2, 4), "must not be negative"),
    ("topk_ids", (3, 0, 4), "k must lie in (0, 4]"),
    ("topk_ids", (3, 5, 4), "k must lie in (0, 4]"),
    ("random_ids", (3, 0, 4), "width must be positive"),
    ("random_ids", (3, 1, 0), "upper must be positive"),
    ("sample_indices", (5, 4), "n must lie in [0, 4], got 5"),
    ("sample_indices", (-1, 4), "n must lie in [0, 4]"),
    ("causal_topk_indices", (1, 2, 1, 2, 4, -1, 1), "start must not be negative"),
    ("causal_topk_indices", (1, 2, 1, 2, 4, 0, 0), "stride must be positive"),
    ("attn.sparse_topk_positions", ([4, 2], 3, 2), "at least 3, got 2"),
    ("attn.sparse_topk_positions", ([4], 0, 2), "queries must be positive"),
    ("nsa_block_indices", ([4, 0], 2, 2, 1), "at least 1, got 0"),
    ("nsa_block_indices", ([4], 2, 0, 1), "selected must be positive"),
    ("nsa_block_counts", (0, 1, 1), "tokens must be positive"),
    ("key_windows", ([3], 1, 3, "end"), "must lie in [0, 3]"),
    ("key_windows", ([3], -1, 1, "end"), "must lie in [0, 3]"),
    ("full", ((2, -1), 0), "at least 0, got -1"),
    ("moe.layout_metadata", (masked(5), 14, 3), "must be 3 * 5, got 14"),
    ("moe.layout_metadata", (contiguous("aligned", "per_row", 4), 6, 2), "tiles of 4, got 6"),
    ("moe.layout_metadata", (contiguous("tight", "per_row"), 6, 0), "must have experts"),
    ("moe.masked_routed_metadata", (masked(3), 4, 12), "at most 3 rows, got 4"),
    ("moe.masked_routed_metadata", (contiguous("tight", "per_row"), 4, 1), "must be masked"),
]


@pytest.mark.parametrize(("name", "arguments", "sentence"), OUTSIDE)
@pytest.mark.rule("GEN-4")
def test_outside_the_domain(name: str, arguments: tuple[object, ...], sentence: str) -> None:
    with pytest.raises(DomainError) as caught:
        make(name, *arguments)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_generator_has_an_example_or_a_property() -> None:
    random = {name for name, item in GENERATORS.items() if item.seeded}
    assert {name for name, *_ in EXAMPLES} | random == set(GENERATORS)
    assert {name for name, *_ in OUTSIDE} == set(GENERATORS)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("prefix_sum", ([2**31 - 1, 1],)),
        ("as_tensor", ([2**31],)),
        ("full", ((1,), -(2**31) - 1)),
        ("full", ((0,), 2**31)),
        ("sample_indices", (64, 2**40)),
    ],
)
@pytest.mark.rule("GEN-4")
def test_overflow_of_the_dtype_raises(name: str, arguments: tuple[object, ...]) -> None:
    with pytest.raises(DomainError, match="must fit int32"):
        make(name, *arguments)
    make(name, *arguments, dtype="int64")


# --- seeded generators ----------------------------------------------------------------------------

SEEDED: list[tuple[str, tuple[object, ...]]] = [
    ("paged_block_table", (8, 16, 200)),
    ("topk_ids", (50, 4, 64)),
    ("random_ids", (10, 10, 1000)),
    ("sample_indices", (40, 1000)),
    ("causal_topk_indices", (1, 32, 2, 8, 64, 16, 1)),
    ("attn.sparse_topk_positions", ([100, 50], 2, 8)),
    ("nsa_block_indices", ([100, 60], 4, 4, 2)),
    ("nsa_block_counts", (40, 2, 16)),
]


@pytest.mark.parametrize(("name", "arguments"), SEEDED)
@pytest.mark.rule("GEN-5")
def test_a_seed_gives_the_same_values(name: str, arguments: tuple[object, ...]) -> None:
    first = make(name, *arguments, seed=seed_of(1, "Op", "x"))
    make("topk_ids", 3, 2, 9)
    assert make(name, *arguments, seed=seed_of(1, "Op", "x")) == first
    for other in (seed_of(2, "Op", "x"), seed_of(1, "Op", "y"), seed_of(1, "Other", "x")):
        assert make(name, *arguments, seed=other) != first


@pytest.mark.rule("GEN-5")
def test_only_the_seeded_draw() -> None:
    assert {name for name, item in GENERATORS.items() if item.seeded} == {n for n, _ in SEEDED}
    for name, arguments, _, _ in EXAMPLES:
        assert make(name, *arguments, seed="a") == make(name, *arguments, seed="b")


small = st.integers(1, 12)


@given(small, small, st.integers(0, 40), st.integers())
def test_paged_block_table(batch: int, width: int, more: int, seed: int) -> None:
    pool = width + more
    table = rows(make("paged_block_table", batch, width, pool, seed=str(seed)))
    assert all(len(set(row)) == width and 0 <= min(row) <= max(row) < pool for row in table)
    if batch * width <= pool:
        assert len({page for row in table for page in row}) == batch * width


@given(st.integers(0, 30), small, st.integers(0, 20), st.integers())
def test_topk_ids(count: int, k: int, more: int, seed: int) -> None:
    values = make("topk_ids", count, k, k + more, seed=str(seed))
    assert values.shape == (count, k)
    assert all(len(set(row)) == k and max(row) < k + more for row in rows(values))


@given(small, small, small, st.integers())
def test_random_ids_and_counts(count: int, width: int, upper: int, seed: int) -> None:
    ids = make("random_ids", count, width, upper, seed=str(seed))
    assert len(ids.data) == count * width and set(ids.data) <= set(range(upper))
    counts = make("nsa_block_counts", count, width, upper, seed=str(seed))
    assert set(counts.data) <= set(range(1, upper + 1))


@given(st.integers(0, 60), st.integers(0, 60), st.integers())
def test_sample_indices(n: int, more: int, seed: int) -> None:
    data = make("sample_indices", n, n + more, seed=str(seed)).data
    assert len(data) == len(set(data)) == n and set(data) <= set(range(n + more))


@given(*[st.integers(1, 6)] * 5, st.integers(0, 9), st.integers(1, 3), st.integers())
@settings(max_examples=200)
def test_causal_topk_indices(
    batch: int, tokens: int, heads: int, k: int, extent: int, start: int, stride: int, seed: int
) -> None:
    arguments = (batch, tokens, heads, k, extent, start, stride)
    table = rows(make("causal_topk_indices", *arguments, seed=str(seed)))
    for at, row in enumerate(table):
        token = at // heads % tokens
        bound = min(max(1, (token + start) // stride), extent)
        count = min(k, bound)
        assert len(set(row[:count])) == count and set(row[:count]) <= set(range(bound))
        assert row[count:] == [extent] * (k - count)


@given(st.lists(st.integers(3, 9), max_size=4), st.integers(1, 3), small, st.integers())
def test_sparse_topk_positions(lengths: list[int], queries: int, k: int, seed: int) -> None:
    values = make("attn.sparse_topk_positions", lengths, queries, k, seed=str(seed))
    assert values.shape == (len(lengths), queries, k)
    for at, row in enumerate(rows(values)):
        last = lengths[at // queries] - queries + at % queries
        kept = [item for item in row if item != -1]
        assert len(kept) == min(k, last + 1) == len(set(kept))
        assert set(kept) <= set(range(last + 1)) and row[len(kept) :] == [-1] * (k - len(kept))


@given(st.lists(small, min_size=1, max_size=4), st.integers(1, 4), small, small, st.integers())
def test_nsa_block_indices(
    lengths: list[int], block: int, selected: int, heads: int, seed: int
) -> None:
    values = make("nsa_block_indices", lengths, block, selected, heads, seed=str(seed))
    total = sum(lengths)
    assert values.shape == (total, heads, selected)
    tokens = [token for length in lengths for token in range(length) for _ in range(heads)]
    for token, row in zip(tokens, rows(values), strict=True):
        bound = max(math.ceil(token / block), 1)
        kept = row[: min(selected, bound)]
        assert all(a < b for a, b in pairwise(kept)) and set(kept) <= set(range(bound))
        assert row[len(kept) :] == [total] * (selected - len(kept))


# --- lengths and layouts --------------------------------------------------------------------------


@given(st.lists(st.integers(0, 20), max_size=8), st.integers(1, 5))
def test_what_lengths_generate_satisfies_its_predicate(lengths: list[int], chunk: int) -> None:
    offsets = make("prefix_sum", lengths)
    assert PREDICATES["prefix_offsets"].holds(offsets, [sum(lengths)])
    assert PREDICATES["max_segment"].holds(offsets, [max(lengths, default=0)])
    chunks = make("chunk_offsets", lengths, chunk)
    assert PREDICATES["chunk_offsets_of"].holds(chunks, [offsets, chunk])
    pieces = make("chunk_indices", lengths, chunk)
    assert pieces.shape[0] == chunks.data[-1]
    assert PREDICATES["indices_within"].holds(pieces, [offsets])
    if lengths:
        starts = make("exclusive_prefix_sum", lengths)
        assert PREDICATES["exclusive_prefix_of"].holds(starts, [lengths])
    positive = [length + 1 for length in lengths] or [1]
    tokens = make("token_indices", positive)
    assert PREDICATES["indices_within"].holds(tokens, [make("prefix_sum", positive)])
    assert list(tokens.data[1::2]) == list(make("packed_positions", positive).data)


@given(st.integers(0, 12), st.integers(1, 6), st.integers(1, 5), st.booleans(), st.booleans())
def test_layout_metadata_is_valid(
    tiles: int, experts: int, alignment: int, aligned: bool, per_row: bool
) -> None:
    kind = "per_row" if per_row else "physical_psum"
    alignment = alignment if aligned else 1
    layout = contiguous("aligned" if aligned else "tight", kind, alignment)
    values = make("moe.layout_metadata", layout, tiles * alignment, experts)
    valid = PREDICATES["moe.layout_valid"]
    assert valid.holds(values, [layout, tiles * alignment, experts])
    mask = masked(alignment)
    values = make("moe.layout_metadata", mask, experts * alignment, experts)
    assert valid.holds(values, [mask, experts * alignment, experts])


@given(st.integers(1, 40), st.integers(0, 200))
def test_masked_routing_keeps_every_token(experts: int, tokens: int) -> None:
    values = make("moe.masked_routed_metadata", masked(1000), experts, tokens)
    assert sum(values.data) == tokens
    idle = round(experts * math.exp(-tokens / experts))
    assert sum(count == 0 for count in values.data) >= idle


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("count", [0, 1, 65536, 65537, 200_001])
def test_counting(dtype: str, count: int) -> None:
    import random

    assert list(Builder(dtype, random.Random(0)).counting(count)) == list(range(count))
