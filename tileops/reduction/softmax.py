"""Softmax and its logarithm along the last axis: kernels and launchers.

Along the last axis, rows up to 32768 elements stay in registers; longer ones are read twice, by
one program or, where rows are few, by many that meet in a small buffer of maxima and sums. Other
axes are the business of softmax_column.py.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.config import ceil_div, pow2_at_least, row_config, splits
from tileops.tiling.device import accumulator, row_offset, widen
from tileops.tiling.strides import Rows, rows_of

__all__ = [
    "MAX_ROW_BYTES",
    "axis_of",
    "declines",
    "finite_shift",
    "launch_long_row",
    "launch_row",
    "launch_split_row",
    "load_rounded",
    "normalised",
]

MAX_ROW_BYTES = 131072
CHUNK_BLOCK = 4096
CHUNK_WARPS = 8
# One program a row: so wide that two fill a multiprocessor, and the rows in work, which are read
# twice, stay in the L2 cache.
LONG_BLOCK = 16384
LONG_WARPS = 32


@triton.jit
def load_rounded(x_ptr, offsets, mask, DTYPE: tl.constexpr):
    """Elements as the accumulator's type, rounded to the output's first, as `dtype` asks."""
    if x_ptr.dtype.element_ty.is_floating():
        return accumulator(tl.load(x_ptr + offsets, mask=mask, other=float("-inf")).to(DTYPE))
    else:
        x = accumulator(tl.load(x_ptr + offsets, mask=mask, other=0).to(DTYPE))
        return tl.where(mask, x, float("-inf"))


@triton.jit
def normalised(x, maximum, total, LOG: tl.constexpr):
    """The softmax of elements, or its logarithm, from the maximum and the sum of exponentials."""
    if LOG:
        return x - maximum - tl.log(total)
    else:
        return tl.exp(x - maximum) * (1.0 / total)


@triton.jit
def finite_shift(maximum):
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
    LOG: tl.constexpr,
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
    x = load_rounded(x_ptr, cols * x_inner, mask, out_ptr.dtype.element_ty)
    maximum = tl.max(x, axis=1, keep_dims=True)
    total = tl.sum(tl.exp(x - maximum), axis=1, keep_dims=True)
    y = normalised(x, maximum, total, LOG)
    tl.store(out_ptr + row * length + cols, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def _merged(maxima, totals):
    """Maximum and sum of all, from those of parts."""
    maximum = tl.max(maxima, axis=0)
    return maximum, tl.sum(totals * tl.exp(maxima - finite_shift(maximum)), axis=0)


@triton.jit
def _max_and_sum(
    x_ptr,
    length,
    x_inner,
    DTYPE: tl.constexpr,
    DOUBLE: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Maxima, and sums of exponentials less them, of interleaved eighths of BLOCK_N.

    Groups of 8 belong to a thread, so that nothing in the loop waits for other threads.
    """
    ACC: tl.constexpr = tl.float64 if DOUBLE else tl.float32
    maximum = tl.full([BLOCK_N // 8], float("-inf"), ACC)
    total = tl.zeros([BLOCK_N // 8], dtype=ACC)
    lane = tl.arange(0, BLOCK_N // 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    for first in range(0, length, BLOCK_N):
        cols = widen(first + lane, WIDE)
        x = load_rounded(x_ptr, cols * x_inner, cols < length, DTYPE)
        larger = tl.maximum(maximum, tl.max(x, axis=1))
        shift = finite_shift(larger)
        total = total * tl.exp(maximum - shift) + tl.sum(tl.exp(x - shift[:, None]), axis=1)
        maximum = larger
    return maximum, total


@triton.jit
def _edges(base, start, stop):
    """Columns before the first and from the last multiple of 8 on, by offset; which exist."""
    first = tl.minimum(start + (8 - (base + start) % 8) % 8, stop)
    last = first + (stop - first) // 8 * 8
    lane = tl.arange(0, 16)
    cols = tl.where(lane < 8, start + lane, last + lane - 8)
    return first, last, cols, cols < tl.where(lane < 8, first, stop)


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
    LOG: tl.constexpr,
    SUM: tl.constexpr,
    WRITE: tl.constexpr,
    DOUBLE: tl.constexpr,
    EDGES: tl.constexpr,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_PARTS: tl.constexpr,
):
    """One part of a row a program.

    SUM and WRITE: the part is the row. SUM alone leaves the part's maximum and sum in the buffer;
    WRITE alone starts from the buffer. EDGES, for dense input whose rows start anywhere: up to 7
    elements at both ends go alone, so that all others are read and written 16 bytes at a time.
    """
    program = tl.program_id(0)
    row = widen(program // parts, WIDE)
    start = (program % parts) * part
    stop = tl.minimum(start + part, length)
    base = row * length
    DTYPE: tl.constexpr = out_ptr.dtype.element_ty
    ACC: tl.constexpr = tl.float64 if DOUBLE else tl.float32
    if EDGES:
        first, last, edge, edge_mask = _edges(base, start, stop)
        edge_x = load_rounded(x_ptr + base, edge, edge_mask, DTYPE)
        edge_out_ptr = out_ptr + base + edge
        size = last - first
        place = tl.multiple_of(base + first, 8)
        x_ptr += place
    else:
        size = stop - start
        place = base + start
        x_ptr += row_offset(row, n1, n2, xs0, xs1, xs2, RANK) + widen(start, WIDE) * x_inner
    out_ptr += place
    maximum = tl.full([], float("-inf"), ACC)
    total = tl.full([], 0.0, ACC)
    if SUM:
        maxima, totals = _max_and_sum(x_ptr, size, x_inner, DTYPE, DOUBLE, WIDE, BLOCK_N)
        maximum, total = _merged(maxima, totals)
        if EDGES:
            larger = tl.maximum(maximum, tl.max(edge_x, axis=0))
            shift = finite_shift(larger)
            total = total * tl.exp(maximum - shift) + tl.sum(tl.exp(edge_x - shift), axis=0)
            maximum = larger
        if not WRITE:
            tl.store(partial_ptr + program * 2, maximum)
            tl.store(partial_ptr + program * 2 + 1, total)
    if WRITE:
        if not SUM:
            index = tl.arange(0, BLOCK_PARTS)
            used = index < parts
            partial = partial_ptr + (row * parts + index) * 2
            maxima = tl.load(partial, mask=used, other=float("-inf"))
            maximum, total = _merged(maxima, tl.load(partial + 1, mask=used, other=0.0))
        if EDGES:
            edge_y = normalised(edge_x, maximum, total, LOG)
            tl.store(edge_out_ptr, edge_y.to(DTYPE), mask=edge_mask)
        for begin in range(0, size, BLOCK_N):
            cols = widen(begin + tl.arange(0, BLOCK_N), WIDE)
            x = load_rounded(x_ptr, cols * x_inner, cols < size, DTYPE)
            y = normalised(x, maximum, total, LOG)
            tl.store(out_ptr + cols, y.to(DTYPE), mask=cols < size)


def launch_row(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    *,
    dim: int | None = None,
    dtype: torch.dtype | None = None,
    function: str = "softmax",
) -> str | None:
    """Softmax along the last axis, a row in registers."""
    axis = axis_of(x, dim, function)
    if (reason := declines(x) or _not_rows(x, axis)) is not None:
        return reason
    rows, x = _rows(x, axis)
    width = max(x.element_size(), output.element_size(), 4)
    if rows.length * width > MAX_ROW_BYTES:
        return f"rows of {rows.length} elements do not fit in registers"
    config = row_config(rows.count, int(rows.length), processors(call))
    call.launch(
        softmax_row_kernel,
        (ceil_div(rows.count, config.rows),),
        *(output, x, rows.count, rows.length, rows.n1, rows.n2),
        *(*rows.row_strides[0], rows.inner[0]),
        LOG=function == "log_softmax",
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
    function: str = "softmax",
) -> str | None:
    """Softmax along the last axis, few long rows: several programs a row, in two launches."""
    axis = axis_of(x, dim, function)
    if (reason := declines(x) or _not_rows(x, axis)) is not None:
        return reason
    rows, x = _rows(x, axis)
    parts, part = splits(rows.count, rows.length, CHUNK_BLOCK, processors(call))
    if parts == 1:
        return f"{rows.count} rows fill the device without splitting them"
    partial = call.empty(rows.count * parts * 2, _sum_dtype(output))
    for stage in ((True, False), (False, True)):
        _launch_parts(call, output, partial, x, rows, (parts, part), stage, function)
    return None


def launch_long_row(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    *,
    dim: int | None = None,
    dtype: torch.dtype | None = None,
    function: str = "softmax",
) -> str | None:
    """Softmax along the last axis, one program a row of any length."""
    axis = axis_of(x, dim, function)
    if (reason := declines(x) or _not_rows(x, axis)) is not None:
        return reason
    rows, x = _rows(x, axis)
    _launch_parts(call, output, None, x, rows, (1, rows.length), (True, True), function)
    return None


def axis_of(x: torch.Tensor, dim: int | None, function: str) -> int:
    """The axis as an index from the front."""
    if dim is None:
        # torch's own for log_softmax; quack.softmax has the last.
        dim = (0 if x.dim() in (0, 1, 3) else 1) if function == "log_softmax" else -1
    axis = int(dim)
    return axis + max(x.dim(), 1) if axis < 0 else axis


def declines(x: torch.Tensor) -> str | None:
    """Why inputs of a dtype are left to the reference, if they are."""
    if x.is_floating_point() and x.element_size() == 1:
        return f"{x.dtype} is left to the reference"
    return None


def _not_rows(x: torch.Tensor, axis: int) -> str | None:
    """Why the axis has no rows of its own: something other than 1 comes after it."""
    if all(size == 1 for size in x.shape[axis + 1 :]):
        return None
    return f"axis {axis} is not the last"


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
    function: str,
) -> None:
    parts, part = division
    block, warps = CHUNK_BLOCK, CHUNK_WARPS
    if parts == 1 and output.dtype != torch.float64:
        block, warps = LONG_BLOCK, LONG_WARPS
    call.launch(
        softmax_long_row_kernel,
        (rows.count * parts,),
        *(output, partial, x, parts, part, rows.length, rows.n1, rows.n2),
        *(*rows.row_strides[0], rows.inner[0]),
        LOG=function == "log_softmax",
        SUM=stage[0],
        WRITE=stage[1],
        DOUBLE=output.dtype == torch.float64,
        EDGES=bool(rows.length % 8 != 0 and x.is_contiguous()),
        RANK=rows.rank,
        WIDE=rows.wide,
        BLOCK_N=block,
        BLOCK_PARTS=pow2_at_least(parts),
        num_warps=warps,
    )
