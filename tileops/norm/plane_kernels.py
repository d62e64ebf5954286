"""Planes of a channel, normalised by statistics that are known, or their gradient: kernel.

In: rows of one sample and channel (tileops.tiling.strides.Rows), or samples by channels where a
plane is one element. Launchers are in planes.py.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tileops.tiling.device import row_offset, widen

__all__ = ["plane_kernel"]


@triton.jit
def _of_channel(ptr, channel, step, mask, GIVEN: tl.constexpr, absent):
    if GIVEN:
        return tl.load(ptr + channel * step, mask=mask, other=0.0).to(tl.float32)
    else:
        return absent


@triton.jit
def plane_kernel(
    out_ptr,
    x_ptr,
    dy_ptr,
    mean_ptr,
    deviation_ptr,
    weight_ptr,
    bias_ptr,
    dweight_ptr,
    dbias_ptr,
    blocks,
    rows,
    length,
    channels,
    group,
    n1,
    n2,
    xs0,
    xs1,
    xs2,
    x_inner,
    m_step,
    d_step,
    w_step,
    b_step,
    eps,
    count,
    BACKWARD: tl.constexpr,
    COLUMNS: tl.constexpr,
    BY_CHANNEL: tl.constexpr,
    VARIANCE: tl.constexpr,
    WEIGHT: tl.constexpr,
    BIAS: tl.constexpr,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """A tile of rows a program.

    COLUMNS: a row is a sample, and its elements are channels; else rows go round the channels.
    Statistics are those of a channel, or of every `group` rows. VARIANCE: the second is that, else
    its reciprocal root. BACKWARD: the gradient for the input of `count` elements a channel.
    """
    # The last first: that is what the statistics' kernel has left in the L2 cache.
    program = tl.num_programs(0) - 1 - tl.program_id(0)
    row = widen(program // blocks, WIDE) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    col = widen(program % blocks, WIDE) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    mask = (row < rows) & (col < length)
    offset = row_offset(row, n1, n2, xs0, xs1, xs2, RANK) + col * x_inner
    x = tl.load(x_ptr + offset, mask=mask, other=0.0).to(tl.float32)
    if BACKWARD:
        dy = tl.load(dy_ptr + offset, mask=mask, other=0.0).to(tl.float32)
    if COLUMNS:
        channel = col
        here = col < length
    else:
        channel = row % channels
        here = row < rows
    statistic = channel if BY_CHANNEL else row // group
    mean = tl.load(mean_ptr + statistic * m_step, mask=here, other=0.0).to(tl.float32)
    rstd = tl.load(deviation_ptr + statistic * d_step, mask=here, other=1.0).to(tl.float32)
    if VARIANCE:
        rstd = tl.rsqrt((rstd + eps).to(tl.float32))
    weight = _of_channel(weight_ptr, channel, w_step, here, WEIGHT, 1.0)
    off = (x - mean) * rstd
    if BACKWARD:
        dweight = tl.load(dweight_ptr + channel, mask=here, other=0.0) / count
        dbias = tl.load(dbias_ptr + channel, mask=here, other=0.0) / count
        y = (dy - dbias - off * dweight) * (rstd * weight)
    else:
        y = off * weight + _of_channel(bias_ptr, channel, b_step, here, BIAS, 0.0)
    tl.store(out_ptr + row * length + col, y.to(out_ptr.dtype.element_ty), mask=mask)
