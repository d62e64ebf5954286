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


# By generation, then by padded head width; 16 to 64 columns share a row. "small memory" are sm_86,
# sm_89 and sm_120, with 99 KiB of shared memory a program.
_FORWARD = {
    "ampere": {
        64: Tile(128, 64, warps=4, stages=3),
        128: Tile(128, 64, warps=8, stages=3),
        256: Tile(64, 64, warps=8, stages=2),
    },
    # Measured on an H200: small tiles, several programs a multiprocessor, so that the exponentials
    # of one hide behind the products of another (128 wide, causal, 2048: 158 us; others 183 up).
    "hopper": {
        64: Tile(64, 64, warps=4, stages=3),
        128: Tile(64, 64, warps=4, stages=3),
        256: Tile(128, 64, warps=8, stages=2),
    },
    # sm_100 multiplies 128 rows at a time.
    "blackwell": {
        64: Tile(128, 128, warps=8, stages=3),
        128: Tile(128, 128, warps=8, stages=2),
        256: Tile(128, 64, warps=8, stages=2),
    },
    "small memory": {
        64: Tile(128, 64, warps=4, stages=2),
        128: Tile(64, 64, warps=4, stages=2),
        256: Tile(64, 32, warps=8, stages=2),
    },
}
# First for the queries' gradients, which walk over block_n keys, then for those of the keys, which
# walk over block_m queries. The largest that spill next to nothing; none was timed yet.
_BACKWARD = {
    "ampere": {
        64: (Tile(128, 64, warps=8, stages=2), Tile(32, 128, warps=8, stages=2)),
        128: (Tile(128, 64, warps=8, stages=2), Tile(32, 64, warps=8, stages=2)),
        256: (Tile(64, 32, warps=8, stages=2), Tile(32, 32, warps=8, stages=2)),
    },
    "hopper": {
        64: (Tile(128, 64, warps=8, stages=2), Tile(64, 128, warps=8, stages=2)),
        128: (Tile(128, 64, warps=8, stages=2), Tile(32, 128, warps=8, stages=2)),
        256: (Tile(64, 32, warps=8, stages=2), Tile(32, 32, warps=8, stages=2)),
    },
    "blackwell": {
        64: (Tile(128, 64, warps=8, stages=2), Tile(64, 128, warps=8, stages=1)),
        128: (Tile(128, 64, warps=8, stages=2), Tile(32, 128, warps=8, stages=1)),
        256: (Tile(64, 32, warps=8, stages=2), Tile(32, 32, warps=8, stages=2)),
    },
    "small memory": {
        64: (Tile(64, 64, warps=4, stages=2), Tile(32, 64, warps=4, stages=2)),
        128: (Tile(64, 32, warps=4, stages=2), Tile(32, 64, warps=8, stages=2)),
        256: (Tile(32, 32, warps=8, stages=1), Tile(32, 32, warps=8, stages=1)),
    },
}
_INTERPRETER = Tile(32, 32, warps=4, stages=2)


def padded(width: int) -> int:
    """The next power of two, at least 16: what a matrix instruction takes."""
    return max(16, 1 << (width - 1).bit_length())


def query_tile(width: int, capability: Capability) -> Tile:
    """For many queries of one head."""
    if capability is None:
        return _INTERPRETER
    return _FORWARD[_generation(capability)][max(64, padded(width))]


def backward_tiles(width: int, capability: Capability) -> tuple[Tile, Tile]:
    """For the gradients of queries, and for those of keys and values."""
    if capability is None:
        return _INTERPRETER, _INTERPRETER
    return _BACKWARD[_generation(capability)][max(64, padded(width))]


def _generation(capability: tuple[int, int]) -> str:
    if capability == (8, 0):
        return "ampere"
    return {9: "hopper", 10: "blackwell"}.get(capability[0], "small memory")


def split_tile(rows: int, width: int, capability: Capability) -> Tile:
    """For `rows` packed queries of a group: reading keys is the work, so loads run deep."""
    block_m = 16 if rows <= 16 else 32 if rows <= 32 else 64
    if capability is None:
        return Tile(block_m, 32, warps=4, stages=2)
    # More rows or wider heads would spill beside 128 keys.
    narrow = block_m == 64 or padded(width) > 128
    if _generation(capability) != "small memory":
        return Tile(block_m, 64 if narrow else 128, warps=4, stages=2)
    return Tile(block_m, 32 if padded(width) > 128 else 64, warps=4, stages=2)
