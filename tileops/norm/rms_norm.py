"""RMSNorm, with or without a residual sum in front: kernels and launchers.

Rows up to 32768 elements stay in registers. Longer rows are read twice: by one program where there
are rows enough to fill the chip, else by many programs that meet in a small float32 buffer.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from tileops.norm.reference import FLOAT32_EPSILON
from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.config import ceil_div, pow2_at_least, splits, tailed_row_config
from tileops.tiling.device import row_offset, widen
from tileops.tiling.strides import Rows, as_vector, rows_of

__all__ = [
    "launch_add_long_row",
    "launch_add_row",
    "launch_add_split_row",
    "launch_long_row",
    "launch_row",
    "launch_split_row",
]

MAX_ROW_BLOCK = 32768
CHUNK_BLOCK = 4096
CHUNK_WARPS = 8


@triton.jit
def _load(x_ptr, residual_ptr, cols, mask, x_inner, r_inner, HAS_RESIDUAL: tl.constexpr):
    x = tl.load(x_ptr + cols * x_inner, mask=mask, other=0.0).to(tl.float32)
    if HAS_RESIDUAL:
        x += tl.load(residual_ptr + cols * r_inner, mask=mask, other=0.0).to(tl.float32)
    return x


@triton.jit
def _scaled(x, rstd, weight_ptr, cols, mask, w_inner, HAS_WEIGHT: tl.constexpr):
    y = x * rstd
    if HAS_WEIGHT:
        y *= tl.load(weight_ptr + cols * w_inner, mask=mask, other=0.0).to(tl.float32)
    return y


@triton.jit
def rms_norm_row_kernel(
    out_ptr,
    sum_ptr,
    x_ptr,
    residual_ptr,
    weight_ptr,
    rows,
    length,
    n1,
    n2,
    xs0,
    xs1,
    xs2,
    x_inner,
    rs0,
    rs1,
    rs2,
    r_inner,
    w_inner,
    eps,
    HAS_RESIDUAL: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_TAIL: tl.constexpr,
):
    """BLOCK_ROWS whole rows a program; BLOCK_TAIL: 0, or what holds columns from BLOCK_N on."""
    row = widen(tl.program_id(0), WIDE) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    cols = widen(tl.arange(0, BLOCK_N), WIDE)[None, :]
    mask = (row < rows) & (cols < length)
    x_ptr += row_offset(row, n1, n2, xs0, xs1, xs2, RANK)
    if HAS_RESIDUAL:
        residual_ptr += row_offset(row, n1, n2, rs0, rs1, rs2, RANK)
    x = _load(x_ptr, residual_ptr, cols, mask, x_inner, r_inner, HAS_RESIDUAL)
    if BLOCK_TAIL > 0:
        tail = BLOCK_N + widen(tl.arange(0, BLOCK_TAIL), WIDE)[None, :]
        tail_mask = (row < rows) & (tail < length)
        z = _load(x_ptr, residual_ptr, tail, tail_mask, x_inner, r_inner, HAS_RESIDUAL)
    out_ptr += row * length
    if HAS_RESIDUAL:
        sum_ptr += row * length
        tl.store(sum_ptr + cols, x.to(sum_ptr.dtype.element_ty), mask=mask)
    squares = tl.sum(x * x, axis=1, keep_dims=True)
    if BLOCK_TAIL > 0:
        if HAS_RESIDUAL:
            tl.store(sum_ptr + tail, z.to(sum_ptr.dtype.element_ty), mask=tail_mask)
        squares += tl.sum(z * z, axis=1, keep_dims=True)
    rstd = tl.rsqrt(squares / length + eps)
    y = _scaled(x, rstd, weight_ptr, cols, cols < length, w_inner, HAS_WEIGHT)
    tl.store(out_ptr + cols, y.to(out_ptr.dtype.element_ty), mask=mask)
    if BLOCK_TAIL > 0:
        z = _scaled(z, rstd, weight_ptr, tail, tail < length, w_inner, HAS_WEIGHT)
        tl.store(out_ptr + tail, z.to(out_ptr.dtype.element_ty), mask=tail_mask)


@triton.jit
def _sum_of_squares(
    sum_ptr,
    x_ptr,
    residual_ptr,
    start,
    stop,
    x_inner,
    r_inner,
    HAS_RESIDUAL: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    total = tl.zeros([BLOCK_N], dtype=tl.float32)
    for first in range(start, stop, BLOCK_N):
        cols = widen(first + tl.arange(0, BLOCK_N), WIDE)
        x = _load(x_ptr, residual_ptr, cols, cols < stop, x_inner, r_inner, HAS_RESIDUAL)
        if HAS_RESIDUAL:
            tl.store(sum_ptr + cols, x.to(sum_ptr.dtype.element_ty), mask=cols < stop)
        total += x * x
    return tl.sum(total, axis=0)


@triton.jit
def _write_scaled(
    out_ptr,
    x_ptr,
    residual_ptr,
    weight_ptr,
    rstd,
    start,
    stop,
    x_inner,
    r_inner,
    w_inner,
    HAS_RESIDUAL: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    for first in range(start, stop, BLOCK_N):
        cols = widen(first + tl.arange(0, BLOCK_N), WIDE)
        mask = cols < stop
        # The sum is taken again, not read back: what was stored has been rounded.
        x = _load(x_ptr, residual_ptr, cols, mask, x_inner, r_inner, HAS_RESIDUAL)
        y = _scaled(x, rstd, weight_ptr, cols, mask, w_inner, HAS_WEIGHT)
        tl.store(out_ptr + cols, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def rms_norm_long_row_kernel(
    out_ptr,
    sum_ptr,
    partial_ptr,
    x_ptr,
    residual_ptr,
    weight_ptr,
    parts,
    part,
    length,
    n1,
    n2,
    xs0,
    xs1,
    xs2,
    x_inner,
    rs0,
    rs1,
    rs2,
    r_inner,
    w_inner,
    eps,
    SUM: tl.constexpr,
    WRITE: tl.constexpr,
    HAS_RESIDUAL: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_PARTS: tl.constexpr,
):
    """One part of a row a program.

    SUM and WRITE: the part is the row. SUM alone leaves the part's sum of squares in the buffer;
    WRITE alone starts from the buffer's sums.
    """
    program = tl.program_id(0)
    row = widen(program // parts, WIDE)
    start = (program % parts) * part
    stop = tl.minimum(start + part, length)
    x_ptr += row_offset(row, n1, n2, xs0, xs1, xs2, RANK)
    if HAS_RESIDUAL:
        residual_ptr += row_offset(row, n1, n2, rs0, rs1, rs2, RANK)
        sum_ptr += row * length
    total = 0.0
    if SUM:
        total = _sum_of_squares(
            sum_ptr,
            x_ptr,
            residual_ptr,
            start,
            stop,
            x_inner,
            r_inner,
            HAS_RESIDUAL,
            WIDE,
            BLOCK_N,
        )
        if not WRITE:
            tl.store(partial_ptr + program, total)
    if WRITE:
        if not SUM:
            index = tl.arange(0, BLOCK_PARTS)
            sums = tl.load(partial_ptr + row * parts + index, mask=index < parts, other=0.0)
            total = tl.sum(sums, axis=0)
        rstd = tl.rsqrt(total / length + eps)
        _write_scaled(
            out_ptr + row * length,
            x_ptr,
            residual_ptr,
            weight_ptr,
            rstd,
            start,
            stop,
            x_inner,
            r_inner,
            w_inner,
            HAS_RESIDUAL,
            HAS_WEIGHT,
            WIDE,
            BLOCK_N,
        )


def launch_row(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None,
    *,
    normalized_shape: Sequence[int],
    eps: float | None = None,
) -> str | None:
    """RMSNorm, a row in registers."""
    eps = FLOAT32_EPSILON if eps is None else eps
    return _launch_row(call, output, None, x, None, weight, len(normalized_shape), eps)


def launch_split_row(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None,
    *,
    normalized_shape: Sequence[int],
    eps: float | None = None,
) -> str | None:
    """RMSNorm, few rows of many elements: several programs a row, in two launches."""
    eps = FLOAT32_EPSILON if eps is None else eps
    return _launch_long(call, output, None, x, None, weight, len(normalized_shape), eps, split=True)


def launch_long_row(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None,
    *,
    normalized_shape: Sequence[int],
    eps: float | None = None,
) -> str | None:
    """RMSNorm, one program a row of any length."""
    eps = FLOAT32_EPSILON if eps is None else eps
    return _launch_long(call, output, None, x, None, weight, len(normalized_shape), eps)


def launch_add_row(
    call: Call,
    output: torch.Tensor,
    residual_out: torch.Tensor,
    input: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    *,
    eps: float = 1e-6,
) -> str | None:
    """Residual sum and RMSNorm, a row in registers."""
    return _launch_row(call, output, residual_out, input, residual, weight, 1, eps)


def launch_add_split_row(
    call: Call,
    output: torch.Tensor,
    residual_out: torch.Tensor,
    input: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    *,
    eps: float = 1e-6,
) -> str | None:
    """Residual sum and RMSNorm, several programs a row, in two launches."""
    return _launch_long(call, output, residual_out, input, residual, weight, 1, eps, split=True)


def launch_add_long_row(
    call: Call,
    output: torch.Tensor,
    residual_out: torch.Tensor,
    input: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    *,
    eps: float = 1e-6,
) -> str | None:
    """Residual sum and RMSNorm, one program a row of any length."""
    return _launch_long(call, output, residual_out, input, residual, weight, 1, eps)


def _rows(
    x: torch.Tensor, residual: torch.Tensor | None, trailing: int
) -> tuple[Rows, torch.Tensor, torch.Tensor | None]:
    """Rows of the inputs, copied first where their strides make no rows."""
    tensors = [x] if residual is None else [x, residual]
    rows = rows_of(x.shape, [t.stride() for t in tensors], trailing)
    if rows is None:
        x = x.contiguous()
        residual = None if residual is None else residual.contiguous()
        rows = rows_of(x.shape, [x.stride()] * len(tensors), trailing)
        assert rows is not None
    return rows, x, residual


def _strides(rows: Rows) -> tuple[int | None, ...]:
    """x's strides and the residual's, in kernel order."""
    x = (*rows.row_strides[0], rows.inner[0])
    return (*x, *((*rows.row_strides[1], rows.inner[1]) if len(rows.inner) > 1 else [None] * 4))


def _launch_row(
    call: Call,
    output: torch.Tensor,
    residual_out: torch.Tensor | None,
    x: torch.Tensor,
    residual: torch.Tensor | None,
    weight: torch.Tensor | None,
    trailing: int,
    eps: float,
) -> str | None:
    rows, x, residual = _rows(x, residual, trailing)
    # Two float32 rows of 32768 spill (sm_90, Triton 3.9).
    limit = MAX_ROW_BLOCK if residual is None or x.element_size() < 4 else MAX_ROW_BLOCK // 2
    if rows.length > limit:
        return f"rows of {rows.length} elements do not fit in registers"
    weight, w_inner = as_vector(weight)
    config = tailed_row_config(rows.count, int(rows.length), processors(call))
    call.launch(
        rms_norm_row_kernel,
        (ceil_div(rows.count, config.rows),),
        *(output, residual_out, x, residual, weight, rows.count, rows.length, rows.n1, rows.n2),
        *_strides(rows),
        w_inner,
        eps,
        HAS_RESIDUAL=residual is not None,
        HAS_WEIGHT=weight is not None,
        RANK=rows.rank,
        WIDE=rows.wide,
        BLOCK_ROWS=config.rows,
        BLOCK_N=config.block,
        BLOCK_TAIL=config.tail,
        num_warps=config.warps,
    )
    return None


def _launch_long(
    call: Call,
    output: torch.Tensor,
    residual_out: torch.Tensor | None,
    x: torch.Tensor,
    residual: torch.Tensor | None,
    weight: torch.Tensor | None,
    trailing: int,
    eps: float,
    split: bool = False,
) -> str | None:
    rows, x, residual = _rows(x, residual, trailing)
    parts, part = 1, rows.length
    if split:
        parts, part = splits(rows.count, rows.length, CHUNK_BLOCK, processors(call))
        if parts == 1:
            return f"{rows.count} rows fill the device without splitting them"
    weight, w_inner = as_vector(weight)
    partial = None
    if split:
        partial = torch.empty(rows.count * parts, dtype=torch.float32, device=call.device)
    for sums, writes in ((True, False), (False, True)) if split else ((True, True),):
        call.launch(
            rms_norm_long_row_kernel,
            (rows.count * parts,),
            *(output, residual_out, partial, x, residual, weight, parts, part, rows.length),
            *(rows.n1, rows.n2, *_strides(rows), w_inner, eps),
            SUM=sums,
            WRITE=writes,
            HAS_RESIDUAL=residual is not None,
            HAS_WEIGHT=weight is not None,
            RANK=rows.rank,
            WIDE=rows.wide,
            BLOCK_N=CHUNK_BLOCK,
            BLOCK_PARTS=pow2_at_least(parts),
            num_warps=CHUNK_WARPS,
        )
    return None
