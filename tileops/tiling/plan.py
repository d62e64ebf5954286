"""How a reduction is cut into programs: tiles, parts and warps by shape, dtype and device.

In: a view of the input. Out: the sizes of a launch. Arithmetic and a small table, no tuning.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileops.tiling.config import ceil_div, pow2_at_least
from tileops.tiling.view import View

__all__ = ["Plan", "plan_of"]

# Elements of a tile by how many states a lane keeps.
TILE = {1: 4096, 2: 2048, 3: 2048}
# Bytes of a row of a tile where neighbours are kept: two cache lines.
COLUMN_BYTES = 256
# Warps that keep a multiprocessor's loads in flight, and the fewest that come near.
FULL_WARPS, FEW_WARPS = 32, 12
# Fewer tiles than these are not worth a second launch.
SPLIT_TILES = 8
MAX_PARTS = 1024


@dataclass(frozen=True, slots=True)
class Plan:
    """Tiles of `block_k` kept by `block_r` reduced elements, `part_tiles` of them a program.

    The reduced side of a tile is `block_inner` wide along the inner reduced axis. `align`: rows
    start anywhere, and what lies before and after whole vectors of that many elements goes alone.
    """

    block_k: int
    block_r: int
    block_inner: int
    tiles: int
    parts: int
    part_tiles: int
    warps: int
    align: int
    even: bool


def plan_of(
    view: View,
    itemsize: int,
    acc_size: int,
    states: int,
    processors: int,
    aligned: bool = True,
) -> Plan:
    """The launch of a reduction, or of a scan, which takes no elements apart to align others."""
    block_k, block_r = _tile(view, itemsize, states, processors)
    block_inner = min(block_r, pow2_at_least(view.inner)) if view.outer > 1 else block_r
    inner_tiles = ceil_div(view.inner, block_inner)
    tiles = ceil_div(view.outer, block_r // block_inner) * inner_tiles
    warps = _warps(block_k * block_r, itemsize, acc_size, states)
    programs = ceil_div(view.kept, block_k)
    parts, part_tiles = _parts(programs, tiles, warps, processors)
    even = (
        view.kept % block_k == 0
        and view.outer % (block_r // block_inner) == 0
        and view.inner % block_inner == 0
    )
    alone = aligned and not even and block_k == 1 and tiles >= 4
    align = _alignment(view, itemsize) if alone else 0
    return Plan(block_k, block_r, block_inner, tiles, parts, part_tiles, warps, align, even)


def _tile(view: View, itemsize: int, states: int, processors: int) -> tuple[int, int]:
    """(kept, reduced) elements of a tile: long along what lies side by side in memory."""
    tile = TILE[states]
    length = pow2_at_least(view.length)
    if view.columns:
        block_k = min(pow2_at_least(view.run), COLUMN_BYTES // itemsize, tile)
        least = max(1, min(block_k, 32 // itemsize))
    else:
        block_k = min(pow2_at_least(view.kept), max(1, tile // length))
        least = 1
    # Several rows or wide columns share a program only while programs fill the chip twice.
    while block_k > least and view.kept < 2 * processors * block_k:
        block_k //= 2
    return block_k, max(1, min(length, tile // block_k))


def _warps(lanes: int, itemsize: int, acc_size: int, states: int) -> int:
    """As many that a thread has four 16-byte loads in flight, if registers allow."""
    words = pow2_at_least(max(1, acc_size // 4) * (states + 1))
    elements = max(4, min(64 // itemsize, 64 // words))
    return max(1, min(16, lanes // (32 * elements)))


def _parts(programs: int, tiles: int, warps: int, processors: int) -> tuple[int, int]:
    """(parts of the reduced axes, tiles of a part)."""
    if tiles < SPLIT_TILES or programs * warps >= FEW_WARPS * processors:
        return 1, tiles
    wanted = ceil_div(FULL_WARPS * processors, programs * warps)
    parts = max(1, min(tiles // 2, wanted, MAX_PARTS))
    part_tiles = ceil_div(tiles, parts)
    return ceil_div(tiles, part_tiles), part_tiles


def _alignment(view: View, itemsize: int) -> int:
    """Elements of a 16-byte vector where dense rows do not start and end at one, else 0."""
    if view.columns or view.outer > 1 or view.reduced_strides[1] != 1 or itemsize > 8:
        return 0
    steps = (*view.kept_strides, view.length)
    return 16 // itemsize if any(step * itemsize % 16 for step in steps) else 0
