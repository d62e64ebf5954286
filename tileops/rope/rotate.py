"""Rotary embedding: one kernel for every layout, stride and scaling of frequencies.

A program takes some positions and some heads of one batch entry. Angles are made in the kernel,
once for all its heads, so that memory holds nothing but x and the result. A scaling is a ramp
between two factors of the frequency, over the frequencies or over the pairs, or a divisor for each
pair; its numbers come as float64 from the host, where `scaling` makes them.
"""

from __future__ import annotations

import math
from itertools import chain

import torch
import triton
import triton.language as tl

from tileops.rope import scaling
from tileops.rope.scaling import PLAIN, Scaling
from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.config import ceil_div, float64_words, pow2_at_least
from tileops.tiling.device import from_words, sin_cos_of_turns, turns_per_position, widen
from tileops.tiling.strides import is_wide

__all__ = [
    "launch_llama31",
    "launch_long_rope",
    "launch_position_ids",
    "launch_rope",
    "launch_yarn",
]

TILE = 2048


@triton.jit
def ramp(along, slope, least):
    """From `least` up to 1 while along * slope goes from 0 to 1."""
    return least + (1.0 - least) * tl.minimum(tl.maximum(along * slope, 0.0), 1.0)


@triton.jit
def scaled_turns(
    pair,
    half,
    octaves,
    factors_ptr,
    factors_stride,
    scale,
    start,
    slope,
    least,
    RAMP: tl.constexpr,
):
    """Turns from one position to the next of the pairs; see `tileops.rope.scaling.Scaling`."""
    turns = turns_per_position(pair, octaves)
    if RAMP == "turns":
        turns *= ramp(turns * scale - start, slope, least)
    elif RAMP == "pairs":
        turns *= ramp(start - pair.to(tl.float64), slope, least)
    if factors_ptr is not None:
        factor = tl.load(factors_ptr + pair * factors_stride, mask=pair < half, other=1.0)
        turns /= factor.to(tl.float32).to(tl.float64)
    return turns


NUMBERS = ("octaves", "scale", "start", "slope", "least")
WORDS = [f"{name}_{word}" for name in NUMBERS for word in ("high", "low")]


@triton.jit(do_not_specialize=[*WORDS, "amplitude"])
def rope_kernel(
    out_ptr,
    x_ptr,
    positions_ptr,
    factors_ptr,
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
    positions_stride,
    factors_stride,
    octaves_high,
    octaves_low,
    scale_high,
    scale_low,
    start_high,
    start_low,
    slope_high,
    slope_low,
    least_high,
    least_low,
    amplitude,
    RAMP: tl.constexpr,
    INTERLEAVED: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_S: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_P: tl.constexpr,
    BLOCK_REST: tl.constexpr,
):
    """BLOCK_S positions by BLOCK_H heads by all pairs a program.

    positions_ptr: what each position counts as, or None: itself. factors_ptr: what the frequencies
    are divided by, or None. BLOCK_REST: 0, or what holds the elements past the pairs, which are
    copied.
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

    octaves, scale = from_words(octaves_high, octaves_low), from_words(scale_high, scale_low)
    start, slope = from_words(start_high, start_low), from_words(slope_high, slope_low)
    least = from_words(least_high, least_low)
    turns = scaled_turns(
        pair, half, octaves, factors_ptr, factors_stride, scale, start, slope, least, RAMP
    )
    if positions_ptr is not None:
        at = positions_ptr + position * positions_stride
        position = tl.load(at, mask=position < positions, other=0)
    sine, cosine = sin_cos_of_turns(position.to(tl.float64)[:, None] * turns[None, :])
    # Inductor hands floats over in float64.
    amplitude = tl.cast(amplitude, tl.float32)
    sine *= amplitude
    cosine *= amplitude
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
    return _launch(call, output, _batched(x, input_layout), base, rotary_dim, layout=rope_layout)


def launch_llama31(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    *,
    input_layout: str = "1d",
    base: float = 10000.0,
    **params: float,
) -> str | None:
    """Frequencies of long wavelengths divided by a factor."""
    return _launch(call, output, _batched(x, input_layout), base, scaled=scaling.llama31(**params))


def launch_yarn(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    *,
    input_layout: str = "1d",
    base: float = 10000.0,
    **params: float,
) -> str | None:
    """Frequencies divided by a factor from some pair on, and longer vectors."""
    scaled = scaling.yarn(int(x.shape[-1]), base, **params)
    return _launch(call, output, _batched(x, input_layout), base, scaled=scaled)


def launch_long_rope(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    *,
    input_layout: str = "1d",
    base: float = 10000.0,
    rescale_factors: torch.Tensor | None = None,
    max_position: int = 4096,
    original_max_position: int = 4096,
) -> str | None:
    """Frequencies divided by a factor of each pair, and longer vectors."""
    scaled = Scaling(amplitude=scaling.long_amplitude(max_position, original_max_position))
    view = _batched(x, input_layout)
    return _launch(call, output, view, base, scaled=scaled, factors=rescale_factors)


def launch_position_ids(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    positions: torch.Tensor,
    *,
    max_position: int,
    base: float = 10000.0,
    rotary_dim: int | None = None,
) -> str | None:
    """Rotary embedding of tokens whose positions are given."""
    return _launch(call, output, x[None], base, rotary_dim, positions=positions)


def _batched(x: torch.Tensor, input_layout: str) -> torch.Tensor:
    """x as [B, S, H, D]."""
    return x[None, :, None, :] if input_layout == "1d" else x


def _launch(
    call: Call,
    output: torch.Tensor,
    view: torch.Tensor,
    base: float,
    rotary_dim: int | None = None,
    *,
    layout: str = "neox",
    scaled: Scaling | None = PLAIN,
    positions: torch.Tensor | None = None,
    factors: torch.Tensor | None = None,
) -> str | None:
    if not 0.0 < base < math.inf or scaled is None:
        return "a frequency or its scaling is not a finite number"
    batches, places, heads, size = view.shape
    half = (int(size) if rotary_dim is None else int(rotary_dim)) // 2
    rest = int(size) - 2 * half
    block_p = pow2_at_least(half)
    width = max(block_p, pow2_at_least(rest) // 2)
    block_h = min(pow2_at_least(int(heads)), max(1, TILE // width))
    block_s = max(1, TILE // (width * block_h))
    enough = 2 * processors(call)
    while block_s > 1 and batches * ceil_div(places, block_s) < enough:
        block_s //= 2
    position_blocks, head_blocks = ceil_div(places, block_s), ceil_div(heads, block_h)
    call.launch(
        rope_kernel,
        (batches * position_blocks * head_blocks,),
        *(output, view, positions, factors, position_blocks, head_blocks, places, heads, half),
        *(size, *view.stride()),
        1 if positions is None else positions.stride(0),
        1 if factors is None else factors.stride(0),
        *float64_words(math.log2(base) / max(half, 1)),
        *chain.from_iterable(map(float64_words, scaled.numbers)),
        scaled.amplitude,
        RAMP=scaled.ramp,
        INTERLEAVED=layout == "interleaved",
        WIDE=is_wide(view.shape, [view.stride()]),
        BLOCK_S=block_s,
        BLOCK_H=block_h,
        BLOCK_P=block_p,
        BLOCK_REST=pow2_at_least(rest) if rest else 0,
        num_warps=max(1, min(4, block_s * block_h * width // 256)),
    )
    return None
