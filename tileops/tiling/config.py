"""Launch configurations by shape and device: tables and arithmetic, no tuning at run time.

In: row counts, lengths, how many multiprocessors there are. Out: block sizes and warps.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

__all__ = [
    "RowConfig",
    "ceil_div",
    "flat_config",
    "float64_bits",
    "float64_words",
    "many",
    "pow2_at_least",
    "row_config",
    "splits",
    "tailed_row_config",
    "tile_config",
]


@dataclass(frozen=True, slots=True)
class RowConfig:
    """Rows and columns of a tile, and its warps; columns past `block` go in a second `tail`."""

    rows: int
    block: int
    warps: int
    tail: int = 0


def ceil_div(a: int, b: int) -> int:
    """a / b rounded up."""
    return -(-a // b)


def pow2_at_least(n: int) -> int:
    """The smallest power of two that is at least n."""
    return 1 << max(0, int(n) - 1).bit_length()


def many(count: int) -> int:
    """A count to decide by: a symbolic one, which may be anything, counts as a large one.

    Only for choices that are right for every count.
    """
    return count if isinstance(count, int) else 2**20


def row_config(count: int, length: int, processors: int) -> RowConfig:
    """A tile that holds whole rows: one row of many elements, or several short rows.

    About 16 elements a thread, two 16-byte loads of bfloat16; short rows share a program as long as
    the programs still fill the chip twice. Rows so short that weights would be as much to load as
    they are take 32 elements a thread, which loads its weights once.
    """
    count, block = many(count), pow2_at_least(length)
    short = block <= 256 and count >= 16384
    rows = max(1, (4096 if short else 2048) // block)
    while rows > 1 and count < rows * 2 * processors:
        rows //= 2
    warps = min(16 if block <= 16384 else 32, max(1, rows * block // (1024 if short else 512)))
    return RowConfig(rows, block, warps)


def tailed_row_config(count: int, length: int, processors: int) -> RowConfig:
    """As row_config, but in two powers of two where one would leave a quarter of its lanes idle."""
    whole = row_config(count, length, processors)
    half = whole.block // 2
    tail = pow2_at_least(length - half)
    if half < 1024 or tail > half // 2:
        return whole
    return RowConfig(whole.rows, half, min(16, max(1, whole.rows * half // 512)), tail)


def splits(count: int, length: int, block: int, processors: int) -> tuple[int, int]:
    """(parts, elements of a part) for rows too few to fill the chip.

    A part is a whole number of blocks; there are at most 256 parts, so that one program reads all
    partial results of a row at once.
    """
    wanted = max(1, ceil_div(2 * processors, many(count)))
    parts = min(ceil_div(length, block), wanted, 256)
    part = ceil_div(ceil_div(length, parts), block) * block
    return ceil_div(length, part), part


def flat_config(count: int, itemsize: int) -> tuple[int, int]:
    """(elements of a program, warps) for one dense axis: two 16-byte accesses a thread.

    Small tensors take single warps, so that they spread over the chip.
    """
    warps = 4 if count >= 2**18 else 1
    return max(warps * 32 * 32 // max(itemsize, 2), 128), warps


def tile_config(count: int, length: int, crossed: bool) -> RowConfig:
    """A tile of about 2048 elements for rows of any length.

    `crossed`: an operand is not dense along the rows, so the tile is square, and 64 elements both
    ways: whole cache lines of 16-bit elements, whichever way an operand lies.
    """
    size, widest = (4096, 64) if crossed else (2048, 2048)
    block = min(pow2_at_least(length), widest)
    rows = min(pow2_at_least(many(count)), max(1, size // block))
    return RowConfig(rows, block, max(1, min(8 if crossed else 4, rows * block // 256)))


def float64_words(value: float) -> tuple[int, int]:
    """A float64 as two signed 32-bit integers, the high one first: Inductor takes no wider ones."""
    high, low = struct.unpack("<ii", struct.pack("<d", value))[::-1]
    return high, low


def float64_bits(value: float) -> int:
    """A float64 as the integer of its bits: kernels take float arguments in float32 only."""
    return int(struct.unpack("<q", struct.pack("<d", value))[0])
