"""Sums over everything but channels or groups, forward and backward: kernels.

In: a tensor as kept by reduced elements (tileops.tiling.view), cut by tileops.tiling.plan. Out:
mean and reciprocal deviation of every kept element, with running statistics brought up to date; or,
in a backward, the gradients of bias and weight. Few kept elements are shared by several programs,
whose states a second kernel merges in a fixed order. Launchers are in planes.py.

Squares are summed about the mean of a program's first tile, so that what cancels when the true mean
is known is at most as many times the result as the program has tiles.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tileops.tiling.device import row_offset, widen

__all__ = ["merge_kernel", "moments_kernel"]


@triton.jit
def _tile(
    tile,
    lane,
    outer_size,
    inner_size,
    rs0,
    rs1,
    inner_tiles,
    TWO_AXES: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_INNER: tl.constexpr,
):
    """Offsets of a tile's reduced elements, which of them exist, and how many do."""
    if TWO_AXES:
        BLOCK_OUTER: tl.constexpr = BLOCK_R // BLOCK_INNER
        o = (tile // inner_tiles) * BLOCK_OUTER
        i = (tile % inner_tiles) * BLOCK_INNER
        outer = o + lane // BLOCK_INNER
        inner = i + lane % BLOCK_INNER
        offset = widen(outer, WIDE) * rs0 + widen(inner, WIDE) * rs1
        count = tl.minimum(outer_size - o, BLOCK_OUTER) * tl.minimum(inner_size - i, BLOCK_INNER)
        return offset, (outer < outer_size) & (inner < inner_size), count
    else:
        r = tile * BLOCK_R + lane
        return (
            widen(r, WIDE) * rs1,
            r < inner_size,
            tl.minimum(inner_size - tile * BLOCK_R, BLOCK_R),
        )


@triton.jit
def _finish(
    a,
    b,
    count,
    k,
    mask,
    mean_ptr,
    rstd_ptr,
    first_ptr,
    second_ptr,
    first_step,
    second_step,
    eps,
    momentum,
    BACKWARD: tl.constexpr,
    RUNNING: tl.constexpr,
):
    """From the states of kept elements, or their sums, to results.

    Forward the last two pointers are those of running statistics; backward those of the gradients
    of weight and bias.
    """
    if BACKWARD:
        rstd = tl.load(rstd_ptr + k, mask=mask, other=0.0)
        tl.store(first_ptr + k, b * rstd, mask=mask)
        tl.store(second_ptr + k, a, mask=mask)
    else:
        tl.store(mean_ptr + k, a, mask=mask)
        tl.store(rstd_ptr + k, tl.rsqrt(b / count + eps), mask=mask)
        if RUNNING:
            update(first_ptr + k * first_step, a, momentum, mask)
            update(second_ptr + k * second_step, b / (count - 1.0), momentum, mask)


@triton.jit
def update(running_ptr, new, momentum, mask):
    """A running statistic after one more batch."""
    old = tl.load(running_ptr, mask=mask, other=0.0)
    tl.store(running_ptr, old * (1.0 - momentum) + new * momentum, mask=mask)


@triton.jit(do_not_specialize=["tiles", "parts", "part_tiles"])
def moments_kernel(
    mean_ptr,
    rstd_ptr,
    first_ptr,
    second_ptr,
    partial_ptr,
    x_ptr,
    dy_ptr,
    kept,
    n1,
    n2,
    ks0,
    ks1,
    ks2,
    outer_size,
    inner_size,
    rs0,
    rs1,
    tiles,
    inner_tiles,
    parts,
    part_tiles,
    first_step,
    second_step,
    eps,
    momentum,
    BACKWARD: tl.constexpr,
    PARTIAL: tl.constexpr,
    RUNNING: tl.constexpr,
    KEPT_RANK: tl.constexpr,
    TWO_AXES: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_INNER: tl.constexpr,
):
    """BLOCK_K kept elements and one part of what they reduce a program.

    States are (mean, squared deviations, count), backward the sums of dy and of dy (x - mean).
    PARTIAL: they go to the buffer, state by state and part by part.
    """
    program = tl.program_id(0)
    part = program % parts
    k = widen(program // parts, WIDE) * BLOCK_K + tl.arange(0, BLOCK_K)[:, None]
    here = k < kept
    lane = tl.arange(0, BLOCK_R)[None, :]
    place = row_offset(k, n1, n2, ks0, ks1, ks2, KEPT_RANK)
    x_ptr += place
    start = part * part_tiles
    if BACKWARD:
        dy_ptr += place
        centre = tl.load(mean_ptr + k, mask=here, other=0.0)
    else:
        offset, inside, size = _tile(
            start, lane, outer_size, inner_size, rs0, rs1, inner_tiles,
            TWO_AXES, WIDE, BLOCK_R, BLOCK_INNER,
        )  # fmt: skip
        x = tl.load(x_ptr + offset, mask=here & inside, other=0.0).to(tl.float32)
        centre = tl.sum(x, axis=1, keep_dims=True) / size
        # Infinities are none, so that the mean is one where torch's is.
        centre = tl.where(tl.abs(centre) < float("inf"), centre, 0.0)
    a = tl.zeros([BLOCK_K, BLOCK_R], dtype=tl.float32)
    b = tl.zeros([BLOCK_K, BLOCK_R], dtype=tl.float32)
    count = 0.0
    for tile in range(start, tl.minimum(start + part_tiles, tiles)):
        offset, inside, size = _tile(
            tile, lane, outer_size, inner_size, rs0, rs1, inner_tiles,
            TWO_AXES, WIDE, BLOCK_R, BLOCK_INNER,
        )  # fmt: skip
        mask = here & inside
        x = tl.load(x_ptr + offset, mask=mask, other=0.0).to(tl.float32)
        off = tl.where(inside, x - centre, 0.0)
        if BACKWARD:
            dy = tl.load(dy_ptr + offset, mask=mask, other=0.0).to(tl.float32)
            a += dy
            b += dy * off
        else:
            a += off
            b += off * off
            count += size
    a = tl.sum(a, axis=1, keep_dims=True)
    b = tl.sum(b, axis=1, keep_dims=True)
    if not BACKWARD:
        b -= a * (a / count)
        b = tl.where(b < 0, 0.0, b)
        a = centre + a / count
    if PARTIAL:
        at = widen(part, WIDE) * kept + k
        span = widen(parts, WIDE) * kept
        tl.store(partial_ptr + at, a, mask=here)
        tl.store(partial_ptr + span + at, b, mask=here)
        if not BACKWARD:
            tl.store(partial_ptr + span * 2 + at, tl.zeros_like(a) + count, mask=here)
    else:
        _finish(
            a, b, count, k, here, mean_ptr, rstd_ptr, first_ptr, second_ptr, first_step,
            second_step, eps, momentum, BACKWARD, RUNNING,
        )  # fmt: skip


@triton.jit(do_not_specialize=["parts", "batch"])
def merge_kernel(
    mean_ptr,
    rstd_ptr,
    first_ptr,
    second_ptr,
    partial_ptr,
    channels,
    batch,
    parts,
    first_step,
    second_step,
    eps,
    momentum,
    BACKWARD: tl.constexpr,
    RUNNING: tl.constexpr,
    BATCHED: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_P: tl.constexpr,
):
    """All parts of BLOCK_K channels a program, of every sample in turn where there are some.

    BATCHED: a running statistic is brought up to date by the average over samples.
    """
    channel = widen(tl.program_id(0), WIDE) * BLOCK_K + tl.arange(0, BLOCK_K)[:, None]
    here = channel < channels
    index = tl.arange(0, BLOCK_P)[None, :]
    mask = here & (index < parts)
    kept = widen(channels, WIDE) * batch
    span = kept * parts
    means = tl.zeros([BLOCK_K, 1], dtype=tl.float32)
    variances = tl.zeros([BLOCK_K, 1], dtype=tl.float32)
    for sample in range(batch):
        k = widen(sample, WIDE) * channels + channel
        at = widen(index, WIDE) * kept + k
        a = tl.load(partial_ptr + at, mask=mask, other=0.0)
        b = tl.load(partial_ptr + span + at, mask=mask, other=0.0)
        count = 1.0
        if BACKWARD:
            mean = tl.sum(a, axis=1, keep_dims=True)
        else:
            c = tl.load(partial_ptr + span * 2 + at, mask=mask, other=0.0)
            # What does not exist counts as one element of no channel.
            count = tl.where(here, tl.sum(c, axis=1, keep_dims=True), 1.0)
            mean = tl.sum(a * c, axis=1, keep_dims=True) / count
            off = tl.where(c > 0, a - mean, 0.0)
            b += c * off * off
        b = tl.sum(b, axis=1, keep_dims=True)
        _finish(
            mean, b, count, k, here, mean_ptr, rstd_ptr, first_ptr, second_ptr, first_step,
            second_step, eps, momentum, BACKWARD, RUNNING and not BATCHED,
        )  # fmt: skip
        if BATCHED:
            means += mean
            variances += b / (count - 1.0)
    if BATCHED:
        update(first_ptr + channel * first_step, means / batch, momentum, here)
        update(second_ptr + channel * second_step, variances / batch, momentum, here)
