"""Softmax: kernels and launchers.

Along the last axis, rows up to 32768 elements stay in registers; longer ones are read twice, by
one program or, where rows are few, by many that meet in a small buffer of maxima and sums. Along
another axis, a program walks down a block of neighbouring columns.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.config import ceil_div, pow2_at_least, row_config, splits
from tileops.tiling.device import accumulator, row_offset, widen
from tileops.tiling.strides import Rows, is_wide, rows_of

__all__ = ["launch_column", "launch_long_row", "launch_row", "launch_split_row"]

MAX_ROW_BYTES = 131072
CHUNK_BLOCK = 4096
CHUNK_WARPS = 8
COLUMN_TILE = 4096
COLUMN_BLOCK = 64


@triton.jit
def _load(x_ptr, offsets, mask, DTYPE: tl.constexpr):
    """Elements as the accumulator's type, rounded to the output's first, as `dtype` asks."""
    return accumulator(tl.load(x_ptr + offsets, mask=mask, other=float("-inf")).to(DTYPE))


@triton.jit
def _shift(maximum):
    """What to subtract: the maximum, but nothing while all was -inf, which would give NaN early."""
    return tl.where(maximum == float("-inf"), 0.0, maximum)


@triton.jit
def softmax_row_kernel(
    out_ptr,
    x_ptr,
    rows,
    length,
    n1,
    n2,
    xs0,
    xs1,
    xs2,
    x_inner,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """BLOCK_ROWS whole rows a program."""
    row = widen(tl.program_id(0), WIDE) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    cols = widen(tl.arange(0, BLOCK_N), WIDE)[None, :]
    mask = (row < rows) & (cols < length)
    x_ptr += row_offset(row, n1, n2, xs0, xs1, xs2, RANK)
    x = _load(x_ptr, cols * x_inner, mask, out_ptr.dtype.element_ty)
    e = tl.exp(x - tl.max(x, axis=1, keep_dims=True))
    y = e / tl.sum(e, axis=1, keep_dims=True)
    tl.store(out_ptr + row * length + cols, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def _max_and_sum(
    x_ptr,
    start,
    stop,
    x_inner,
    DTYPE: tl.constexpr,
    DOUBLE: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Maximum, and sum of exponentials less it, over [start, stop)."""
    ACC: tl.constexpr = tl.float64 if DOUBLE else tl.float32
    maximum = tl.full([], float("-inf"), ACC)
    total = tl.zeros([BLOCK_N], dtype=ACC)
    for first in range(start, stop, BLOCK_N):
        cols = widen(first + tl.arange(0, BLOCK_N), WIDE)
        x = _load(x_ptr, cols * x_inner, cols < stop, DTYPE)
        larger = tl.maximum(maximum, tl.max(x, axis=0))
        shift = _shift(larger)
        total = total * tl.exp(maximum - shift) + tl.exp(x - shift)
        maximum = larger
    return maximum, tl.sum(total, axis=0)


