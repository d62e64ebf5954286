"""The generators: what the `values` of a metadata tensor may call, one implementation each.

In: the arguments of a call, a dtype, a seed. Out: `Values`. A generator states its result's shape
apart from its contents, so that a row is typed without making them. To add one: a row in
`GENERATORS`, a test, a row in the language reference.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from math import prod
from typing import Any, TypeAlias

from tileops.manifest.language import moe_layout
from tileops.manifest.language.arrays import Builder, Values
from tileops.manifest.language.kinds import INT, SEQ_INT, TENSOR, ADTKind, EnumKind
from tileops.manifest.language.primitives import Formal, Primitive
from tileops.manifest.language.symbolic import DomainError

Shape: TypeAlias = tuple[int, ...]
Ints: TypeAlias = Sequence[int]


@dataclass(frozen=True, slots=True)
class Generator:
    """One member. `rank` is None where the shape argument gives it; `shape` checks the domain."""

    primitive: Primitive
    rank: int | None
    seeded: bool
    shape: Callable[..., Shape]
    fill: Callable[..., array[int]]

    @property
    def name(self) -> str:
        return self.primitive.name

    def generate(self, arguments: Sequence[Any], dtype: str, seed: str) -> Values:
        """The values of one call. Raises `DomainError`, also where the dtype overflows."""
        shape = self.shape(*arguments)
        build = Builder(dtype, random.Random(seed))
        data = self.fill(build, *arguments)
        if len(data) != prod(shape):
            raise AssertionError(f"{self.name} filled {len(data)} values of {list(shape)}")
        return Values(shape, dtype, data)


def seed_of(workload_seed: int, op: str, tensor: str) -> str:
    """The seed of one tensor's private random generator."""
    return f"{workload_seed}/{op}/{tensor}"


# --- domains --------------------------------------------------------------------------------------


def _demand(condition: bool, message: str) -> None:
    if not condition:
        raise DomainError(message)


def _at_least(least: int, items: Ints, what: str) -> None:
    low = min(items, default=least)
    _demand(low >= least, f"{what} must be at least {least}, got {low}")


def _filled(items: Ints, what: str) -> None:
    _demand(len(items) > 0, f"{what} must not be empty")


def _positive(**values: int) -> None:
    for name, value in values.items():
        _demand(value > 0, f"{name} must be positive, got {value}")


