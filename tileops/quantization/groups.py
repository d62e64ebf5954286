"""Rows, or groups of 128 of a row, whose scale and codes one program makes in registers.

Elements are read once. Short groups share a program; a long one takes all of it, in two powers of
two where one would leave lanes idle.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from tileops.quantization.reference import BLOCK, FP8, INT8
from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.codes import code, encoded, magnitude, quotient, scale_of
from tileops.tiling.config import ceil_div, many, tailed_row_config
from tileops.tiling.device import row_offset, widen
from tileops.tiling.strides import Rows, as_vector, rows_of

__all__ = [
    "FUNCTIONS",
    "LONGEST",
    "Function",
    "launch_groups",
    "load_divided",
    "rows_or_copy",
]

#: Elements that a program holds: 32 float32 registers of a thread.
LONGEST = 32768
#: Rows of more elements than this go to several programs where they leave processors idle.
SHARED = 8192


@dataclass(frozen=True, slots=True)
class Function:
    """The largest code, and of which elements of a row there is a scale: all, for None."""

    limit: float
    size: int | None = None


FUNCTIONS = {
    "fp8": Function(FP8),
    "int8": Function(INT8),
    "int8_smooth": Function(INT8),
    "int8_group": Function(INT8, BLOCK),
    "int8_tensor": Function(INT8),
}


@triton.jit
def load_divided(x_ptr, smooth_ptr, offset, column, smooth_stride, mask):
    """Elements in float32, over their channel's factor where there are any; 0 past the ends."""
    x = tl.load(x_ptr + offset, mask=mask, other=0.0).to(tl.float32)
    if smooth_ptr is not None:
        smooth = tl.load(smooth_ptr + column * smooth_stride, mask=mask, other=1.0)
        x = tl.div_rn(x, smooth)
    return x


@triton.jit
def _load(
    x_ptr, smooth_ptr, first, lane, row, size, length, inner, smooth_stride, WIDE: tl.constexpr
):
    column = first + lane
    mask = (row >= 0) & (lane < size) & (column < length)
    column = widen(column, WIDE)
    return load_divided(x_ptr, smooth_ptr, column * inner, column, smooth_stride, mask)


@triton.jit
def _store(q_ptr, x, scale, first, lane, row, size, length):
    column = first + lane
    mask = (row >= 0) & (lane < size) & (column < length)
    y = code(quotient(x, scale), scale, q_ptr.dtype.element_ty)
    tl.store(q_ptr + column, y, mask=mask)


@triton.jit
def group_kernel(
    q_ptr,
    scale_ptr,
    x_ptr,
    smooth_ptr,
    count,
    groups,
    size,
    length,
    n1,
    n2,
    xs0,
    xs1,
    xs2,
    inner,
    smooth_stride,
    LIMIT: tl.constexpr,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_TAIL: tl.constexpr,
):
    """BLOCK_ROWS groups of up to `size` elements a program; `groups` of them make a row."""
    group = widen(tl.program_id(0), WIDE) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    there = group < count
    row = tl.where(there, group // groups, -1)
    first = group % groups * size
    x_ptr += row_offset(row, n1, n2, xs0, xs1, xs2, RANK)
    q_ptr += row * length
    lane = tl.arange(0, BLOCK_N)[None, :]
    x = _load(x_ptr, smooth_ptr, first, lane, row, size, length, inner, smooth_stride, WIDE)
    largest = tl.max(magnitude(x), axis=1, keep_dims=True)
    if BLOCK_TAIL > 0:
        end = BLOCK_N + tl.arange(0, BLOCK_TAIL)[None, :]
        z = _load(x_ptr, smooth_ptr, first, end, row, size, length, inner, smooth_stride, WIDE)
        largest = tl.maximum(largest, tl.max(magnitude(z), axis=1, keep_dims=True))
    scale = scale_of(largest, LIMIT)
    tl.store(scale_ptr + group, scale, mask=there)
    _store(q_ptr, x, scale, first, lane, row, size, length)
    if BLOCK_TAIL > 0:
        _store(q_ptr, z, scale, first, end, row, size, length)


def launch_groups(
    call: Call,
    q: torch.Tensor,
    scale: torch.Tensor,
    x: torch.Tensor,
    smooth: torch.Tensor | None = None,
    *,
    function: str,
) -> str | None:
    """Groups that a program holds."""
    limit, size = FUNCTIONS[function].limit, FUNCTIONS[function].size
    length = x.shape[-1]
    view, groups = x, 1
    if size is not None and length % size == 0:
        view = x.unflatten(-1, (length // size, size))
    elif size is not None:
        groups = ceil_div(length, size)
    rows = rows_or_copy(view)
    size = rows.walk.length if groups == 1 else size
    count = rows.walk.count * groups
    chip = processors(call)
    if size > LONGEST or (size > SHARED and 2 * many(count) < chip):
        return f"{count} groups of {size} elements are shared by programs"
    config = tailed_row_config(count, int(size), chip)
    smooth, smooth_stride = as_vector(smooth)
    walk = rows.walk
    call.launch(
        group_kernel,
        (ceil_div(count, config.rows),),
        *(encoded(call, q), scale, rows.tensor, smooth, count, groups, size, walk.length),
        *(walk.n1, walk.n2, *walk.row_strides[0], walk.inner[0], smooth_stride),
        LIMIT=limit,
        RANK=walk.rank,
        WIDE=walk.wide,
        BLOCK_ROWS=config.rows,
        BLOCK_N=config.block,
        BLOCK_TAIL=config.tail,
        num_warps=config.warps,
    )
    return None


@dataclass(frozen=True, slots=True)
class Walked:
    """A tensor and how its rows are walked."""

    tensor: torch.Tensor
    walk: Rows


def rows_or_copy(x: torch.Tensor, trailing: int = 1) -> Walked:
    """x as rows of its last axes, copied where they have more strides than a kernel walks."""
    walk = rows_of(x.shape, [x.stride()], trailing)
    if walk is None:
        x = x.contiguous()
        walk = rows_of(x.shape, [x.stride()], trailing)
    assert walk is not None
    return Walked(x, walk)
