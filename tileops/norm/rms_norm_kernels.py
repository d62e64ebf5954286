"""RMSNorm, with or without a residual sum in front: kernels.

In: rows by their strides (tileops.tiling.strides.Rows). Launchers are in rms_norm.py.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tileops.tiling.device import row_offset, widen

__all__ = ["rms_norm_long_row_kernel", "rms_norm_row_kernel"]


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
    # Inductor hands floats over in float64.
    rstd = tl.rsqrt((squares / length + eps).to(tl.float32))
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
        rstd = tl.rsqrt((total / length + eps).to(tl.float32))
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
