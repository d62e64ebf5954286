"""LayerNorm: kernels and launchers.

Rows up to 32768 elements stay in registers, and the variance is taken around the mean. Longer rows
are read twice, block by block, with means and squared deviations merged by Chan's formula: by one
program, or by many that meet in a small float32 buffer where rows are few.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.config import ceil_div, pow2_at_least, splits, tailed_row_config
from tileops.tiling.device import row_offset, widen
from tileops.tiling.strides import Rows, as_vector, rows_of

__all__ = ["launch_long_row", "launch_row", "launch_split_row"]

MAX_ROW_BLOCK = 32768
CHUNK_BLOCK = 4096
CHUNK_WARPS = 8


@triton.jit
def _affine(
    y,
    weight_ptr,
    bias_ptr,
    cols,
    mask,
    w_inner,
    b_inner,
    HAS_WEIGHT: tl.constexpr,
    HAS_BIAS: tl.constexpr,
):
    if HAS_WEIGHT:
        y *= tl.load(weight_ptr + cols * w_inner, mask=mask, other=0.0).to(tl.float32)
    if HAS_BIAS:
        y += tl.load(bias_ptr + cols * b_inner, mask=mask, other=0.0).to(tl.float32)
    return y


@triton.jit
def layer_norm_row_kernel(
    out_ptr,
    x_ptr,
    weight_ptr,
    bias_ptr,
    rows,
    length,
    n1,
    n2,
    xs0,
    xs1,
    xs2,
    x_inner,
    w_inner,
    b_inner,
    eps,
    HAS_WEIGHT: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_TAIL: tl.constexpr,
):
    """BLOCK_ROWS whole rows a program; BLOCK_TAIL: 0, or what holds columns from BLOCK_N on."""
    row = widen(tl.program_id(0), WIDE) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    cols = widen(tl.arange(0, BLOCK_N), WIDE)[None, :]
    inside = cols < length
    mask = (row < rows) & inside
    x_ptr += row_offset(row, n1, n2, xs0, xs1, xs2, RANK)
    x = tl.load(x_ptr + cols * x_inner, mask=mask, other=0.0).to(tl.float32)
    total = tl.sum(x, axis=1, keep_dims=True)
    if BLOCK_TAIL > 0:
        tail = BLOCK_N + widen(tl.arange(0, BLOCK_TAIL), WIDE)[None, :]
        tail_inside = tail < length
        tail_mask = (row < rows) & tail_inside
        z = tl.load(x_ptr + tail * x_inner, mask=tail_mask, other=0.0).to(tl.float32)
        total += tl.sum(z, axis=1, keep_dims=True)
    mean = total / length
    centred = tl.where(inside, x - mean, 0.0)
    squares = tl.sum(centred * centred, axis=1, keep_dims=True)
    if BLOCK_TAIL > 0:
        z = tl.where(tail_inside, z - mean, 0.0)
        squares += tl.sum(z * z, axis=1, keep_dims=True)
    # Inductor hands floats over in float64.
    rstd = tl.rsqrt((squares / length + eps).to(tl.float32))
    out_ptr += row * length
    y = _affine(
        centred * rstd, weight_ptr, bias_ptr, cols, inside, w_inner, b_inner, HAS_WEIGHT, HAS_BIAS
    )
    tl.store(out_ptr + cols, y.to(out_ptr.dtype.element_ty), mask=mask)
    if BLOCK_TAIL > 0:
        z = _affine(
            z * rstd, weight_ptr, bias_ptr, tail, tail_inside, w_inner, b_inner,
            HAS_WEIGHT, HAS_BIAS,
        )  # fmt: skip
        tl.store(out_ptr + tail, z.to(out_ptr.dtype.element_ty), mask=tail_mask)


@triton.jit
def _mean_and_deviation(x_ptr, start, stop, x_inner, WIDE: tl.constexpr, BLOCK_N: tl.constexpr):
    """Mean, and sum of squared deviations from it, over [start, stop)."""
    mean = 0.0
    deviation = 0.0
    for first in range(start, stop, BLOCK_N):
        cols = widen(first + tl.arange(0, BLOCK_N), WIDE)
        mask = cols < stop
        x = tl.load(x_ptr + cols * x_inner, mask=mask, other=0.0).to(tl.float32)
        size = tl.minimum(stop - first, BLOCK_N).to(tl.float32)
        seen = (first - start).to(tl.float32)
        block_mean = tl.sum(x, axis=0) / size
        centred = tl.where(mask, x - block_mean, 0.0)
        delta = block_mean - mean
        deviation += tl.sum(centred * centred, axis=0)
        deviation += delta * delta * (seen * size / (seen + size))
        mean += delta * (size / (seen + size))
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
def layer_norm_long_row_kernel(
    out_ptr,
    partial_ptr,
    x_ptr,
    weight_ptr,
    bias_ptr,
    parts,
    part,
    length,
    n1,
    n2,
    xs0,
    xs1,
    xs2,
    x_inner,
    w_inner,
    b_inner,
    eps,
    SUM: tl.constexpr,
    WRITE: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    HAS_BIAS: tl.constexpr,
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
    out_ptr += row * length
    mean = 0.0
    deviation = 0.0
    if SUM:
        mean, deviation = _mean_and_deviation(x_ptr, start, stop, x_inner, WIDE, BLOCK_N)
        if not WRITE:
            tl.store(partial_ptr + program * 2, mean)
            tl.store(partial_ptr + program * 2 + 1, deviation)
    if WRITE:
        if not SUM:
            mean, deviation = _merged(partial_ptr, row, parts, part, length, BLOCK_PARTS)
        rstd = tl.rsqrt((deviation / length + eps).to(tl.float32))
        for first in range(start, stop, BLOCK_N):
            cols = widen(first + tl.arange(0, BLOCK_N), WIDE)
            mask = cols < stop
            x = tl.load(x_ptr + cols * x_inner, mask=mask, other=0.0).to(tl.float32)
            y = _affine(
                (x - mean) * rstd,
                weight_ptr,
                bias_ptr,
                cols,
                mask,
                w_inner,
                b_inner,
                HAS_WEIGHT,
                HAS_BIAS,
            )
            tl.store(out_ptr + cols, y.to(out_ptr.dtype.element_ty), mask=mask)


def _rows(x: torch.Tensor, trailing: int) -> tuple[Rows, torch.Tensor]:
    """Rows of the input, copied first where its strides make no rows."""
    rows = rows_of(x.shape, [x.stride()], trailing)
    if rows is None:
        x = x.contiguous()
        rows = rows_of(x.shape, [x.stride()], trailing)
        assert rows is not None
    return rows, x


def launch_row(
    call: Call,
    output: torch.Tensor,
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    *,
    normalized_shape: Sequence[int],
    eps: float = 1e-5,
) -> str | None:
    """LayerNorm, a row in registers."""
    trailing = len(normalized_shape)
    rows, x = _rows(input, trailing)
    if rows.length > MAX_ROW_BLOCK:
        return f"rows of {rows.length} elements do not fit in registers"
    weight, w_inner = as_vector(weight)
    bias, b_inner = as_vector(bias)
    config = tailed_row_config(rows.count, int(rows.length), processors(call))
    call.launch(
        layer_norm_row_kernel,
        (ceil_div(rows.count, config.rows),),
        *(output, x, weight, bias, rows.count, rows.length, rows.n1, rows.n2),
        *(*rows.row_strides[0], rows.inner[0], w_inner, b_inner, eps),
        HAS_WEIGHT=weight is not None,
        HAS_BIAS=bias is not None,
        RANK=rows.rank,
        WIDE=rows.wide,
        BLOCK_ROWS=config.rows,
        BLOCK_N=config.block,
        BLOCK_TAIL=config.tail,
        num_warps=config.warps,
    )
    return None


def launch_split_row(
    call: Call,
    output: torch.Tensor,
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    *,
    normalized_shape: Sequence[int],
    eps: float = 1e-5,
) -> str | None:
    """LayerNorm, few rows of many elements: several programs a row, in two launches."""
    rows, x = _rows(input, len(normalized_shape))
    parts, part = splits(rows.count, rows.length, CHUNK_BLOCK, processors(call))
    if parts == 1:
        return f"{rows.count} rows fill the device without splitting them"
    partial = call.empty(rows.count * parts * 2, torch.float32)
    stages = ((True, False), (False, True))
    _launch_parts(call, output, rows, x, weight, bias, eps, partial, (parts, part), stages)
    return None


def launch_long_row(
    call: Call,
    output: torch.Tensor,
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    *,
    normalized_shape: Sequence[int],
    eps: float = 1e-5,
) -> str | None:
    """LayerNorm, one program a row of any length."""
    rows, x = _rows(input, len(normalized_shape))
    stages = ((True, True),)
    _launch_parts(call, output, rows, x, weight, bias, eps, None, (1, rows.length), stages)
    return None


def _launch_parts(
    call: Call,
    output: torch.Tensor,
    rows: Rows,
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    eps: float,
    partial: torch.Tensor | None,
    division: tuple[int, int],
    stages: tuple[tuple[bool, bool], ...],
) -> None:
    """The long-row kernel, once for each (SUM, WRITE)."""
    parts, part = division
    weight, w_inner = as_vector(weight)
    bias, b_inner = as_vector(bias)
    for sums, writes in stages:
        call.launch(
            layer_norm_long_row_kernel,
            (rows.count * parts,),
            *(output, partial, x, weight, bias, parts, part, rows.length, rows.n1, rows.n2),
            *(*rows.row_strides[0], rows.inner[0], w_inner, b_inner, eps),
            SUM=sums,
            WRITE=writes,
            HAS_WEIGHT=weight is not None,
            HAS_BIAS=bias is not None,
            RANK=rows.rank,
            WIDE=rows.wide,
            BLOCK_N=CHUNK_BLOCK,
            BLOCK_PARTS=pow2_at_least(parts),
            num_warps=CHUNK_WARPS,
        )
