"""Which tile an attention kernel launches with, by head width and capability.

In: D, the GPU. Out: a Tile. New measurements change the tables here.
"""

from __future__ import annotations

from dataclasses import dataclass

Capability = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Tile:
    """Queries and keys of one step, and how the loads of keys and values are pipelined."""

    block_m: int
    block_n: int
    warps: int
    stages: int


# By padded head width. 16 to 64 columns share a row.
# Measured on an H200: small tiles, several programs a multiprocessor, so that the exponentials of
# one hide behind the products of another (128 wide, causal, 2048: 158 us against 183 to 197).
_HOPPER = {
    64: Tile(64, 64, warps=4, stages=3),
    128: Tile(64, 64, warps=4, stages=3),
    256: Tile(128, 64, warps=8, stages=2),
}
# sm_100 multiplies 128 rows at a time.
_BLACKWELL = {
    64: Tile(128, 128, warps=8, stages=3),
    128: Tile(128, 128, warps=8, stages=2),
    256: Tile(128, 64, warps=8, stages=2),
}
_AMPERE = {
    64: Tile(128, 64, warps=4, stages=3),
    128: Tile(128, 64, warps=8, stages=3),
    256: Tile(64, 64, warps=8, stages=2),
}
# sm_86, sm_89 and sm_120: 99 KiB of shared memory a program.
_SMALL_MEMORY = {
    64: Tile(128, 64, warps=4, stages=2),
    128: Tile(64, 64, warps=4, stages=2),
    256: Tile(64, 32, warps=8, stages=2),
}
_INTERPRETER = Tile(32, 32, warps=4, stages=2)


def padded(width: int) -> int:
    """The next power of two, at least 16: what a matrix instruction takes."""
    return max(16, 1 << (width - 1).bit_length())


def query_tile(width: int, capability: Capability) -> Tile:
    """For many queries of one head."""
    if capability is None:
        return _INTERPRETER
    key = max(64, padded(width))
    if capability[0] in (9, 10):
        return (_HOPPER if capability[0] == 9 else _BLACKWELL)[key]
    return (_AMPERE if capability == (8, 0) else _SMALL_MEMORY)[key]


def split_tile(rows: int, width: int, capability: Capability) -> Tile:
    """For `rows` packed queries of a group: reading keys is the work, so loads run deep."""
    block_m = 16 if rows <= 16 else 32 if rows <= 32 else 64
    if capability is None:
        return Tile(block_m, 32, warps=4, stages=2)
    # More rows or wider heads would spill beside 128 keys.
    narrow = block_m == 64 or padded(width) > 128
    if capability[0] in (9, 10) or capability == (8, 0):
        return Tile(block_m, 64 if narrow else 128, warps=4, stages=2)
    return Tile(block_m, 32 if padded(width) > 128 else 64, warps=4, stages=2)
