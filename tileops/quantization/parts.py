"""Codes whose scale takes more elements than a program holds: long rows, or a whole tensor.

A band of rows has one scale. Programs take parts of a band: first each notes the largest magnitude
of its part, then each makes the scale of all of them and the codes of its part. The second walk
goes backwards, since what was read last is still in the cache.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tileops.quantization.groups import FUNCTIONS, load_divided, rows_or_copy
from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.codes import code, encoded, magnitude, quotient, scale_of
from tileops.tiling.config import ceil_div, many, pow2_at_least
from tileops.tiling.device import row_offset, widen
from tileops.tiling.strides import as_vector, rows_of

__all__ = ["launch_parts"]

TILE_BYTES = 16384
#: Programs of a multiprocessor, by which its loads are in flight together.
PROGRAMS = 4
MOST_PARTS = 1024


@triton.jit
def _place(
    tile,
    band,
    column_tiles,
    band_rows,
    length,
    n1,
    n2,
    xs0,
    xs1,
    xs2,
    inner,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """(offsets in x, in the codes, columns, mask) of a tile of a band."""
    row = widen(tile // column_tiles, WIDE) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    column = widen(tile % column_tiles, WIDE) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    mask = (row < band_rows) & (column < length)
    row += widen(band, WIDE) * band_rows
    offset = row_offset(row, n1, n2, xs0, xs1, xs2, RANK) + column * inner
    return offset, row * length + column, column, mask


@triton.jit
def largest_kernel(
    largest_ptr,
    x_ptr,
    smooth_ptr,
    parts,
    part_tiles,
    tiles,
    column_tiles,
    band_rows,
    length,
    n1,
    n2,
    xs0,
    xs1,
    xs2,
    inner,
    smooth_stride,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """The largest magnitude of one part of a band a program, as bits."""
    program = tl.program_id(0)
    start = program % parts * part_tiles
    largest = tl.zeros([BLOCK_ROWS, BLOCK_N], dtype=tl.int32)
    for tile in range(start, tl.minimum(start + part_tiles, tiles)):
        offset, _, column, mask = _place(
            tile, program // parts, column_tiles, band_rows, length,
            n1, n2, xs0, xs1, xs2, inner, RANK, WIDE, BLOCK_ROWS, BLOCK_N,
        )  # fmt: skip
        x = load_divided(x_ptr, smooth_ptr, offset, column, smooth_stride, mask)
        largest = tl.maximum(largest, magnitude(x))
    tl.store(largest_ptr + program, tl.max(tl.max(largest, axis=1), axis=0))


@triton.jit
def codes_kernel(
    q_ptr,
    scale_ptr,
    largest_ptr,
    x_ptr,
    smooth_ptr,
    parts,
    part_tiles,
    tiles,
    column_tiles,
    band_rows,
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
    BLOCK_PARTS: tl.constexpr,
):
    """The codes of one part of a band a program, from the largest magnitudes of all."""
    program = tl.program_id(0)
    band = program // parts
    part = program % parts
    index = tl.arange(0, BLOCK_PARTS)[None, :]
    largest = tl.load(largest_ptr + band * parts + index, mask=index < parts, other=0)
    scale = scale_of(tl.max(largest, axis=1, keep_dims=True), LIMIT)
    first = tl.arange(0, 1)[:, None]
    tl.store(scale_ptr + band + first, scale, mask=first == part)
    start = part * part_tiles
    stop = tl.minimum(start + part_tiles, tiles)
    for back in range(0, stop - start):
        offset, at, column, mask = _place(
            stop - 1 - back, band, column_tiles, band_rows, length,
            n1, n2, xs0, xs1, xs2, inner, RANK, WIDE, BLOCK_ROWS, BLOCK_N,
        )  # fmt: skip
        x = load_divided(x_ptr, smooth_ptr, offset, column, smooth_stride, mask)
        y = code(quotient(x, scale), scale, q_ptr.dtype.element_ty)
        tl.store(q_ptr + at, y, mask=mask)


def launch_parts(
    call: Call,
    q: torch.Tensor,
    scale: torch.Tensor,
    x: torch.Tensor,
    smooth: torch.Tensor | None = None,
    *,
    function: str,
) -> str | None:
    """Bands of any number of elements, in two launches."""
    whole = function == "int8_tensor"
    rows = rows_or_copy(x)
    walk = rows.walk
    if whole:
        # Without padding all of the tensor is one row.
        walk = rows_of(x.shape, [x.stride()]) or walk
    bands, band_rows = (1, walk.count) if whole else (walk.count, 1)
    elements = TILE_BYTES // x.element_size()
    block = min(pow2_at_least(many(walk.length)), elements)
    block_rows = min(pow2_at_least(many(band_rows)), elements // block)
    column_tiles = ceil_div(walk.length, block)
    tiles = ceil_div(band_rows, block_rows) * column_tiles
    wanted = ceil_div(PROGRAMS * processors(call), many(bands))
    part_tiles = max(1, ceil_div(many(tiles), max(1, min(wanted, MOST_PARTS))))
    parts = max(1, ceil_div(tiles, part_tiles))
    largest = call.empty(bands * parts, torch.int32)
    smooth, smooth_stride = as_vector(smooth)
    arguments = (rows.tensor, smooth, parts, part_tiles, tiles, column_tiles, band_rows)
    arguments += (walk.length, walk.n1, walk.n2, *walk.row_strides[0], walk.inner[0], smooth_stride)
    constants = {
        "RANK": walk.rank, "WIDE": walk.wide, "BLOCK_ROWS": block_rows, "BLOCK_N": block,
        "num_warps": max(1, min(8, block_rows * block // 256)),
    }  # fmt: skip
    grid = (bands * parts,)
    call.launch(largest_kernel, grid, largest, *arguments, **constants)
    call.launch(
        codes_kernel,
        grid,
        *(encoded(call, q), scale, largest, *arguments),
        LIMIT=FUNCTIONS[function].limit,
        BLOCK_PARTS=pow2_at_least(parts),
        **constants,
    )
    return None
