"""Softmax and its logarithm along an axis that is not the last: kernel and launcher.

A program takes a block of neighbouring columns: whole where they fit registers, else in two walks
down the axis.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tileops.reduction.softmax import (
    MAX_ROW_BYTES,
    axis_of,
    declines,
    finite_shift,
    load_rounded,
    normalised,
)
from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.config import ceil_div, pow2_at_least
from tileops.tiling.device import row_offset, widen
from tileops.tiling.strides import is_wide, rows_of

__all__ = ["launch_column"]

COLUMN_TILE = 4096
COLUMN_BLOCK = 64


@triton.jit
def softmax_column_kernel(
    out_ptr,
    x_ptr,
    blocks,
    columns,
    length,
    n1,
    n2,
    xs0,
    xs1,
    xs2,
    x_step,
    x_column,
    LOG: tl.constexpr,
    DOUBLE: tl.constexpr,
    WHOLE: tl.constexpr,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """BLOCK_C columns of one [length, columns] matrix a program; WHOLE: at once, in registers."""
    program = tl.program_id(0)
    matrix = widen(program // blocks, WIDE)
    column = widen((program % blocks) * BLOCK_C + tl.arange(0, BLOCK_C), WIDE)[None, :]
    x_ptr += row_offset(matrix, n1, n2, xs0, xs1, xs2, RANK) + column * x_column
    out_ptr += matrix * length * columns + column
    DTYPE: tl.constexpr = out_ptr.dtype.element_ty
    if WHOLE:
        step = widen(tl.arange(0, BLOCK_N), WIDE)[:, None]
        mask = (step < length) & (column < columns)
        x = load_rounded(x_ptr, step * x_step, mask, DTYPE)
        maximum = tl.max(x, axis=0, keep_dims=True)
        total = tl.sum(tl.exp(x - maximum), axis=0, keep_dims=True)
        y = normalised(x, maximum, total, LOG)
        tl.store(out_ptr + step * columns, y.to(DTYPE), mask=mask)
    else:
        ACC: tl.constexpr = tl.float64 if DOUBLE else tl.float32
        maximum = tl.full([1, BLOCK_C], float("-inf"), ACC)
        total = tl.zeros([1, BLOCK_C], dtype=ACC)
        for first in range(0, length, BLOCK_N):
            step = widen(first + tl.arange(0, BLOCK_N), WIDE)[:, None]
            mask = (step < length) & (column < columns)
            x = load_rounded(x_ptr, step * x_step, mask, DTYPE)
            larger = tl.maximum(maximum, tl.max(x, axis=0, keep_dims=True))
            shift = finite_shift(larger)
            total = total * tl.exp(maximum - shift)
            total += tl.sum(tl.exp(x - shift), axis=0, keep_dims=True)
            maximum = larger
        for first in range(0, length, BLOCK_N):
            step = widen(first + tl.arange(0, BLOCK_N), WIDE)[:, None]
            mask = (step < length) & (column < columns)
            x = load_rounded(x_ptr, step * x_step, mask, DTYPE)
            y = normalised(x, maximum, total, LOG)
            tl.store(out_ptr + step * columns, y.to(DTYPE), mask=mask)


def launch_column(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    *,
    dim: int | None = None,
    dtype: torch.dtype | None = None,
    function: str = "softmax",
) -> str | None:
    """Softmax along any axis, neighbouring columns side by side."""
    if (reason := declines(x)) is not None:
        return reason
    axis = axis_of(x, dim, function)
    length = x.shape[axis] if x.dim() else 1
    trailing = max(x.dim() - 1 - axis, 0)
    matrices = rows_of(*_without(x, axis), trailing)
    if matrices is None:
        x = x.contiguous()
        matrices = rows_of(*_without(x, axis), trailing)
        assert matrices is not None
    columns = matrices.length
    width = max(x.element_size(), output.element_size())
    block_n, block_c, warps, whole = _column_tile(
        matrices.count, int(length), int(columns), width, processors(call)
    )
    blocks = ceil_div(columns, block_c)
    call.launch(
        softmax_column_kernel,
        (matrices.count * blocks,),
        *(output, x, blocks, columns, length, matrices.n1, matrices.n2),
        *(*matrices.row_strides[0], x.stride(axis) if x.dim() else 1, matrices.inner[0]),
        LOG=function == "log_softmax",
        DOUBLE=output.dtype == torch.float64,
        WHOLE=whole,
        RANK=matrices.rank,
        WIDE=is_wide(x.shape, [x.stride()]),
        BLOCK_N=block_n,
        BLOCK_C=block_c,
        num_warps=warps,
    )
    return None


def _column_tile(
    count: int, length: int, columns: int, width: int, processors: int
) -> tuple[int, int, int, bool]:
    """(steps down, columns, warps, whether that is all of the axis).

    32 bytes of neighbouring columns are the least that memory reads. More of them share a program
    while the programs still fill the chip twice.
    """
    least = min(max(1, 32 // width), pow2_at_least(columns))
    block_c = min(COLUMN_BLOCK, pow2_at_least(columns))
    while block_c > least and count * ceil_div(columns, block_c) < 2 * processors:
        block_c //= 2
    block_n = pow2_at_least(length)
    # As many registers as a row kernel takes.
    most = MAX_ROW_BYTES // max(width, 4)
    if block_n * least <= most:
        block_c = min(block_c, most // block_n)
        return block_n, block_c, max(1, min(32, block_n * block_c // 512)), True
    block_n = max(1, COLUMN_TILE // block_c)
    return block_n, block_c, 8, False


def _without(x: torch.Tensor, axis: int) -> tuple[list[int], list[list[int]]]:
    """Shape and strides less one axis."""
    keep = [i for i in range(x.dim()) if i != axis]
    return [x.shape[i] for i in keep], [[x.stride(i) for i in keep]]
