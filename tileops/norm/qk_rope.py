"""RMSNorm of the heads of q and k, then rotation, in place: kernel and launcher.

A program takes one token and some of its heads. Values are loaded as the pairs that are rotated,
and the rest of the head beside them.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.config import ceil_div, many, pow2_at_least
from tileops.tiling.device import widen
from tileops.tiling.strides import is_wide

__all__ = ["launch_heads"]

TILE = 2048


@triton.jit
def _weights(q_ptr, k_ptr, q_step, k_step, at, inside, is_query):
    """The weights of a value, of the heads that the program has."""
    q = tl.load(q_ptr + at * q_step, mask=inside, other=0.0).to(tl.float32)
    k = tl.load(k_ptr + at * k_step, mask=inside, other=0.0).to(tl.float32)
    return tl.where(is_query, q, k)


@triton.jit
def qk_rope_kernel(
    qkv_ptr,
    q_weight_ptr,
    k_weight_ptr,
    cache_ptr,
    positions_ptr,
    blocks,
    query_heads,
    heads,
    row_length,
    size,
    half,
    cached,
    q_step,
    k_step,
    cache_row,
    cache_inner,
    positions_step,
    eps,
    INTERLEAVED: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_P: tl.constexpr,
    BLOCK_REST: tl.constexpr,
):
    """BLOCK_H heads of a token a program; BLOCK_REST: 0, or what holds the values past the pairs.

    A position outside of the cache rotates by NaN.
    """
    program = tl.program_id(0)
    token = widen(program // blocks, WIDE)
    head = (program % blocks) * BLOCK_H + tl.arange(0, BLOCK_H)[:, None]
    here = head < heads
    is_query = head < query_heads
    pair = tl.arange(0, BLOCK_P)[None, :]
    inside = pair < half
    mask = here & inside
    qkv_ptr += token * row_length + head * size
    if INTERLEAVED:
        # Both of a pair in one load.
        both = tl.arange(0, 2)[None, None, :]
        both_ptr = qkv_ptr[:, :, None] + pair[:, :, None] * 2 + both
        both_mask = mask[:, :, None] & (both < 2)
        a, b = tl.split(tl.load(both_ptr, mask=both_mask, other=0.0))
        first, second = pair * 2, pair * 2 + 1
    else:
        first, second = pair, pair + half
        a = tl.load(qkv_ptr + first, mask=mask, other=0.0)
        b = tl.load(qkv_ptr + second, mask=mask, other=0.0)
    a = a.to(tl.float32)
    b = b.to(tl.float32)
    squares = tl.sum(a * a + b * b, axis=1, keep_dims=True)
    if BLOCK_REST > 0:
        rest = half * 2 + tl.arange(0, BLOCK_REST)[None, :]
        rest_mask = here & (rest < size)
        c = tl.load(qkv_ptr + rest, mask=rest_mask, other=0.0).to(tl.float32)
        squares += tl.sum(c * c, axis=1, keep_dims=True)
    rstd = tl.rsqrt((squares / size + eps).to(tl.float32))
    position = tl.load(positions_ptr + token * positions_step + tl.zeros([1, 1], tl.int32))
    known = inside & (position >= 0) & (position < cached)
    row_ptr = cache_ptr + position * cache_row
    cosine = tl.load(row_ptr + pair * cache_inner, mask=known, other=float("nan"))
    sine = tl.load(row_ptr + (half + pair) * cache_inner, mask=known, other=float("nan"))
    cosine = cosine.to(tl.float32)
    sine = sine.to(tl.float32)
    a *= rstd * _weights(q_weight_ptr, k_weight_ptr, q_step, k_step, first, inside, is_query)
    b *= rstd * _weights(q_weight_ptr, k_weight_ptr, q_step, k_step, second, inside, is_query)
    dtype = qkv_ptr.dtype.element_ty
    y = (a * cosine - b * sine).to(dtype)
    z = (b * cosine + a * sine).to(dtype)
    if INTERLEAVED:
        tl.store(both_ptr, tl.join(y, z), mask=both_mask)
    else:
        tl.store(qkv_ptr + first, y, mask=mask)
        tl.store(qkv_ptr + second, z, mask=mask)
    if BLOCK_REST > 0:
        c *= rstd * _weights(
            q_weight_ptr, k_weight_ptr, q_step, k_step, rest, rest < size, is_query
        )
        tl.store(qkv_ptr + rest, c.to(dtype), mask=rest_mask)


def launch_heads(
    call: Call,
    qkv: torch.Tensor,
    q_weight: torch.Tensor,
    k_weight: torch.Tensor,
    cos_sin_cache: torch.Tensor,
    positions: torch.Tensor,
    *,
    num_heads: int,
    num_kv_heads: int,
    eps: float = 1e-6,
    rope_layout: str = "neox",
) -> str | None:
    """Normalises and rotates the heads of q and k where they lie."""
    size, heads = int(q_weight.shape[0]), num_heads + num_kv_heads
    half = int(cos_sin_cache.shape[1]) // 2
    block = min(pow2_at_least(heads), max(1, TILE // pow2_at_least(size)))
    while block > 1 and many(qkv.shape[0]) * ceil_div(heads, block) < 2 * processors(call):
        block //= 2
    blocks = ceil_div(heads, block)
    rest = size - 2 * half
    call.launch(
        qk_rope_kernel,
        (qkv.shape[0] * blocks,),
        *(qkv, q_weight, k_weight, cos_sin_cache, positions),
        *(blocks, num_heads, heads, qkv.shape[1], size, half, cos_sin_cache.shape[0]),
        *(q_weight.stride(0), k_weight.stride(0), *cos_sin_cache.stride(), positions.stride(0)),
        eps,
        INTERLEAVED=rope_layout == "interleaved",
        WIDE=is_wide(qkv.shape, [qkv.stride()]),
        BLOCK_H=block,
        BLOCK_P=pow2_at_least(half),
        BLOCK_REST=pow2_at_least(rest) if rest else 0,
        num_warps=max(1, min(8, block * pow2_at_least(size) // 512)),
    )
    return None