@triton.jit
def softmax_long_row_kernel(
    out_ptr,
    partial_ptr,
    x_ptr,
    parts,
    part,
    length,
    n1,
    n2,
    xs0,
    xs1,
    xs2,
    x_inner,
    SUM: tl.constexpr,
    WRITE: tl.constexpr,
    DOUBLE: tl.constexpr,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_PARTS: tl.constexpr,
):
    """One part of a row a program.

    SUM and WRITE: the part is the row. SUM alone leaves the part's maximum and sum in the buffer;
    WRITE alone starts from the buffer.
    """
    program = tl.program_id(0)
    row = widen(program // parts, WIDE)
    start = (program % parts) * part
    stop = tl.minimum(start + part, length)
    x_ptr += row_offset(row, n1, n2, xs0, xs1, xs2, RANK)
    out_ptr += row * length
    ACC: tl.constexpr = tl.float64 if DOUBLE else tl.float32
    maximum = tl.full([], float("-inf"), ACC)
    total = tl.full([], 0.0, ACC)
    if SUM:
        maximum, total = _max_and_sum(
            x_ptr, start, stop, x_inner, out_ptr.dtype.element_ty, DOUBLE, WIDE, BLOCK_N
        )
        if not WRITE:
            tl.store(partial_ptr + program * 2, maximum)
            tl.store(partial_ptr + program * 2 + 1, total)
    if WRITE:
        if not SUM:
            index = tl.arange(0, BLOCK_PARTS)
            used = index < parts
            place = partial_ptr + (row * parts + index) * 2
            maxima = tl.load(place, mask=used, other=float("-inf"))
            totals = tl.load(place + 1, mask=used, other=0.0)
            maximum = tl.max(maxima, axis=0)
            total = tl.sum(totals * tl.exp(maxima - _shift(maximum)), axis=0)
        for first in range(start, stop, BLOCK_N):
            cols = widen(first + tl.arange(0, BLOCK_N), WIDE)
            x = _load(x_ptr, cols * x_inner, cols < stop, out_ptr.dtype.element_ty)
            y = tl.exp(x - maximum) / total
            tl.store(out_ptr + cols, y.to(out_ptr.dtype.element_ty), mask=cols < stop)


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
    DOUBLE: tl.constexpr,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """BLOCK_C columns of one [length, columns] matrix a program."""
    program = tl.program_id(0)
    matrix = widen(program // blocks, WIDE)
    column = widen((program % blocks) * BLOCK_C + tl.arange(0, BLOCK_C), WIDE)[None, :]
    x_ptr += row_offset(matrix, n1, n2, xs0, xs1, xs2, RANK) + column * x_column
    out_ptr += matrix * length * columns + column
    ACC: tl.constexpr = tl.float64 if DOUBLE else tl.float32
    maximum = tl.full([1, BLOCK_C], float("-inf"), ACC)
    total = tl.zeros([1, BLOCK_C], dtype=ACC)
    for first in range(0, length, BLOCK_N):
        step = widen(first + tl.arange(0, BLOCK_N), WIDE)[:, None]
        mask = (step < length) & (column < columns)
        x = _load(x_ptr, step * x_step, mask, out_ptr.dtype.element_ty)
        larger = tl.maximum(maximum, tl.max(x, axis=0, keep_dims=True))
        shift = _shift(larger)
        total = total * tl.exp(maximum - shift)
        total += tl.sum(tl.exp(x - shift), axis=0, keep_dims=True)
        maximum = larger
    for first in range(0, length, BLOCK_N):
        step = widen(first + tl.arange(0, BLOCK_N), WIDE)[:, None]
        mask = (step < length) & (column < columns)
        x = _load(x_ptr, step * x_step, mask, out_ptr.dtype.element_ty)
        y = tl.exp(x - maximum) / total
        tl.store(out_ptr + step * columns, y.to(out_ptr.dtype.element_ty), mask=mask)


def launch_row(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    *,
    dim: int | None = None,
    dtype: torch.dtype | None = None,
) -> str | None:
    """Softmax along the last axis, a row in registers."""
    if (reason := _not_rows(x, dim)) is not None:
        return reason
    rows, x = _rows(x, _axis(x, dim))
    width = max(x.element_size(), output.element_size(), 4)
    if rows.length * width > MAX_ROW_BYTES:
        return f"rows of {rows.length} elements do not fit in registers"
    config = row_config(rows.count, int(rows.length), processors(call))
    call.launch(
        softmax_row_kernel,
        (ceil_div(rows.count, config.rows),),
        *(output, x, rows.count, rows.length, rows.n1, rows.n2),
        *(*rows.row_strides[0], rows.inner[0]),
        RANK=rows.rank,
        WIDE=rows.wide,
        BLOCK_ROWS=config.rows,
        BLOCK_N=config.block,
        num_warps=config.warps,
    )
    return None


def launch_split_row(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    *,
    dim: int | None = None,
    dtype: torch.dtype | None = None,
) -> str | None:
    """Softmax along the last axis, few long rows: several programs a row, in two launches."""
    if (reason := _not_rows(x, dim)) is not None:
        return reason
    rows, x = _rows(x, _axis(x, dim))
    parts, part = splits(rows.count, rows.length, CHUNK_BLOCK, processors(call))
    if parts == 1:
        return f"{rows.count} rows fill the device without splitting them"
    partial = torch.empty(rows.count * parts * 2, dtype=_sum_dtype(output), device=call.device)
    for stage in ((True, False), (False, True)):
        _launch_parts(call, output, partial, x, rows, (parts, part), stage)
    return None


def launch_long_row(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    *,
    dim: int | None = None,
    dtype: torch.dtype | None = None,
) -> str | None:
    """Softmax along the last axis, one program a row of any length."""
    if (reason := _not_rows(x, dim)) is not None:
        return reason
    rows, x = _rows(x, _axis(x, dim))
    _launch_parts(call, output, None, x, rows, (1, rows.length), (True, True))
    return None


def launch_column(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    *,
    dim: int | None = None,
    dtype: torch.dtype | None = None,
) -> str | None:
    """Softmax along any axis, neighbouring columns side by side."""
    axis = _axis(x, dim)
    length = x.shape[axis] if x.dim() else 1
    trailing = max(x.dim() - 1 - axis, 0)
    matrices = rows_of(*_without(x, axis), trailing)
    if matrices is None:
        x = x.contiguous()
        matrices = rows_of(*_without(x, axis), trailing)
        assert matrices is not None
    columns = matrices.length
    block_c = min(COLUMN_BLOCK, pow2_at_least(int(columns)))
    block_n = min(COLUMN_TILE // block_c, pow2_at_least(int(length)))
    blocks = ceil_div(columns, block_c)
    call.launch(
        softmax_column_kernel,
        (matrices.count * blocks,),
        *(output, x, blocks, columns, length, matrices.n1, matrices.n2),
        *(*matrices.row_strides[0], x.stride(axis) if x.dim() else 1, matrices.inner[0]),
        DOUBLE=output.dtype == torch.float64,
        RANK=matrices.rank,
        WIDE=is_wide(x.shape, [x.stride()]),
        BLOCK_N=block_n,
        BLOCK_C=block_c,
        num_warps=max(1, min(8, block_n * block_c // 512)),
    )
    return None


def _axis(x: torch.Tensor, dim: int | None) -> int:
    axis = -1 if dim is None else int(dim)
    return axis + max(x.dim(), 1) if axis < 0 else axis


def _not_rows(x: torch.Tensor, dim: int | None) -> str | None:
    """Why the axis has no rows of its own: something other than 1 comes after it."""
    axis = _axis(x, dim)
    if all(size == 1 for size in x.shape[axis + 1 :]):
        return None
    return f"axis {axis} is not the last"


def _without(x: torch.Tensor, axis: int) -> tuple[list[int], list[list[int]]]:
    """Shape and strides less one axis."""
    keep = [i for i in range(x.dim()) if i != axis]
    return [x.shape[i] for i in keep], [[x.stride(i) for i in keep]]


def _rows(x: torch.Tensor, axis: int) -> tuple[Rows, torch.Tensor]:
    """Rows along `axis`, after which only sizes of 1 come; copied where strides make no rows."""
    if x.dim() == 0:
        x = x.reshape(1)
    trailing = x.dim() - axis
    rows = rows_of(x.shape, [x.stride()], trailing)
    if rows is None:
        x = x.contiguous()
        rows = rows_of(x.shape, [x.stride()], trailing)
        assert rows is not None
    return rows, x


def _sum_dtype(output: torch.Tensor) -> torch.dtype:
    return torch.float64 if output.dtype == torch.float64 else torch.float32


def _launch_parts(
    call: Call,
    output: torch.Tensor,
    partial: torch.Tensor | None,
    x: torch.Tensor,
    rows: Rows,
    division: tuple[int, int],
    stage: tuple[bool, bool],
) -> None:
    parts, part = division
    call.launch(
        softmax_long_row_kernel,
        (rows.count * parts,),
        *(output, partial, x, parts, part, rows.length, rows.n1, rows.n2),
        *(*rows.row_strides[0], rows.inner[0]),
        SUM=stage[0],
        WRITE=stage[1],
        DOUBLE=output.dtype == torch.float64,
        RANK=rows.rank,
        WIDE=rows.wide,
        BLOCK_N=CHUNK_BLOCK,
        BLOCK_PARTS=pow2_at_least(parts),
        num_warps=CHUNK_WARPS,
    )
