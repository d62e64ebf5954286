"""The two kernels of every reduction: elements to results or to states, and states to results.

A tile is kept by reduced elements. Lanes keep states of their own while a program walks its tiles,
and meet once at its end, so the same code serves long rows, many short rows and columns: strides
say which side of a tile is dense, and the compiler lays its threads along that side.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tileops.reduction.folds import nowhere
from tileops.tiling.device import row_offset, widen

__all__ = ["load_elements", "merge_kernel", "reduce_kernel", "rounded"]


@triton.jit
def load_elements(
    x_ptr,
    offsets,
    mask,
    IDENTITY: tl.constexpr,
    cast: tl.constexpr,
    LOADED: tl.constexpr,
    EVEN: tl.constexpr,
):
    """Elements as `dtype` makes them, then as arithmetic takes them."""
    x = tl.load(x_ptr + offsets) if EVEN else tl.load(x_ptr + offsets, mask=mask, other=IDENTITY)
    x = x.to(cast)
    # Triton's interpreter knows bfloat16 to float32 only (seen on 3.9).
    if cast == tl.bfloat16:
        x = x.to(tl.float32)
    return x.to(LOADED)


@triton.jit
def rounded(y, dtype: tl.constexpr):
    """A result in the output's dtype; float64 becomes bfloat16 by way of float32, as above."""
    if dtype == tl.bfloat16:
        y = y.to(tl.float32)
    return y.to(dtype)


