"""The device functions that attention kernels are made of: key ranges, loads, one online step.

In: a tile of queries and blocks of keys and values. Out: unnormalised sums with each row's maximum
and weight, scores in base 2.
"""

from __future__ import annotations

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)
LN_2 = tl.constexpr(0.6931471805599453)


@triton.jit
def key_range(
    first,
    last,
    left,
    right,
    begin,
    end,
    HAS_LEFT: tl.constexpr,
    HAS_RIGHT: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """(lo, full_lo, full_hi, hi) within [begin, end), for queries at positions first to last.

    Some query sees keys in [lo, hi); every query sees all of [full_lo, full_hi). All but hi are
    multiples of BLOCK_N, given that begin is one.
    """
    lo = begin
    full_lo = begin
    hi = end
    full_hi = end
    if HAS_LEFT:
        lo = max(begin, max(first - left, 0) // BLOCK_N * BLOCK_N)
        full_lo = max(lo, tl.cdiv(max(last - left, 0), BLOCK_N) * BLOCK_N)
    if HAS_RIGHT:
        hi = min(end, max(last + right + 1, 0))
        full_hi = min(end, max(first + right + 1, 0))
    full_lo = min(full_lo, tl.cdiv(hi, BLOCK_N) * BLOCK_N)
    full_hi = max(full_hi // BLOCK_N * BLOCK_N, full_lo)
    return lo, full_lo, full_hi, hi


@triton.jit
def load_block(
    x,
    row_stride,
    dim_stride,
    batch,
    head,
    start,
    stop,
    D: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    DESCRIPTOR: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Rows start to start + BLOCK_N of one head, zeros from row `stop` and past D.

    x: a descriptor of [B, heads, S, D], or a pointer to the head's first row.
    """
    if DESCRIPTOR:
        block = tl.reshape(x.load([batch, head, start, 0]), (BLOCK_N, BLOCK_D))
    else:
        rows = tl.arange(0, BLOCK_N).to(tl.int64)
        dims = tl.arange(0, BLOCK_D)
        base = x + tl.cast(start, tl.int64) * row_stride
        places = base + rows[:, None] * row_stride + dims.to(tl.int64)[None, :] * dim_stride
        if MASKED:
            mask = (start + tl.arange(0, BLOCK_N)[:, None] < stop) & (dims[None, :] < D)
            block = tl.load(places, mask=mask, other=0.0)
        elif BLOCK_D != D:
            block = tl.load(places, mask=dims[None, :] < D, other=0.0)
        else:
            block = tl.load(places)
    return block


@triton.jit
def attend(
    acc,
    row_max,
    row_sum,
    q,
    k,
    v,
    k_row_stride,
    k_dim_stride,
    v_row_stride,
    v_dim_stride,
    batch,
    head,
    start,
    stop,
    end,
    positions,
    left,
    right,
    scale,
    cap,
    D: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    DESCRIPTOR: tl.constexpr,
    MASKED: tl.constexpr,
    HAS_LEFT: tl.constexpr,
    HAS_RIGHT: tl.constexpr,
    SOFTCAP: tl.constexpr,
    RISING: tl.constexpr,
):
    """Takes in the blocks of keys from start to stop; `end` is where keys end for the mask.

    RISING: scores are a positive multiple of the products, so that the maximum commutes with the
    scale and a fused multiply-add serves both.
    """
    for block in range(start, stop, BLOCK_N):
        keys = load_block(
            k, k_row_stride, k_dim_stride, batch, head, block, end,
            D, BLOCK_N, BLOCK_D, DESCRIPTOR, MASKED,
        )  # fmt: skip
        scores = tl.dot(q, keys.to(q.dtype).T)
        if SOFTCAP:
            # tanh(x) = 2 sigmoid(2 x) - 1: its error is absolute, a few 2**-24 of the cap.
            scores = (2.0 * tl.sigmoid(2.0 * (scores * scale)) - 1.0) * cap
        elif not RISING:
            scores = scores * scale
        if MASKED:
            key = block + tl.arange(0, BLOCK_N)[None, :]
            seen = key < end
            if HAS_LEFT:
                seen = seen & (key >= positions[:, None] - left)
            if HAS_RIGHT:
                seen = seen & (key <= positions[:, None] + right)
            scores = tl.where(seen, scores, float("-inf"))
        block_max = tl.max(scores, 1)
        if RISING:
            block_max = block_max * scale
        new_max = tl.maximum(row_max, block_max)
        base = new_max
        if MASKED:  # a row that has seen nothing yet: exp2(-inf - 0) is 0, not NaN
            base = tl.where(new_max == float("-inf"), 0.0, new_max)
        if RISING:
            weights = tl.math.exp2(scores * scale - base[:, None])
        else:
            weights = tl.math.exp2(scores - base[:, None])
        shrink = tl.math.exp2(row_max - base)
        row_sum = row_sum * shrink + tl.sum(weights, 1)
        acc = acc * shrink[:, None]
        values = load_block(
            v, v_row_stride, v_dim_stride, batch, head, block, end,
            D, BLOCK_N, BLOCK_D, DESCRIPTOR, MASKED,
        )  # fmt: skip
        acc = tl.dot(weights.to(values.dtype).to(q.dtype), values.to(q.dtype), acc)
        row_max = new_max
    return acc, row_max, row_sum


@triton.jit
def add_sink(acc, row_max, row_sum, sink):
    """The sink's weight (base 2, one per row) in the denominator."""
    new_max = tl.maximum(row_max, sink)
    base = tl.where(new_max == float("-inf"), 0.0, new_max)
    shrink = tl.math.exp2(row_max - base)
    return acc * shrink[:, None], new_max, row_sum * shrink + tl.math.exp2(sink - base)
