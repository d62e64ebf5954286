"""RMSNorm of a sum, quantized row by row: kernels and launchers.

A row in registers is read once. A longer one is walked three times by one program: for its sum of
squares, for its largest magnitude, for its codes.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from tileops.norm.forms import Form
from tileops.norm.reference import CODES, quantized_bounds
from tileops.norm.row_kernels import load_sum
from tileops.norm.rows import CHUNK_BLOCK, CHUNK_WARPS, limit_of
from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.codes import code, encoded, magnitude, quotient
from tileops.tiling.config import ceil_div, tailed_row_config
from tileops.tiling.device import row_offset, widen
from tileops.tiling.strides import Rows

__all__ = ["launch_long_row", "launch_row"]


@triton.jit
def _normal(x, rstd, weight_ptr, cols, inside, w_inner):
    """Scaled elements; 0 where there are none, whatever the row is."""
    y = x * rstd * tl.load(weight_ptr + cols * w_inner, mask=inside, other=0.0).to(tl.float32)
    return tl.where(inside, y, 0.0)


@triton.jit
def _scale_of(largest, least, most, LIMIT: tl.constexpr):
    """The scale of a row whose largest magnitude is this, in bits; NaN stays NaN."""
    largest = largest.to(tl.float32, bitcast=True)
    largest = tl.where(largest > most, most, largest).to(tl.float32)
    scale = tl.div_rn(largest, tl.full(largest.shape, LIMIT, tl.float32))
    return tl.where(scale < least, least, scale).to(tl.float32)


@triton.jit
def quantized_row_kernel(
    q_ptr,
    scale_ptr,
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
    least,
    most,
    LIMIT: tl.constexpr,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_TAIL: tl.constexpr,
):
    """BLOCK_ROWS whole rows a program; BLOCK_TAIL: 0, or what holds columns from BLOCK_N on."""
    row = widen(tl.program_id(0), WIDE) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    here = row < rows
    cols = widen(tl.arange(0, BLOCK_N), WIDE)[None, :]
    inside = cols < length
    x_ptr += row_offset(row, n1, n2, xs0, xs1, xs2, RANK)
    residual_ptr += row_offset(row, n1, n2, rs0, rs1, rs2, RANK)
    x = load_sum(x_ptr, residual_ptr, cols, here & inside, x_inner, r_inner, True)
    squares = tl.sum(x * x, axis=1, keep_dims=True)
    sum_ptr += row * length
    tl.store(sum_ptr + cols, x.to(sum_ptr.dtype.element_ty), mask=here & inside)
    if BLOCK_TAIL > 0:
        tail = BLOCK_N + widen(tl.arange(0, BLOCK_TAIL), WIDE)[None, :]
        tail_inside = tail < length
        z = load_sum(x_ptr, residual_ptr, tail, here & tail_inside, x_inner, r_inner, True)
        squares += tl.sum(z * z, axis=1, keep_dims=True)
        tl.store(sum_ptr + tail, z.to(sum_ptr.dtype.element_ty), mask=here & tail_inside)
    # Inductor hands floats over in float64.
    rstd = tl.rsqrt((squares / length + eps).to(tl.float32))
    x = _normal(x, rstd, weight_ptr, cols, inside, w_inner)
    largest = tl.max(magnitude(x), axis=1, keep_dims=True)
    if BLOCK_TAIL > 0:
        z = _normal(z, rstd, weight_ptr, tail, tail_inside, w_inner)
        largest = tl.maximum(largest, tl.max(magnitude(z), axis=1, keep_dims=True))
    scale = _scale_of(largest, least, most, LIMIT)
    tl.store(scale_ptr + row, scale, mask=here)
    q_ptr += row * length
    q = code(quotient(x, scale), scale, q_ptr.dtype.element_ty)
    tl.store(q_ptr + cols, q, mask=here & inside)
    if BLOCK_TAIL > 0:
        q = code(quotient(z, scale), scale, q_ptr.dtype.element_ty)
        tl.store(q_ptr + tail, q, mask=here & tail_inside)


@triton.jit
def quantized_long_row_kernel(
    q_ptr,
    scale_ptr,
    sum_ptr,
    x_ptr,
    residual_ptr,
    weight_ptr,
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
    least,
    most,
    LIMIT: tl.constexpr,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """A row a program."""
    row = widen(tl.program_id(0), WIDE)
    x_ptr += row_offset(row, n1, n2, xs0, xs1, xs2, RANK)
    residual_ptr += row_offset(row, n1, n2, rs0, rs1, rs2, RANK)
    sum_ptr += row * length
    q_ptr += row * length
    squares = tl.zeros([BLOCK_N], dtype=tl.float32)
    for first in range(0, length, BLOCK_N):
        cols = widen(first + tl.arange(0, BLOCK_N), WIDE)
        x = load_sum(x_ptr, residual_ptr, cols, cols < length, x_inner, r_inner, True)
        tl.store(sum_ptr + cols, x.to(sum_ptr.dtype.element_ty), mask=cols < length)
        squares += x * x
    rstd = tl.rsqrt((tl.sum(squares, axis=0) / length + eps).to(tl.float32))
    largest = tl.zeros([BLOCK_N], dtype=tl.int32)
    for first in range(0, length, BLOCK_N):
        cols = widen(first + tl.arange(0, BLOCK_N), WIDE)
        x = load_sum(x_ptr, residual_ptr, cols, cols < length, x_inner, r_inner, True)
        y = _normal(x, rstd, weight_ptr, cols, cols < length, w_inner)
        largest = tl.maximum(largest, magnitude(y))
    scale = _scale_of(tl.max(largest, axis=0, keep_dims=True), least, most, LIMIT)
    tl.store(scale_ptr + row + tl.arange(0, 1), scale)
    for first in range(0, length, BLOCK_N):
        cols = widen(first + tl.arange(0, BLOCK_N), WIDE)
        x = load_sum(x_ptr, residual_ptr, cols, cols < length, x_inner, r_inner, True)
        y = _normal(x, rstd, weight_ptr, cols, cols < length, w_inner)
        q = code(quotient(y, scale), scale, q_ptr.dtype.element_ty)
        tl.store(q_ptr + cols, q, mask=cols < length)


def launch_row(call: Call, *tensors: torch.Tensor, **params: Any) -> str | None:
    """A row in registers."""
    rows, form = _form(tensors, params).placed()
    if rows.length > limit_of(form):
        return f"rows of {rows.length} elements do not fit in registers"
    config = tailed_row_config(rows.count, int(rows.length), processors(call))
    call.launch(
        quantized_row_kernel,
        (ceil_div(rows.count, config.rows),),
        *(encoded(call, tensors[0]), tensors[1], form.total, form.x, form.residual, form.scale),
        *(rows.count, rows.length, *_numbers(rows, form, params)),
        LIMIT=CODES[params["quant_dtype"]],
        RANK=rows.rank,
        WIDE=rows.wide,
        BLOCK_ROWS=config.rows,
        BLOCK_N=config.block,
        BLOCK_TAIL=config.tail,
        num_warps=config.warps,
    )
    return None


def launch_long_row(call: Call, *tensors: torch.Tensor, **params: Any) -> str | None:
    """One program a row of any length."""
    rows, form = _form(tensors, params).placed()
    call.launch(
        quantized_long_row_kernel,
        (rows.count,),
        *(encoded(call, tensors[0]), tensors[1], form.total, form.x, form.residual, form.scale),
        *(rows.length, *_numbers(rows, form, params)),
        LIMIT=CODES[params["quant_dtype"]],
        RANK=rows.rank,
        WIDE=rows.wide,
        BLOCK_N=CHUNK_BLOCK,
        num_warps=CHUNK_WARPS,
    )
    return None


def _form(tensors: tuple[torch.Tensor, ...], params: dict[str, Any]) -> Form:
    q, _, total, x, residual, weight = tensors
    return Form(q, x, 1, params["eps"], weight, total=total, residual=residual, centred=False)


def _numbers(rows: Rows, form: Form, params: dict[str, Any]) -> tuple[Any, ...]:
    """What both kernels take between the sizes and their constants."""
    strides = form.strides(rows)
    bounds = quantized_bounds(params["quant_dtype"], params["scale_ub"])
    return rows.n1, rows.n2, *strides[:8], strides[11], form.eps, *bounds