@triton.jit
def _store(
    out_ptr,
    second_ptr,
    partial_ptr,
    place_ptr,
    a,
    b,
    c,
    k,
    mask,
    part,
    kept,
    span,
    n,
    p,
    FINISH: tl.constexpr,
    STATES: tl.constexpr,
    PLACES: tl.constexpr,
    PARTIAL: tl.constexpr,
    WIDE: tl.constexpr,
):
    """The results, or the states of a part, state by state and part by part."""
    if PARTIAL:
        at = widen(part, WIDE) * kept + k
        tl.store(partial_ptr + at, a, mask=mask)
        if PLACES:
            tl.store(place_ptr + at, b.to(tl.int64), mask=mask)
        elif STATES > 1:
            tl.store(partial_ptr + span + at, b, mask=mask)
        if STATES > 2:
            tl.store(partial_ptr + span * 2 + at, c, mask=mask)
    else:
        y, z = FINISH(a, b, c, n, p)
        tl.store(out_ptr + k, rounded(y, out_ptr.dtype.element_ty), mask=mask)
        if second_ptr is not None:
            tl.store(second_ptr + k, rounded(z, second_ptr.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=["n", "p", "span", "parts", "part_tiles", "tiles"])
def reduce_kernel(
    out_ptr,
    second_ptr,
    partial_ptr,
    place_ptr,
    x_ptr,
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
    span,
    n,
    p,
    START: tl.constexpr,
    FIRST: tl.constexpr,
    STEP: tl.constexpr,
    MERGE: tl.constexpr,
    FINISH: tl.constexpr,
    STATES: tl.constexpr,
    PLACES: tl.constexpr,
    IDENTITY: tl.constexpr,
    CAST: tl.constexpr,
    LOADED: tl.constexpr,
    ACC: tl.constexpr,
    PARTIAL: tl.constexpr,
    KEPT_RANK: tl.constexpr,
    TWO_AXES: tl.constexpr,
    ALIGN: tl.constexpr,
    EVEN: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_INNER: tl.constexpr,
):
    """BLOCK_K kept elements and one part of what they reduce a program.

    FIRST: the function that takes the only tile there is, or None. ALIGN: the whole vectors of a
    dense row are walked, then up to ALIGN - 1 elements at both of its ends.
    """
    program = tl.program_id(0)
    part = program % parts
    k = widen(program // parts, WIDE) * BLOCK_K + tl.arange(0, BLOCK_K)[:, None]
    k_mask = k < kept
    lane = tl.arange(0, BLOCK_R)[None, :]
    a, b, c = START(ACC, WIDE, BLOCK_K, BLOCK_R)
    size = inner_size
    head = 0
    if ALIGN > 0:
        base = row_offset(widen(program // parts, WIDE), n1, n2, ks0, ks1, ks2, KEPT_RANK)
        head = tl.minimum((ALIGN - base % ALIGN) % ALIGN, inner_size).to(tl.int32)
        size = tl.multiple_of((inner_size - head) // ALIGN * ALIGN, ALIGN)
        row_ptr = x_ptr + base
        x_ptr += tl.multiple_of(base + head, ALIGN)
    else:
        x_ptr += row_offset(k, n1, n2, ks0, ks1, ks2, KEPT_RANK)
    if FIRST is not None:
        if TWO_AXES:
            outer = lane // BLOCK_INNER
            inner = lane % BLOCK_INNER
            r_mask = (outer < outer_size) & (inner < inner_size)
            r = widen(outer, WIDE) * inner_size + inner
            offset = widen(outer, WIDE) * rs0 + widen(inner, WIDE) * rs1
        else:
            r_mask = lane < inner_size
            r = widen(lane, WIDE)
            offset = r * rs1
        x = load_elements(x_ptr, offset, k_mask & r_mask, IDENTITY, CAST, LOADED, EVEN)
        a, b, c = FIRST(a, b, c, x, r, r_mask, p)
    else:
        start = widen(part * part_tiles, WIDE)
        for tile in range(start, widen(tl.minimum((part + 1) * part_tiles, tiles), WIDE)):
            if TWO_AXES:
                outer = (tile // inner_tiles) * (BLOCK_R // BLOCK_INNER) + lane // BLOCK_INNER
                inner = (tile % inner_tiles) * BLOCK_INNER + lane % BLOCK_INNER
                r_mask = (outer < outer_size) & (inner < inner_size)
                r = widen(outer, WIDE) * inner_size + inner
                offset = widen(outer, WIDE) * rs0 + widen(inner, WIDE) * rs1
            else:
                r = tile * BLOCK_R + lane
                r_mask = r < size
                offset = r * rs1
                r += head
            x = load_elements(x_ptr, offset, k_mask & r_mask, IDENTITY, CAST, LOADED, EVEN)
            a, b, c = STEP(a, b, c, x, r, r_mask, p)
        if ALIGN > 0:
            # The first part takes them.
            r = widen(tl.where(lane < ALIGN, lane, head + size + lane - ALIGN), WIDE)
            r_mask = r < tl.where(lane < ALIGN, head, inner_size) * (part == 0)
            x = load_elements(row_ptr, r, k_mask & r_mask, IDENTITY, CAST, LOADED, False)
            if PLACES:
                r = tl.where(r_mask, r, nowhere(r))
            a, b, c = STEP(a, b, c, x, r, r_mask, p)
    a, b, c = MERGE(a, b, c)
    _store(
        out_ptr, second_ptr, partial_ptr, place_ptr, a, b, c, k, k_mask, part, kept, span, n, p,
        FINISH, STATES, PLACES, PARTIAL, WIDE,
    )  # fmt: skip


@triton.jit(do_not_specialize=["n", "p", "span", "parts"])
def merge_kernel(
    out_ptr,
    second_ptr,
    partial_ptr,
    place_ptr,
    kept,
    parts,
    span,
    n,
    p,
    START: tl.constexpr,
    MERGE: tl.constexpr,
    FINISH: tl.constexpr,
    STATES: tl.constexpr,
    PLACES: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_P: tl.constexpr,
):
    """All parts of BLOCK_K kept elements a program, in a fixed order."""
    k = widen(tl.program_id(0), WIDE) * BLOCK_K + tl.arange(0, BLOCK_K)[:, None]
    index = tl.arange(0, BLOCK_P)[None, :]
    mask = (k < kept) & (index < parts)
    at = widen(index, WIDE) * kept + k
    a, b, c = START(partial_ptr.dtype.element_ty, True, BLOCK_K, BLOCK_P)
    a = tl.where(mask, tl.load(partial_ptr + at, mask=mask), a)
    if PLACES:
        b = tl.where(mask, tl.load(place_ptr + at, mask=mask), b)
    elif STATES > 1:
        b = tl.where(mask, tl.load(partial_ptr + span + at, mask=mask), b)
    if STATES > 2:
        c = tl.where(mask, tl.load(partial_ptr + span * 2 + at, mask=mask), c)
    a, b, c = MERGE(a, b, c)
    _store(
        out_ptr, second_ptr, None, None, a, b, c, k, k < kept, 0, kept, span, n, p,
        FINISH, STATES, PLACES, False, WIDE,
    )  # fmt: skip
