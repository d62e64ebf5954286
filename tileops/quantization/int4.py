"""Groups of int4 codes, two to a byte, with a scale and an offset."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tileops.quantization.groups import LONGEST, rows_or_copy
from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.codes import nearest
from tileops.tiling.config import ceil_div, row_config
from tileops.tiling.device import row_offset, widen
from tileops.tiling.strides import rows_of

__all__ = ["launch_int4"]


@triton.jit
def _greater(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def int4_kernel(
    packed_ptr,
    params_ptr,
    w_ptr,
    count,
    size,
    n1,
    n2,
    ws0,
    ws1,
    ws2,
    inner,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """BLOCK_ROWS groups of `size` elements a program; EVEN: of BLOCK_N."""
    group = widen(tl.program_id(0), WIDE) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    lane = tl.arange(0, BLOCK_N)[None, :]
    mask = (group < count) & (lane < size)
    w_ptr += row_offset(group, n1, n2, ws0, ws1, ws2, RANK)
    w = tl.load(w_ptr + widen(lane, WIDE) * inner, mask=mask, other=0.0).to(tl.float32)
    high = w
    low = w
    if not EVEN:
        high = tl.where(lane < size, w, float("-inf"))
        low = tl.where(lane < size, w, float("inf"))
    most = tl.reduce(high, 1, _greater, keep_dims=True)
    least = tl.min(low, axis=1, keep_dims=True)
    least = tl.where(most == most, least, most)
    spread = most - least
    span = tl.where(most == least, 16.0, spread)
    inverse = tl.div_rn(tl.full(span.shape, 16.0, tl.float32), span)
    offset = (most + least) * 0.5
    there = group < count
    scale = tl.div_rn(tl.full(span.shape, 1.0, tl.float32), inverse)
    tl.store(params_ptr + group * 2, scale, mask=there)
    tl.store(params_ptr + group * 2 + 1, offset, mask=there)
    # Clamped before it is rounded, which also keeps the product from fusing with what follows.
    code = nearest(tl.minimum(tl.maximum((w - offset) * inverse, -8.0), 7.0))
    first, second = tl.split(tl.reshape(code, [BLOCK_ROWS, BLOCK_N // 2, 2]))
    pair = tl.arange(0, BLOCK_N // 2)[None, :]
    packed = tl.where(spread < float("inf"), (first << 4) | (second & 15), 0).to(tl.int8)
    tl.store(packed_ptr + group * (size // 2) + pair, packed, mask=there & (pair < size // 2))


def launch_int4(
    call: Call,
    packed: torch.Tensor,
    params: torch.Tensor,
    w: torch.Tensor,
    *,
    group_size: int = 128,
) -> str | None:
    """Groups that a program holds."""
    if group_size > LONGEST:
        return f"groups of {group_size} elements are more than a program holds"
    k = w.shape[1]
    if k % group_size == 0:
        view = w.unflatten(1, (k // group_size, group_size))
    else:
        # Groups go on in the next row: rows must follow one another.
        dense = rows_of(w.shape, [w.stride()])
        flat = w if dense is not None and dense.count == 1 else w.contiguous()
        view = flat.reshape(-1, group_size)
    rows = rows_or_copy(view)
    walk = rows.walk
    config = row_config(walk.count, int(walk.length), processors(call))
    call.launch(
        int4_kernel,
        (ceil_div(walk.count, config.rows),),
        *(packed, params, rows.tensor, walk.count, walk.length),
        *(walk.n1, walk.n2, *walk.row_strides[0], walk.inner[0]),
        RANK=walk.rank,
        WIDE=walk.wide,
        EVEN=config.block == group_size,
        BLOCK_ROWS=config.rows,
        BLOCK_N=max(2, config.block),
        num_warps=config.warps,
    )
    return None
