"""Tables made from nothing but their sizes."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.config import ceil_div, float64_words, pow2_at_least, tile_config
from tileops.tiling.device import from_words, sin_cos_of_turns, turns_per_position, widen
from tileops.tiling.strides import is_wide

__all__ = ["launch_alibi", "launch_sinusoidal"]

TILE = 1024


@triton.jit(do_not_specialize=["octaves_high", "octaves_low"])
def sinusoidal_kernel(
    out_ptr,
    column_blocks,
    rows,
    length,
    octaves_high,
    octaves_low,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
    STEPS: tl.constexpr,
):
    """STEPS tiles down the table a program: frequencies are taken once for its columns."""
    program = tl.program_id(0)
    row = widen(program // column_blocks, WIDE) * (BLOCK_ROWS * STEPS)
    row = row + tl.arange(0, BLOCK_ROWS)[:, None]
    cols = widen(program % column_blocks, WIDE) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    frequency = turns_per_position(cols // 2, from_words(octaves_high, octaves_low))
    for _ in range(STEPS):
        sine, cosine = sin_cos_of_turns(row.to(tl.float64) * frequency)
        y = tl.where(cols % 2 == 0, sine, cosine)
        mask = (row < rows) & (cols < length)
        tl.store(out_ptr + row * length + cols, y.to(out_ptr.dtype.element_ty), mask=mask)
        row += BLOCK_ROWS


def launch_sinusoidal(
    call: Call,
    output: torch.Tensor,
    *,
    seq_len: int,
    d_model: int,
    out_dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> str | None:
    """The position table."""
    rows, length = output.shape
    octaves = 2.0 * math.log2(10000.0) / int(length)
    block_n = min(pow2_at_least(int(length)), TILE)
    block_rows = TILE // block_n
    column_blocks = ceil_div(length, block_n)
    # Eight programs a multiprocessor hide the latency of the stores; more work is steps of them.
    tiles = ceil_div(int(rows), block_rows) * int(column_blocks)
    steps = pow2_at_least(ceil_div(tiles, 8 * processors(call)))
    steps = min(steps, 32)
    call.launch(
        sinusoidal_kernel,
        (ceil_div(rows, block_rows * steps) * column_blocks,),
        *(output, column_blocks, rows, length, *float64_words(octaves)),
        WIDE=is_wide(output.shape, []),
        BLOCK_ROWS=block_rows,
        BLOCK_N=block_n,
        STEPS=steps,
        num_warps=4,
    )
    return None


@triton.jit
def alibi_kernel(
    out_ptr,
    column_blocks,
    rows,
    length,
    whole,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """A tile of the biases a program; a row is a head and a position. `whole` heads are a power of
    two."""
    program = tl.program_id(0)
    row = widen(program // column_blocks, WIDE) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    cols = widen(program % column_blocks, WIDE) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    head = row // length
    extra = head - whole
    eighths = tl.where(extra < 0, 2 * (head + 1), 2 * extra + 1).to(tl.float64)
    slope = tl.exp2(eighths * -4.0 / whole).to(tl.float32)
    distance = tl.abs(row % length - cols).to(tl.float32)
    y = -slope * distance
    mask = (row < rows) & (cols < length)
    tl.store(out_ptr + row * length + cols, y.to(out_ptr.dtype.element_ty), mask=mask)


def launch_alibi(
    call: Call,
    output: torch.Tensor,
    *,
    seq_len: int,
    num_heads: int,
    out_dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> str | None:
    """The biases."""
    heads, length, _ = output.shape
    rows = heads * length
    config = tile_config(rows, length, crossed=False)
    column_blocks = ceil_div(length, config.block)
    call.launch(
        alibi_kernel,
        (ceil_div(rows, config.rows) * column_blocks,),
        *(output, column_blocks, rows, length, 1 << (int(heads).bit_length() - 1)),
        WIDE=is_wide(output.shape, []),
        BLOCK_ROWS=config.rows,
        BLOCK_N=config.block,
        num_warps=config.warps,
    )
    return None
