"""The generators: what the `values` of a metadata tensor may call, one implementation each.

In: the arguments of a call, a dtype, a seed. Out: `Values`. A generator states its result's shape
apart from its contents, so that a row is typed without making them. To add one: a row in
`GENERATORS`, a test, a row in the language reference.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from tileops.manifest.language import contents, moe_layout
from tileops.manifest.language.arrays import Builder, Values
from tileops.manifest.language.kinds import INT, SEQ_INT, TENSOR, ADTKind, EnumKind
from tileops.manifest.language.primitives import Formal, Primitive
from tileops.manifest.language.symbolic import DomainError

Shape: TypeAlias = tuple[int, ...]
Ints: TypeAlias = Sequence[int]


#: More contents than this are nobody's workload, and would take minutes and all of the memory.
MAX_VALUES = 1 << 27


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

    def sizes(self, arguments: Sequence[Any]) -> Shape:
        """The shape of the result. Raises `DomainError`."""
        try:
            shape = self.shape(*arguments)
        except OverflowError:
            raise DomainError(f"{self.name} must take smaller numbers than these") from None
        if prod(shape) > MAX_VALUES:
            raise DomainError(f"a tensor must have at most {MAX_VALUES} values, got {list(shape)}")
        return shape

    def generate(self, arguments: Sequence[Any], dtype: str, seed: str) -> Values:
        """The values of one call. Raises `DomainError`, also where the dtype overflows."""
        shape = self.sizes(arguments)
        build = Builder(dtype, random.Random(seed))
        try:
            data = self.fill(build, *arguments)
        except OverflowError:
            raise DomainError(f"{self.name} must take smaller numbers than these") from None
        if len(data) != prod(shape):
            raise AssertionError(f"{self.name} filled {len(data)} values of {list(shape)}")
        return Values(shape, dtype, data)


def seed_of(workload_seed: int, op: str, tensor: str) -> str:
    """The seed of one tensor's private random generator."""
    return f"{workload_seed}/{op}/{tensor}"


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
        _g("as_tensor", (_LENGTHS,), 1, contents.list_shape, Builder.of),
        _g("prefix_sum", (_LENGTHS,), 1, contents.prefix_shape, contents.prefix),
        _g("exclusive_prefix_sum", (_LENGTHS,), 1, contents.exclusive_shape, contents.exclusive),
        _g(
            "chunk_indices",
            (_LENGTHS, *_ints("chunk")),
            2,
            contents.chunk_shape,
            lambda build, lengths, chunk: build.pairs(contents.chunks(lengths, chunk)),
        ),
        _g(
            "chunk_offsets",
            (_LENGTHS, *_ints("chunk")),
            1,
            contents.chunk_offsets_shape,
            lambda build, lengths, chunk: contents.prefix(build, contents.chunks(lengths, chunk)),
        ),
        _g("token_indices", (_LENGTHS,), 2, contents.tokens_shape, Builder.pairs),
        _g("packed_positions", (_LENGTHS,), 1, contents.positions_shape, contents.positions),
        _g(
            "paged_block_table",
            _ints("batch", "width", "pool"),
            2,
            contents.table_shape,
            contents.table,
            seeded=True,
        ),
        _g(
            "topk_ids",
            _ints("rows", "k", "experts"),
            2,
            contents.topk_shape,
            contents.topk,
            seeded=True,
        ),
        _g(
            "random_ids",
            _ints("rows", "width", "upper"),
            2,
            contents.ids_shape,
            contents.ids,
            seeded=True,
        ),
        _g(
            "sample_indices",
            _ints("n", "hi"),
            1,
            contents.sample_shape,
            lambda build, n, hi: build.of(build.walk(n, hi)),
            seeded=True,
        ),
        _g(
            "causal_topk_indices",
            _ints("B", "S", "H_kv", "K", "extent", "start", "stride"),
            4,
            contents.causal_shape,
            contents.causal,
            seeded=True,
        ),
        _g(
            "attn.sparse_topk_positions",
            (_LENGTHS, *_ints("queries", "k")),
            3,
            contents.sparse_shape,
            contents.sparse,
            seeded=True,
        ),
        _g(
            "nsa_block_indices",
            (_LENGTHS, *_ints("block", "selected", "heads")),
            3,
            contents.blocks_shape,
            contents.blocks,
            seeded=True,
        ),
        _g(
            "nsa_block_counts",
            _ints("tokens", "heads", "selected"),
            2,
            contents.counts_shape,
            contents.counts,
            seeded=True,
        ),
        _g(
            "key_windows",
            (_LENGTHS, *_ints("first", "count"), Formal("side", EnumKind(("start", "end")))),
            1,
            contents.windows_shape,
            contents.windows,
        ),
        _g(
            "full",
            (Formal("shape", SEQ_INT), Formal("value", INT)),
            None,
            contents.full_shape,
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
