"""Rotary embedding: one kernel for every layout and stride.

A program takes some positions and some heads of one batch entry. Angles are made in the kernel,
once for all its heads, so that memory holds nothing but x and the result.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.config import ceil_div, float64_bits, pow2_at_least
from tileops.tiling.device import sin_cos_of_turns, turns_per_position, widen
from tileops.tiling.strides import is_wide

__all__ = ["launch_rope"]

TILE = 2048


@triton.jit(do_not_specialize=["octaves_bits"])
def rope_kernel(
    out_ptr,
    x_ptr,
    position_blocks,
    head_blocks,
    positions,
    heads,
    half,
    size,
    x_batch,
    x_position,
    x_head,
    x_inner,
    octaves_bits,
    INTERLEAVED: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_S: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_P: tl.constexpr,
    BLOCK_REST: tl.constexpr,
):
    """BLOCK_S positions by BLOCK_H heads by all pairs a program.

    BLOCK_REST: 0, or what holds the elements past the pairs, which are copied.
    """
    program = tl.program_id(0)
    head_block = program % head_blocks
    rest = program // head_blocks
    batch = widen(rest // position_blocks, WIDE)
    position = widen(rest % position_blocks, WIDE) * BLOCK_S + tl.arange(0, BLOCK_S)
    pair = tl.arange(0, BLOCK_P)
    head = widen(head_block * BLOCK_H + tl.arange(0, BLOCK_H), WIDE)[None, :, None]
    place = position[:, None, None]
    x_ptr += batch * x_batch + place * x_position + head * x_head
    out_ptr += ((batch * positions + place) * heads + head) * size
    mask = (place < positions) & (head < heads)
    if BLOCK_REST > 0:
        rest_column = 2 * half + tl.arange(0, BLOCK_REST)[None, None, :]
        rest_mask = mask & (rest_column < size)
        x = tl.load(x_ptr + widen(rest_column, WIDE) * x_inner, mask=rest_mask)
        tl.store(out_ptr + rest_column, x, mask=rest_mask)

    turns = position.to(tl.float64)[:, None] * turns_per_position(pair, octaves_bits)[None, :]
    sine, cosine = sin_cos_of_turns(turns)
    sine = sine[:, None, :]
    cosine = cosine[:, None, :]
    if INTERLEAVED:
        column = tl.arange(0, 2 * BLOCK_P)[None, None, :]
        mask = mask & (column < 2 * half)
        pairs = tl.load(x_ptr + widen(column, WIDE) * x_inner, mask=mask).to(tl.float32)
        first, second = tl.split(tl.reshape(pairs, [BLOCK_S, BLOCK_H, BLOCK_P, 2]))
        y = tl.join(first * cosine - second * sine, second * cosine + first * sine)
        y = tl.reshape(y, [BLOCK_S, BLOCK_H, 2 * BLOCK_P])
        tl.store(out_ptr + column, y.to(out_ptr.dtype.element_ty), mask=mask)
    else:
        column = pair[None, None, :]
        mask = mask & (column < half)
        low = widen(column, WIDE) * x_inner
        high = widen(column + half, WIDE) * x_inner
        first = tl.load(x_ptr + low, mask=mask).to(tl.float32)
        second = tl.load(x_ptr + high, mask=mask).to(tl.float32)
        y = first * cosine - second * sine
        tl.store(out_ptr + column, y.to(out_ptr.dtype.element_ty), mask=mask)
        y = second * cosine + first * sine
        tl.store(out_ptr + column + half, y.to(out_ptr.dtype.element_ty), mask=mask)


def launch_rope(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    *,
    rope_layout: str = "neox",
    input_layout: str = "1d",
    base: float = 10000.0,
    rotary_dim: int | None = None,
) -> str | None:
    """Rotary embedding at positions 0 to S - 1."""
    if not 0.0 < base < math.inf:
        return f"base {base} has no logarithm"
    view = x[None, :, None, :] if input_layout == "1d" else x
    batches, positions, heads, size = view.shape
    half = (int(size) if rotary_dim is None else int(rotary_dim)) // 2
    rest = int(size) - 2 * half
    block_p = pow2_at_least(half)
    width = max(block_p, pow2_at_least(rest) // 2)
    block_h = min(pow2_at_least(int(heads)), max(1, TILE // width))
    block_s = max(1, TILE // (width * block_h))
    enough = 2 * processors(call)
    while block_s > 1 and batches * ceil_div(positions, block_s) < enough:
        block_s //= 2
    position_blocks, head_blocks = ceil_div(positions, block_s), ceil_div(heads, block_h)
    call.launch(
        rope_kernel,
        (batches * position_blocks * head_blocks,),
        *(output, view, position_blocks, head_blocks, positions, heads, half, size),
        *view.stride(),
        float64_bits(math.log2(base) / max(half, 1)),
        INTERLEAVED=rope_layout == "interleaved",
        WIDE=is_wide(view.shape, [view.stride()]),
        BLOCK_S=block_s,
        BLOCK_H=block_h,
        BLOCK_P=block_p,
        BLOCK_REST=pow2_at_least(rest) if rest else 0,
        num_warps=max(1, min(4, block_s * block_h * width // 256)),
    )
    return None