def _chunks(lengths: Ints, chunk: int) -> list[int]:
    return [-(-length // chunk) for length in lengths]


# --- lengths --------------------------------------------------------------------------------------


def _list_shape(items: Ints) -> Shape:
    _at_least(0, items, "an item")
    return (len(items),)


def _prefix_shape(items: Ints) -> Shape:
    _at_least(0, items, "an item")
    return (len(items) + 1,)


def _exclusive_shape(items: Ints) -> Shape:
    _filled(items, "the lengths")
    return _list_shape(items)


def _chunk_shape(lengths: Ints, chunk: int) -> Shape:
    _positive(chunk=chunk)
    _at_least(0, lengths, "a length")
    return (sum(_chunks(lengths, chunk)), 2)


def _chunk_offsets_shape(lengths: Ints, chunk: int) -> Shape:
    _positive(chunk=chunk)
    return _prefix_shape(lengths)


def _tokens_shape(lengths: Ints) -> Shape:
    _filled(lengths, "the lengths")
    _at_least(1, lengths, "a length")
    return (sum(lengths), 2)


def _prefix(build: Builder, items: Ints) -> array[int]:
    return build.of(accumulate(items, initial=0))


def _exclusive(build: Builder, items: Ints) -> array[int]:
    return build.of(accumulate(items[:-1], initial=0))


def _positions(build: Builder, lengths: Ints) -> array[int]:
    base = build.counting(max(lengths))
    result = build.of()
    for length in lengths:
        result.extend(base[:length])
    return result


def _windows_shape(lengths: Ints, first: int, count: int, side: str) -> Shape:
    _at_least(0, lengths, "a length")
    _demand(
        first >= 0 and count >= 0 and first + count <= sum(lengths),
        f"positions {first} to {first + count} must lie in [0, {sum(lengths)}]",
    )
    return (count,)


def _windows(build: Builder, lengths: Ints, first: int, count: int, side: str) -> array[int]:
    if side == "end":
        return build.of(range(first + 1, first + count + 1))
    result, start = build.of(), 0
    for length in lengths:
        inside = min(start + length, first + count) - max(start, first)
        result.extend(build.constant(start, max(inside, 0)))
        start += length
    return result


# --- random ids -----------------------------------------------------------------------------------


def _table_shape(batch: int, width: int, pool: int) -> Shape:
    _demand(batch >= 0, f"batch must not be negative, got {batch}")
    _demand(0 < width <= pool, f"width must lie in (0, {pool}], got {width}")
    return (batch, width)


def _table(build: Builder, batch: int, width: int, pool: int) -> array[int]:
    if batch * width <= pool:
        return build.of(build.walk(batch * width, pool))
    return build.of(chain.from_iterable(build.walk(width, pool) for _ in range(batch)))


def _topk_shape(rows: int, k: int, experts: int) -> Shape:
    _demand(rows >= 0, f"rows must not be negative, got {rows}")
    _demand(0 < k <= experts, f"k must lie in (0, {experts}], got {k}")
    return (rows, k)


def _topk(build: Builder, rows: int, k: int, experts: int) -> array[int]:
    def draw() -> Iterator[array[int]]:
        while True:
            yield build.of(build.random.sample(range(experts), k))

    return build.rows(rows, draw())


def _ids_shape(rows: int, width: int, upper: int) -> Shape:
    _positive(rows=rows, width=width, upper=upper)
    return (rows, width)


def _ids(build: Builder, rows: int, width: int, upper: int, least: int = 0) -> array[int]:
    # Pieces keep the number of draws small where the rows are short and many.
    size = min(rows * width, 256)

    def draw() -> Iterator[array[int]]:
        while True:
            yield build.of(build.random.choices(range(least, least + upper), k=size))

    return build.rows(-(-rows * width // size), draw())[: rows * width]


def _sample_shape(n: int, hi: int) -> Shape:
    _demand(0 <= n <= hi, f"n must lie in [0, {hi}], got {n}")
    return (n,)


def _counts_shape(tokens: int, heads: int, selected: int) -> Shape:
    _positive(tokens=tokens, heads=heads, selected=selected)
    return (tokens, heads)


# --- sparse attention -----------------------------------------------------------------------------


def _causal_shape(
    batch: int, tokens: int, heads: int, k: int, extent: int, start: int, stride: int
) -> Shape:
    _positive(B=batch, S=tokens, H_kv=heads, K=k, extent=extent, stride=stride)
    _demand(start >= 0, f"start must not be negative, got {start}")
    return (batch, tokens, heads, k)


def _causal(
    build: Builder,
    batch: int,
    tokens: int,
    heads: int,
    k: int,
    extent: int,
    start: int,
    stride: int,
) -> array[int]:
    base, padding, result = build.counting(extent), build.constant(extent, k), build.of()
    for _ in range(batch):
        for token in range(tokens):
            bound = min(max(1, (token + start) // stride), extent)
            count = min(k, bound)
            for _ in range(heads):
                build.stride(result, base, count, bound)
                result.extend(padding[count:])
    return result


def _sparse_shape(lengths: Ints, queries: int, k: int) -> Shape:
    _positive(queries=queries, k=k)
    _at_least(queries, lengths, "a length")
    return (len(lengths), queries, k)


def _sparse(build: Builder, lengths: Ints, queries: int, k: int) -> array[int]:
    base, padding = build.counting(max(lengths, default=0)), build.constant(-1, k)
    result = build.of()
    for length in lengths:
        for query in range(queries):
            bound = length - queries + query + 1
            count = min(k, bound)
            build.stride(result, base, count, bound)
            result.extend(padding[count:])
    return result


def _blocks_shape(lengths: Ints, block: int, selected: int, heads: int) -> Shape:
    _positive(block=block, selected=selected, heads=heads)
    _at_least(1, lengths, "a length")
    return (sum(lengths), heads, selected)


def _blocks(build: Builder, lengths: Ints, block: int, selected: int, heads: int) -> array[int]:
    base = build.counting(max(_chunks(lengths, block), default=0))
    padding, result = build.constant(sum(lengths), selected), build.of()
    for length in lengths:
        for token in range(length):
            bound = max(-(-token // block), 1)
            count = min(selected, bound)
            for _ in range(heads):
                build.stride(result, base, count, bound, ascending=True)
                result.extend(padding[count:])
    return result


def _full_shape(shape: Ints, value: int) -> Shape:
    _at_least(0, shape, "an axis")
    return tuple(shape)


# --- the table ------------------------------------------------------------------------------------


def _g(
    name: str,
    formals: tuple[Formal, ...],
    rank: int | None,
    shape: Callable[..., Shape],
    fill: Callable[..., array[int]],
    *,
    seeded: bool = False,
) -> Generator:
    primitive = Primitive(name, formals, lambda _: TENSOR, fill)
    return Generator(primitive, rank, seeded, shape, fill)


def _ints(*names: str) -> tuple[Formal, ...]:
    return tuple(Formal(name, INT) for name in names)


_LENGTHS = Formal("lengths", SEQ_INT)
_LAYOUT = Formal("layout", ADTKind("*", ()))

GENERATORS: dict[str, Generator] = {
    generator.name: generator
    for generator in (
        _g("as_tensor", (_LENGTHS,), 1, _list_shape, Builder.of),
        _g("prefix_sum", (_LENGTHS,), 1, _prefix_shape, _prefix),
        _g("exclusive_prefix_sum", (_LENGTHS,), 1, _exclusive_shape, _exclusive),
        _g(
            "chunk_indices",
            (_LENGTHS, *_ints("chunk")),
            2,
            _chunk_shape,
            lambda build, lengths, chunk: build.pairs(_chunks(lengths, chunk)),
        ),
        _g(
            "chunk_offsets",
            (_LENGTHS, *_ints("chunk")),
            1,
            _chunk_offsets_shape,
            lambda build, lengths, chunk: _prefix(build, _chunks(lengths, chunk)),
        ),
        _g("token_indices", (_LENGTHS,), 2, _tokens_shape, Builder.pairs),
        _g("packed_positions", (_LENGTHS,), 1, lambda x: _tokens_shape(x)[:1], _positions),
        _g(
            "paged_block_table",
            _ints("batch", "width", "pool"),
            2,
            _table_shape,
            _table,
            seeded=True,
        ),
        _g("topk_ids", _ints("rows", "k", "experts"), 2, _topk_shape, _topk, seeded=True),
        _g("random_ids", _ints("rows", "width", "upper"), 2, _ids_shape, _ids, seeded=True),
        _g(
            "sample_indices",
            _ints("n", "hi"),
            1,
            _sample_shape,
            lambda build, n, hi: build.of(build.walk(n, hi)),
            seeded=True,
        ),
        _g(
            "causal_topk_indices",
            _ints("B", "S", "H_kv", "K", "extent", "start", "stride"),
            4,
            _causal_shape,
            _causal,
            seeded=True,
        ),
        _g(
            "attn.sparse_topk_positions",
            (_LENGTHS, *_ints("queries", "k")),
            3,
            _sparse_shape,
            _sparse,
            seeded=True,
        ),
        _g(
            "nsa_block_indices",
            (_LENGTHS, *_ints("block", "selected", "heads")),
            3,
            _blocks_shape,
            _blocks,
            seeded=True,
        ),
        _g(
            "nsa_block_counts",
            _ints("tokens", "heads", "selected"),
            2,
            _counts_shape,
            lambda build, tokens, heads, selected: _ids(build, tokens, heads, selected, least=1),
            seeded=True,
        ),
        _g(
            "key_windows",
            (_LENGTHS, *_ints("first", "count"), Formal("side", EnumKind(("start", "end")))),
            1,
            _windows_shape,
            _windows,
        ),
        _g(
            "full",
            (Formal("shape", SEQ_INT), Formal("value", INT)),
            None,
            _full_shape,
            lambda build, shape, value: build.constant(value, prod(shape)),
        ),
        _g(
            "moe.layout_metadata",
            (_LAYOUT, *_ints("rows", "experts")),
            1,
            moe_layout.metadata_shape,
            moe_layout.metadata,
        ),
        _g(
            "moe.masked_routed_metadata",
            (_LAYOUT, *_ints("experts", "tokens")),
            1,
            moe_layout.routed_shape,
            moe_layout.routed_metadata,
        ),
    )
}

__all__ = ["GENERATORS", "Generator", "seed_of"]
