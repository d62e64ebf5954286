"""What each generator makes: the shape of its result, and its contents in bulk.

In: the arguments of a call, and for contents a `Builder`. Out: a shape, which also checks the
domain, and an array. The table that names them is `generators.GENERATORS`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import TypeAlias

from tileops.manifest.language.arrays import Builder
from tileops.manifest.language.symbolic import DomainError

Shape: TypeAlias = tuple[int, ...]
Ints: TypeAlias = Sequence[int]


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


def chunks(lengths: Ints, chunk: int) -> list[int]:
    return [-(-length // chunk) for length in lengths]


# --- lengths --------------------------------------------------------------------------------------


def list_shape(items: Ints) -> Shape:
    _at_least(0, items, "an item")
    return (len(items),)


def prefix_shape(items: Ints) -> Shape:
    _at_least(0, items, "an item")
    return (len(items) + 1,)


def exclusive_shape(items: Ints) -> Shape:
    _filled(items, "the lengths")
    return list_shape(items)


def chunk_shape(lengths: Ints, chunk: int) -> Shape:
    _positive(chunk=chunk)
    _at_least(0, lengths, "a length")
    return (sum(chunks(lengths, chunk)), 2)


def chunk_offsets_shape(lengths: Ints, chunk: int) -> Shape:
    _positive(chunk=chunk)
    return prefix_shape(lengths)


def tokens_shape(lengths: Ints) -> Shape:
    _filled(lengths, "the lengths")
    _at_least(1, lengths, "a length")
    return (sum(lengths), 2)


def positions_shape(lengths: Ints) -> Shape:
    return tokens_shape(lengths)[:1]


def prefix(build: Builder, items: Ints) -> array[int]:
    return build.of(accumulate(items, initial=0))


def exclusive(build: Builder, items: Ints) -> array[int]:
    return build.of(accumulate(items[:-1], initial=0))


def positions(build: Builder, lengths: Ints) -> array[int]:
    base = build.counting(max(lengths))
    result = build.of()
    for length in lengths:
        result.extend(base[:length])
    return result


def windows_shape(lengths: Ints, first: int, count: int, side: str) -> Shape:
    _at_least(0, lengths, "a length")
    _demand(
        first >= 0 and count >= 0 and first + count <= sum(lengths),
        f"positions {first} to {first + count} must lie in [0, {sum(lengths)}]",
    )
    return (count,)


def windows(build: Builder, lengths: Ints, first: int, count: int, side: str) -> array[int]:
    if side == "end":
        return build.of(range(first + 1, first + count + 1))
    result, start = build.of(), 0
    for length in lengths:
        inside = min(start + length, first + count) - max(start, first)
        result.extend(build.constant(start, max(inside, 0)))
        start += length
    return result


# --- random ids -----------------------------------------------------------------------------------


def table_shape(batch: int, width: int, pool: int) -> Shape:
    _demand(batch >= 0, f"batch must not be negative, got {batch}")
    _demand(0 < width <= pool, f"width must lie in (0, {pool}], got {width}")
    return (batch, width)


def table(build: Builder, batch: int, width: int, pool: int) -> array[int]:
    if batch * width <= pool:
        return build.of(build.walk(batch * width, pool))
    return build.of(chain.from_iterable(build.walk(width, pool) for _ in range(batch)))


def topk_shape(rows: int, k: int, experts: int) -> Shape:
    _demand(rows >= 0, f"rows must not be negative, got {rows}")
    _demand(0 < k <= experts, f"k must lie in (0, {experts}], got {k}")
    return (rows, k)


def topk(build: Builder, rows: int, k: int, experts: int) -> array[int]:
    def draw() -> Iterator[array[int]]:
        while True:
            yield build.of(build.random.sample(range(experts), k))

    return build.rows(rows, draw())


def ids_shape(rows: int, width: int, upper: int) -> Shape:
    _positive(rows=rows, width=width, upper=upper)
    return (rows, width)


def ids(build: Builder, rows: int, width: int, upper: int, least: int = 0) -> array[int]:
    # Pieces keep the number of draws small where the rows are short and many.
    size = min(rows * width, 256)

    def draw() -> Iterator[array[int]]:
        while True:
            yield build.of(build.random.choices(range(least, least + upper), k=size))

    return build.rows(-(-rows * width // size), draw())[: rows * width]


def sample_shape(n: int, hi: int) -> Shape:
    _demand(0 <= n <= hi, f"n must lie in [0, {hi}], got {n}")
    return (n,)


def counts_shape(tokens: int, heads: int, selected: int) -> Shape:
    _positive(tokens=tokens, heads=heads, selected=selected)
    return (tokens, heads)


def counts(build: Builder, tokens: int, heads: int, selected: int) -> array[int]:
    return ids(build, tokens, heads, selected, least=1)


# --- sparse attention -----------------------------------------------------------------------------


def causal_shape(
    batch: int, tokens: int, heads: int, k: int, extent: int, start: int, stride: int
) -> Shape:
    _positive(B=batch, S=tokens, H_kv=heads, K=k, extent=extent, stride=stride)
    _demand(start >= 0, f"start must not be negative, got {start}")
    return (batch, tokens, heads, k)


def causal(
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


def sparse_shape(lengths: Ints, queries: int, k: int) -> Shape:
    _positive(queries=queries, k=k)
    _at_least(queries, lengths, "a length")
    return (len(lengths), queries, k)


def sparse(build: Builder, lengths: Ints, queries: int, k: int) -> array[int]:
    base, padding = build.counting(max(lengths, default=0)), build.constant(-1, k)
    result = build.of()
    for length in lengths:
        for query in range(queries):
            bound = length - queries + query + 1
            count = min(k, bound)
            build.stride(result, base, count, bound)
            result.extend(padding[count:])
    return result


def blocks_shape(lengths: Ints, block: int, selected: int, heads: int) -> Shape:
    _positive(block=block, selected=selected, heads=heads)
    _at_least(1, lengths, "a length")
    return (sum(lengths), heads, selected)


def blocks(build: Builder, lengths: Ints, block: int, selected: int, heads: int) -> array[int]:
    base = build.counting(max(chunks(lengths, block), default=0))
    padding, result = build.constant(sum(lengths), selected), build.of()
    for length in lengths:
        for token in range(length):
            bound = max(-(-token // block), 1)
            count = min(selected, bound)
            for _ in range(heads):
                build.stride(result, base, count, bound, ascending=True)
                result.extend(padding[count:])
    return result


def full_shape(shape: Ints, value: int) -> Shape:
    _at_least(0, shape, "an axis")
    return tuple(shape)
