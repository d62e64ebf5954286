"""Values of int8 codes: a tile of rows, by 128 columns where those have a scale of their own."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tileops.quantization.reference import BLOCK
from tileops.runtime.launch import Call
from tileops.tiling.config import ceil_div, many, pow2_at_least
from tileops.tiling.device import widen
from tileops.tiling.strides import collapse, is_wide

__all__ = ["launch_tile"]

TILE = 4096
WIDEST = 1024


@triton.jit
def dequantize_kernel(
    x_ptr,
    q_ptr,
    scale_ptr,
    column_tiles,
    rows,
    length,
    row_stride,
    inner,
    scale_row,
    scale_block,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCKS: tl.constexpr,
    SIZE: tl.constexpr,
):
    """BLOCK_ROWS rows by BLOCKS blocks of SIZE columns a program."""
    program = tl.program_id(0)
    row = widen(program // column_tiles, WIDE) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    row = row[:, None, None]
    block = widen(program % column_tiles, WIDE) * BLOCKS + tl.arange(0, BLOCKS)[None, :, None]
    column = block * SIZE + tl.arange(0, SIZE)[None, None, :]
    mask = (row < rows) & (column < length)
    q = tl.load(q_ptr + row * row_stride + column * inner, mask=mask)
    there = (row < rows) & (block * SIZE < length)
    scale = tl.load(scale_ptr + row * scale_row + block * scale_block, mask=there)
    x = q.to(tl.float32) * scale
    tl.store(x_ptr + row * length + column, x.to(x_ptr.dtype.element_ty), mask=mask)


def launch_tile(
    call: Call, x: torch.Tensor, q: torch.Tensor, scale: torch.Tensor, *, function: str,
    out_dtype: torch.dtype,
) -> str | None:  # fmt: skip
    """Codes and scales of any strides; `function` says what has a scale."""
    (rows, length), (row_stride, inner) = q.shape, q.stride()
    scales = {"tensor": (0, 0), "channel": (scale.stride(0), 0), "block": scale.stride()}
    wide = is_wide(q.shape, [q.stride()])
    sizes, (steps,) = collapse(q.shape, [q.stride()])
    if function == "tensor" and len(sizes) == 1:
        rows, length, row_stride, inner = 1, sizes[0], 0, steps[0]
    block_rows = min(pow2_at_least(many(rows)), TILE // WIDEST)
    widest = TILE // block_rows
    size = BLOCK if function == "block" else min(pow2_at_least(many(length)), widest)
    blocks = min(pow2_at_least(many(ceil_div(length, size))), max(1, widest // size))
    block_rows = min(pow2_at_least(many(rows)), TILE // (size * blocks))
    column_tiles = ceil_div(length, size * blocks)
    call.launch(
        dequantize_kernel,
        (ceil_div(rows, block_rows) * column_tiles,),
        *(x, q, scale, column_tiles, rows, length, row_stride, inner, *scales[function]),
        WIDE=wide,
        BLOCK_ROWS=block_rows,
        BLOCKS=blocks,
        SIZE=size,
        num_warps=max(1, min(4, block_rows * blocks * size // 256)),
    )
    return None
