"""Tables made from nothing but their sizes."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.config import ceil_div, float64_bits, pow2_at_least
from tileops.tiling.device import sin_cos_of_turns, turns_per_position, widen
from tileops.tiling.strides import is_wide

__all__ = ["launch_sinusoidal"]

TILE = 1024


@triton.jit(do_not_specialize=["step_bits"])
def sinusoidal_kernel(
    out_ptr,
    column_blocks,
    rows,
    length,
    step_bits,
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
    frequency = turns_per_position(cols // 2, step_bits)
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
    step = -2.0 * math.log2(10000.0) / int(length)
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
        *(output, column_blocks, rows, length, float64_bits(step)),
        WIDE=is_wide(output.shape, []),
        BLOCK_ROWS=block_rows,
        BLOCK_N=block_n,
        STEPS=steps,
        num_warps=4,
    )
    return None
