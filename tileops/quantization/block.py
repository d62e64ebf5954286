"""Blocks of 128 rows by 128 columns with one scale: a program holds a block."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tileops.quantization.reference import BLOCK, FP8
from tileops.runtime.launch import Call
from tileops.tiling.codes import code, encoded, magnitude, quotient, scale_of
from tileops.tiling.config import ceil_div
from tileops.tiling.device import widen
from tileops.tiling.strides import is_wide

__all__ = ["launch_block"]


@triton.jit
def block_kernel(
    q_ptr,
    scale_ptr,
    w_ptr,
    column_blocks,
    rows,
    columns,
    row_stride,
    column_stride,
    LIMIT: tl.constexpr,
    WIDE: tl.constexpr,
    SIZE: tl.constexpr,
):
    """One block a program."""
    program = tl.program_id(0)
    row = widen(program // column_blocks, WIDE) * SIZE + tl.arange(0, SIZE)[:, None]
    column = widen(program % column_blocks, WIDE) * SIZE + tl.arange(0, SIZE)[None, :]
    mask = (row < rows) & (column < columns)
    at = w_ptr + row * row_stride + column * column_stride
    w = tl.load(at, mask=mask, other=0.0).to(tl.float32)
    largest = tl.max(tl.max(magnitude(w), axis=1, keep_dims=True), axis=0, keep_dims=True)
    scale = scale_of(largest, LIMIT)
    only = tl.arange(0, 1)
    tl.store(scale_ptr + program + only[:, None] + only[None, :], scale)
    y = code(quotient(w, scale), scale, q_ptr.dtype.element_ty)
    tl.store(q_ptr + row * columns + column, y, mask=mask)


def launch_block(call: Call, q: torch.Tensor, scale: torch.Tensor, w: torch.Tensor) -> str | None:
    """Blocks of a matrix of any strides."""
    rows, columns = w.shape
    column_blocks = ceil_div(columns, BLOCK)
    call.launch(
        block_kernel,
        (ceil_div(rows, BLOCK) * column_blocks,),
        *(encoded(call, q), scale, w, column_blocks, rows, columns, *w.stride()),
        LIMIT=FP8,
        WIDE=is_wide(w.shape, [w.stride()]),
        SIZE=BLOCK,
        num_warps=8,
    )
    return None
