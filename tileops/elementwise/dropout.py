"""Dropout by a seed: which elements stay is a function of the seed and their place alone."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
import triton
import triton.language as tl

from tileops.elementwise.scalars import scalar_argument
from tileops.runtime.launch import Call
from tileops.tiling.config import ceil_div, tile_config
from tileops.tiling.device import accumulator, from_bits, row_offset, widen
from tileops.tiling.strides import rows_of

__all__ = ["launch_dropout"]


@triton.jit
def random_24_bits(seed, index):
    """SplitMix64 of the seed at an index; see reference.py, whose bits these are."""
    z = (index.to(tl.uint64) + 1) * 0x9E3779B97F4A7C15 + tl.cast(seed, tl.uint64)
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    return ((z ^ (z >> 31)) >> 40).to(tl.int32)


@triton.jit(do_not_specialize=["seed", "least", "scale"])
def dropout_kernel(
    out_ptr,
    x_ptr,
    column_blocks,
    rows,
    length,
    n1,
    n2,
    xs0,
    xs1,
    xs2,
    x_inner,
    seed,
    least,
    scale,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """A tile of strided rows a program."""
    program = tl.program_id(0)
    row = widen(program // column_blocks, WIDE) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    cols = widen(program % column_blocks, WIDE) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    mask = (row < rows) & (cols < length)
    x_ptr += row_offset(row, n1, n2, xs0, xs1, xs2, RANK)
    x = accumulator(tl.load(x_ptr + cols * x_inner, mask=mask))
    factor = from_bits(scale) if x.dtype == tl.float64 else scale
    index = row.to(tl.int64) * length + cols
    # Multiplied, not chosen: a dropped NaN or infinity is NaN, as in torch.
    y = x * tl.where(random_24_bits(seed, index) >= least, factor, 0.0)
    tl.store(out_ptr + row * length + cols, y.to(out_ptr.dtype.element_ty), mask=mask)


def launch_dropout(
    call: Call,
    output: torch.Tensor,
    input: torch.Tensor,
    *,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    seed: int | None = None,
) -> str | None:
    """Elements dropped by a seed; without one they are a draw of torch's generator."""
    if not training:
        return "nothing is dropped: PyTorch copies"
    if seed is None:
        return "without a seed PyTorch draws from its own generator"
    rows = rows_of(input.shape, [input.stride()])
    if rows is None:
        input = input.contiguous()
        rows = rows_of(input.shape, [input.stride()])
        assert rows is not None
    config = tile_config(rows.count, rows.length, crossed=rows.inner[0] > 1)
    if rows.inner[0] <= 1:
        config = replace(config, warps=min(8, 2 * config.warps))
    column_blocks = ceil_div(rows.length, config.block)
    scale = 0.0 if p == 1 else 1 / (1 - p)
    call.launch(
        dropout_kernel,
        (ceil_div(rows.count, config.rows) * column_blocks,),
        *(output, input, column_blocks, rows.count, rows.length, rows.n1, rows.n2),
        *(*rows.row_strides[0], rows.inner[0], int(seed), math.ceil(p * 2**24)),
        scalar_argument(input.dtype, scale),
        RANK=rows.rank,
        WIDE=rows.wide,
        BLOCK_ROWS=config.rows,
        BLOCK_N=config.block,
        num_warps=config.warps,
    )
    return None
