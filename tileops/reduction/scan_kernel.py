"""The kernel of cumulative sums and products.

A tile is lines by steps along the axis, as in reduce_kernels.py; a program walks its tiles and
carries the last of one into the next.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tileops.reduction.folds import multiply
from tileops.reduction.reduce_kernels import load_elements, rounded
from tileops.tiling.device import row_offset, widen

__all__ = ["scan_kernel"]


@triton.jit(do_not_specialize=["parts", "part_tiles", "tiles"])
def scan_kernel(
    out_ptr,
    partial_ptr,
    x_ptr,
    kept,
    n1,
    n2,
    ks0,
    ks1,
    ks2,
    length,
    x_step,
    inner,
    tiles,
    parts,
    part_tiles,
    PRODUCT: tl.constexpr,
    CAST: tl.constexpr,
    LOADED: tl.constexpr,
    ACC: tl.constexpr,
    KEPT_RANK: tl.constexpr,
    EVEN: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_P: tl.constexpr,
):
    """BLOCK_K lines, or a part of them where `partial_ptr` holds what each part adds up to."""
    program = tl.program_id(0)
    if partial_ptr is not None:
        # Backwards: what the totals read last is still in the L2 cache.
        program = tl.num_programs(0) - 1 - program
    part = program % parts
    k = widen(program // parts, WIDE) * BLOCK_K + tl.arange(0, BLOCK_K)[:, None]
    lane = tl.arange(0, BLOCK_R)[None, :]
    x_ptr += row_offset(k, n1, n2, ks0, ks1, ks2, KEPT_RANK)
    out_ptr += (k // inner) * inner * length + k % inner
    IDENTITY: tl.constexpr = 1 if PRODUCT else 0
    carry = tl.full([BLOCK_K, 1], IDENTITY, dtype=ACC)
    if partial_ptr is not None:
        index = tl.arange(0, BLOCK_P)[None, :]
        earlier = (k < kept) & (index < part)
        at = widen(index, WIDE) * kept + k
        before = tl.load(partial_ptr + at, mask=earlier, other=IDENTITY)
        if PRODUCT:
            carry = tl.reduce(before.to(ACC), 1, multiply, keep_dims=True)
        else:
            carry = tl.sum(before.to(ACC), axis=1, keep_dims=True)
    start = widen(part * part_tiles, WIDE)
    for tile in range(start, widen(tl.minimum((part + 1) * part_tiles, tiles), WIDE)):
        r = tile * BLOCK_R + lane
        mask = (k < kept) & (r < length)
        x = load_elements(x_ptr, r * x_step, mask, IDENTITY, CAST, LOADED, EVEN).to(ACC)
        y = tl.cumprod(x, axis=1) * carry if PRODUCT else tl.cumsum(x, axis=1) + carry
        carry = tl.sum(tl.where(lane == BLOCK_R - 1, y, 0), axis=1, keep_dims=True)
        y = rounded(y, out_ptr.dtype.element_ty)
        if EVEN:
            tl.store(out_ptr + r * inner, y)
        else:
            tl.store(out_ptr + r * inner, y, mask=mask)
