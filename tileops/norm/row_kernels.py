"""Normalised rows: kernels.

A row is centred or not, is a sum of two or not, and is then scaled, shifted and gated by operands
that lie in one of these ways: "none" is there; a "vector" is shared by all rows; a "tile" is shaped
as the input; "spread" is one element a row; "grouped" is one for every `run` elements of a row.
In: rows by their strides (tileops.tiling.strides.Rows). Launchers are in rows.py.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tileops.tiling.device import row_offset, widen

__all__ = ["load_sum", "norm_long_row_kernel", "norm_row_kernel"]


@triton.jit
def load_sum(x_ptr, residual_ptr, cols, mask, x_inner, r_inner, RESIDUAL: tl.constexpr):
    """Elements of the input, or of the sum of two, in float32."""
    x = tl.load(x_ptr + cols * x_inner, mask=mask, other=0.0).to(tl.float32)
    if RESIDUAL:
        x += tl.load(residual_ptr + cols * r_inner, mask=mask, other=0.0).to(tl.float32)
    return x


@triton.jit
def _operand(ptr, cols, mask, inside, here, inner, run, HOW: tl.constexpr):
    """An operand's elements as they are stored; `inside` are columns, `here` rows that exist."""
    if HOW == "vector":
        return tl.load(ptr + cols * inner, mask=inside, other=0.0)
    elif HOW == "spread":
        return tl.load(ptr, mask=here, other=0.0)
    elif HOW == "grouped":
        return tl.load(ptr + (cols // run) * inner, mask=mask, other=0.0)
    elif HOW == "tile":
        return tl.load(ptr + cols * inner, mask=mask, other=0.0)
    else:
        return 0.0


@triton.constexpr_function
def _has_rows(how):
    """Whether an operand lies differently for every row."""
    return how in ("tile", "spread", "grouped")


@triton.jit
def _shaped(
    y,
    scale,
    shift,
    gate,
    SCALE: tl.constexpr,
    SHIFT: tl.constexpr,
    GATE: tl.constexpr,
):
    if SCALE != "none":
        y *= scale.to(tl.float32)
    if SHIFT != "none":
        y += shift.to(tl.float32)
    if GATE != "none":
        y *= gate.to(tl.float32)
    return y


@triton.jit
def norm_row_kernel(
    out_ptr,
    sum_ptr,
    x_ptr,
    residual_ptr,
    scale_ptr,
    shift_ptr,
    gate_ptr,
    rows,
    length,
    run,
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
    as0,
    as1,
    as2,
    a_inner,
    bs0,
    bs1,
    bs2,
    b_inner,
    gs0,
    gs1,
    gs2,
    g_inner,
    eps,
    CENTRED: tl.constexpr,
    RESIDUAL: tl.constexpr,
    SCALE: tl.constexpr,
    SHIFT: tl.constexpr,
    GATE: tl.constexpr,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_TAIL: tl.constexpr,
):
    """BLOCK_ROWS whole rows a program; BLOCK_TAIL: 0, or what holds columns from BLOCK_N on."""
    row = widen(tl.program_id(0), WIDE) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    cols = widen(tl.arange(0, BLOCK_N), WIDE)[None, :]
    here = row < rows
    inside = cols < length
    mask = here & inside
    x_ptr += row_offset(row, n1, n2, xs0, xs1, xs2, RANK)
    if RESIDUAL:
        residual_ptr += row_offset(row, n1, n2, rs0, rs1, rs2, RANK)
    if _has_rows(SCALE):
        scale_ptr += row_offset(row, n1, n2, as0, as1, as2, RANK)
    if _has_rows(SHIFT):
        shift_ptr += row_offset(row, n1, n2, bs0, bs1, bs2, RANK)
    if _has_rows(GATE):
        gate_ptr += row_offset(row, n1, n2, gs0, gs1, gs2, RANK)
    x = load_sum(x_ptr, residual_ptr, cols, mask, x_inner, r_inner, RESIDUAL)
    if BLOCK_TAIL > 0:
        tail = BLOCK_N + widen(tl.arange(0, BLOCK_TAIL), WIDE)[None, :]
        tail_inside = tail < length
        tail_mask = here & tail_inside
        z = load_sum(x_ptr, residual_ptr, tail, tail_mask, x_inner, r_inner, RESIDUAL)
    # What is as large as the input is under way while the row is summed.
    if SCALE == "tile":
        scale = _operand(scale_ptr, cols, mask, inside, here, a_inner, run, SCALE)
        shift = _operand(shift_ptr, cols, mask, inside, here, b_inner, run, SHIFT)
        gate = _operand(gate_ptr, cols, mask, inside, here, g_inner, run, GATE)
    out_ptr += row * length
    if RESIDUAL:
        sum_ptr += row * length
        tl.store(sum_ptr + cols, x.to(sum_ptr.dtype.element_ty), mask=mask)
        if BLOCK_TAIL > 0:
            tl.store(sum_ptr + tail, z.to(sum_ptr.dtype.element_ty), mask=tail_mask)
    if CENTRED:
        total = tl.sum(x, axis=1, keep_dims=True)
        if BLOCK_TAIL > 0:
            total += tl.sum(z, axis=1, keep_dims=True)
        mean = total / length
        x = tl.where(inside, x - mean, 0.0)
        if BLOCK_TAIL > 0:
            z = tl.where(tail_inside, z - mean, 0.0)
    squares = tl.sum(x * x, axis=1, keep_dims=True)
    if BLOCK_TAIL > 0:
        squares += tl.sum(z * z, axis=1, keep_dims=True)
    # Inductor hands floats over in float64.
    rstd = tl.rsqrt((squares / length + eps).to(tl.float32))
    if SCALE != "tile":
        scale = _operand(scale_ptr, cols, mask, inside, here, a_inner, run, SCALE)
        shift = _operand(shift_ptr, cols, mask, inside, here, b_inner, run, SHIFT)
        gate = _operand(gate_ptr, cols, mask, inside, here, g_inner, run, GATE)
    y = _shaped(x * rstd, scale, shift, gate, SCALE, SHIFT, GATE)
    tl.store(out_ptr + cols, y.to(out_ptr.dtype.element_ty), mask=mask)
    if BLOCK_TAIL > 0:
        scale = _operand(scale_ptr, tail, tail_mask, tail_inside, here, a_inner, run, SCALE)
        shift = _operand(shift_ptr, tail, tail_mask, tail_inside, here, b_inner, run, SHIFT)
        gate = _operand(gate_ptr, tail, tail_mask, tail_inside, here, g_inner, run, GATE)
        z = _shaped(z * rstd, scale, shift, gate, SCALE, SHIFT, GATE)
        tl.store(out_ptr + tail, z.to(out_ptr.dtype.element_ty), mask=tail_mask)


@triton.jit
def _mean_and_deviation(
    sum_ptr,
    x_ptr,
    residual_ptr,
    start,
    stop,
    x_inner,
    r_inner,
    CENTRED: tl.constexpr,
    RESIDUAL: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Mean, and sum of squared deviations from it, over [start, stop); from 0 if not CENTRED."""
    mean = 0.0
    deviation = 0.0
    squares = tl.zeros([BLOCK_N], dtype=tl.float32)
    for first in range(start, stop, BLOCK_N):
        cols = widen(first + tl.arange(0, BLOCK_N), WIDE)
        mask = cols < stop
        x = load_sum(x_ptr, residual_ptr, cols, mask, x_inner, r_inner, RESIDUAL)
        if RESIDUAL:
            tl.store(sum_ptr + cols, x.to(sum_ptr.dtype.element_ty), mask=mask)
        if CENTRED:
            size = tl.minimum(stop - first, BLOCK_N).to(tl.float32)
            seen = (first - start).to(tl.float32)
            block_mean = tl.sum(x, axis=0) / size
            centred = tl.where(mask, x - block_mean, 0.0)
            delta = block_mean - mean
            deviation += tl.sum(centred * centred, axis=0)
            deviation += delta * delta * (seen * size / (seen + size))
            mean += delta * (size / (seen + size))
        else:
            squares += x * x
    if not CENTRED:
        deviation = tl.sum(squares, axis=0)
    return mean, deviation


@triton.jit
def _merged(partial_ptr, row, parts, part, length, BLOCK_PARTS: tl.constexpr):
    """Mean and squared deviations of a row from those of its parts."""
    index = tl.arange(0, BLOCK_PARTS)
    used = index < parts
    place = (row * parts + index) * 2
    means = tl.load(partial_ptr + place, mask=used, other=0.0)
    deviations = tl.load(partial_ptr + place + 1, mask=used, other=0.0)
    sizes = tl.minimum(length - index * part, part).to(tl.float32)
    sizes = tl.where(used, sizes, 0.0)
    mean = tl.sum(means * sizes, axis=0) / length
    away = tl.where(used, means - mean, 0.0)
    return mean, tl.sum(deviations + sizes * away * away, axis=0)


@triton.jit
def norm_long_row_kernel(
    out_ptr,
    sum_ptr,
    partial_ptr,
    x_ptr,
    residual_ptr,
    scale_ptr,
    shift_ptr,
    gate_ptr,
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
    as0,
    as1,
    as2,
    a_inner,
    bs0,
    bs1,
    bs2,
    b_inner,
    gs0,
    gs1,
    gs2,
    g_inner,
    eps,
    SUM: tl.constexpr,
    WRITE: tl.constexpr,
    CENTRED: tl.constexpr,
    RESIDUAL: tl.constexpr,
    SCALE: tl.constexpr,
    SHIFT: tl.constexpr,
    GATE: tl.constexpr,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_PARTS: tl.constexpr,
):
    """One part of a row a program.

    SUM and WRITE: the part is the row. SUM alone leaves the part's mean and squared deviations in
    the buffer; WRITE alone starts from the buffer.
    """
    program = tl.program_id(0)
    row = widen(program // parts, WIDE)
    start = (program % parts) * part
    stop = tl.minimum(start + part, length)
    x_ptr += row_offset(row, n1, n2, xs0, xs1, xs2, RANK)
    if RESIDUAL:
        residual_ptr += row_offset(row, n1, n2, rs0, rs1, rs2, RANK)
        sum_ptr += row * length
    mean = 0.0
    deviation = 0.0
    if SUM:
        mean, deviation = _mean_and_deviation(
            sum_ptr, x_ptr, residual_ptr, start, stop, x_inner, r_inner,
            CENTRED, RESIDUAL, WIDE, BLOCK_N,
        )  # fmt: skip
        if not WRITE:
            tl.store(partial_ptr + program * 2, mean)
            tl.store(partial_ptr + program * 2 + 1, deviation)
    if WRITE:
        if not SUM:
            mean, deviation = _merged(partial_ptr, row, parts, part, length, BLOCK_PARTS)
        rstd = tl.rsqrt((deviation / length + eps).to(tl.float32))
        out_ptr += row * length
        if _has_rows(SCALE):
            scale_ptr += row_offset(row, n1, n2, as0, as1, as2, RANK)
        if _has_rows(SHIFT):
            shift_ptr += row_offset(row, n1, n2, bs0, bs1, bs2, RANK)
        if _has_rows(GATE):
            gate_ptr += row_offset(row, n1, n2, gs0, gs1, gs2, RANK)
        for first in range(start, stop, BLOCK_N):
            cols = widen(first + tl.arange(0, BLOCK_N), WIDE)
            mask = cols < stop
            # The sum is taken again, not read back: what was stored has been rounded.
            x = load_sum(x_ptr, residual_ptr, cols, mask, x_inner, r_inner, RESIDUAL)
            scale = _operand(scale_ptr, cols, mask, mask, True, a_inner, 1, SCALE)
            shift = _operand(shift_ptr, cols, mask, mask, True, b_inner, 1, SHIFT)
            gate = _operand(gate_ptr, cols, mask, mask, True, g_inner, 1, GATE)
            if CENTRED:
                x -= mean
            y = _shaped(x * rstd, scale, shift, gate, SCALE, SHIFT, GATE)
            tl.store(out_ptr + cols, y.to(out_ptr.dtype.element_ty), mask=mask)
