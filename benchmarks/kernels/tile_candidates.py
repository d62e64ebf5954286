"""Further tiles for tile_search.py to try: what the tables of GEMM and attention might hold.

In: a call and its shape. Out: (name, maker) pairs; a maker turns a set of inputs into a launch.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from tileops.attention import gqa_dense, gqa_dense_split
from tileops.attention import tiles as attention_tiles
from tileops.gemm import gemm, gemm_descriptor
from tileops.gemm import tiles as gemm_tiles
from tileops.runtime.launch import Call
from tileops.runtime.processors import processors


def split_candidates(call: Call, shape: Sequence[Any], flags: dict[str, bool]) -> Iterable[Any]:
    """Tiles and split counts for few rows."""
    m, n, k = shape[:3]
    block_m = 16 if m <= 16 else 32 if m <= 32 else 64 if m <= 64 else 128
    for block_n, block_k, warps, stages in [
        (32, 128, 4, 4), (32, 256, 4, 4), (64, 128, 4, 3), (64, 128, 4, 5), (64, 256, 4, 3),
        (64, 128, 8, 4), (128, 64, 4, 4), (128, 64, 4, 6), (128, 128, 4, 3), (128, 128, 8, 4),
    ]:  # fmt: skip
        tile = gemm_tiles.Tile(block_m, block_n, block_k, warps, stages)
        blocks = gemm_tiles.ceil_div(k, block_k)
        for share in (1, 2, 3):
            splits = max(1, round(share * processors(call) / tile.count(m, n)))
            length = gemm_tiles.ceil_div(blocks, splits) * block_k
            name = f"{tile} split_length={length} ({tile.count(m, n)} x {splits})"
            yield (
                name,
                lambda s, tile=tile, length=length: functools.partial(
                    gemm.run_tiles, call, *s, tile, split_length=length, **flags
                ),
            )


def tile_candidates(call: Call, m: int, n: int, flags: dict[str, bool]) -> Iterable[Any]:
    """Tiles of the descriptor kernel: fused loops, splits of K, the transposed product."""
    for block_m, block_n, block_k, warps, stages in [
        (128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (256, 128, 64, 8, 3), (256, 128, 64, 8, 4),
        (128, 128, 64, 8, 4), (128, 128, 64, 4, 4), (128, 128, 128, 8, 3), (128, 128, 64, 8, 5),
        (64, 256, 64, 4, 4), (64, 128, 64, 4, 5), (64, 128, 128, 4, 3), (64, 64, 128, 4, 4),
        (128, 64, 128, 8, 4), (128, 16, 128, 4, 5), (64, 16, 128, 4, 8), (64, 32, 128, 4, 7),
        (64, 64, 128, 4, 6),
    ]:  # fmt: skip
        for swap, flatten, splits in itertools.product((False, True), (False, True), (1, 2, 4)):
            few = block_n if swap else block_m
            if (swap and m > 64) or (m <= 64 and not m <= few <= 2 * max(m, 16)):
                continue
            tile = gemm_tiles.Tile(block_m, block_n, block_k, warps, stages)
            if splits > 1 and (flatten or tile.count(*((n, m) if swap else (m, n))) > 100):
                continue
            plan = gemm_tiles.Plan(tile, splits, swap)
            yield (
                f"{plan} flatten={flatten}",
                lambda s, plan=plan, flatten=flatten: functools.partial(
                    gemm_descriptor.run_descriptor, call, *s, plan, flatten=flatten, **flags
                ),
            )


def prefill_candidates(call: Call, shape: Sequence[Any], masking: Any, first: Any) -> Iterable[Any]:
    """Tiles of queries, through descriptors and pointers."""
    width = attention_tiles.padded(shape[5])
    everything = gqa_dense.Split(0, shape[2])
    for block_m, block_n, warps, stages in [
        (128, 128, 8, 2), (128, 128, 8, 3), (128, 64, 8, 2), (128, 64, 8, 3), (128, 64, 4, 3),
        (128, 128, 4, 2), (64, 128, 4, 2), (64, 64, 4, 3), (64, 128, 4, 3), (128, 32, 8, 3),
        (256, 64, 8, 2),
    ]:  # fmt: skip
        if width == 256 and block_m * block_n > 128 * 64:
            continue
        tile = attention_tiles.Tile(block_m, block_n, warps, stages)
        for descriptor in (True, False):
            if not descriptor and (block_m, stages) != (128, 2):
                continue
            yield f"{tile} descriptor={descriptor}", lambda s, tile=tile, descriptor=descriptor: (
                functools.partial(
                    gqa_dense.run_kernel, call, s[0], None, *s[1:], masking, tile, everything,
                    pack=False, descriptor=descriptor,
                )
            )  # fmt: skip


def decode_candidates(call: Call, shape: Sequence[Any], masking: Any, first: Any) -> Iterable[Any]:
    """Tiles and split counts for few queries."""
    rows = shape[1] * shape[3] // shape[4]
    block_m = 16 if rows <= 16 else 32 if rows <= 32 else 64
    for block_n, warps, stages in [
        (32, 4, 3), (64, 4, 2), (64, 4, 3), (64, 4, 4), (128, 4, 2), (128, 4, 3), (128, 8, 2),
        (64, 2, 3), (256, 8, 2),
    ]:  # fmt: skip
        tile = attention_tiles.Tile(block_m, block_n, warps, stages)
        base = gqa_dense_split.choose_split(call, first[1], first[2], masking, tile)
        for factor in (1, 2, 4):
            blocks = -(-(shape[2] - base.begin) // block_n)
            length = max(1, -(-blocks // (base.count * factor)))
            split = gqa_dense.Split(base.begin, length * block_n, -(-blocks // length))
            if split.count > 128:
                continue
            for descriptor in (False, True):
                name = f"{tile} splits={split.count} descriptor={descriptor}"
                yield name, lambda s, tile=tile, split=split, descriptor=descriptor: (
                    functools.partial(
                        gqa_dense_split.run_split, call, s[0], None, *s[1:], masking, tile, split,
                        descriptor=descriptor,
                    )
                )  # fmt: skip
