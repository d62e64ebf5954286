"""Which tile a GEMM launches with, by shape and capability.

In: M, N, K, the GPU. Out: a Tile, or how often K is split. New measurements change the tables here.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

Capability = tuple[int, int] | None

# Each split should have this much of K, or the second pass costs more than it brings.
_SPLIT_LENGTH = 512
_MOST_SPLITS = 32
# Rows up to which the descriptor kernel multiplies the transposed operands.
_SWAPPED_ROWS = 64
_MOST_DESCRIPTOR_SPLITS = 8
# An H200, measured, per microsecond: what a multiprocessor multiplies and loads from L2, what
# memory gives all of them, and what writing float32 parts and adding them moves; then a launch.
_FLOPS = 6.2e6
_L2_BYTES = 88e3
_MEMORY_BYTES = 4.0e6
_PASS_BYTES = 5.0e6
_SECOND_PASS = 1.5
# Above this M the weights are no longer the only traffic and tiles fill the GPU by themselves.
_SPLIT_ROWS = 128


@dataclass(frozen=True, slots=True)
class Tile:
    """One program's share of the result, and how its loads are pipelined."""

    block_m: int
    block_n: int
    block_k: int
    warps: int
    stages: int
    group_m: int = 8

    def count(self, m: int, n: int) -> int:
        """Tiles that cover an M x N result."""
        return ceil_div(m, self.block_m) * ceil_div(n, self.block_n)


# The descriptor kernel's tiles. Deep pipelines: one program a multiprocessor.
_HOPPER_DESCRIPTOR = (
    Tile(128, 256, 64, warps=8, stages=3),
    Tile(128, 128, 64, warps=8, stages=5),
    Tile(64, 128, 64, warps=4, stages=5),
    Tile(128, 64, 128, warps=8, stages=4),
    Tile(64, 64, 128, warps=4, stages=4),
)
# Its tiles of the transposed product, for few rows, by their padded count: a matrix instruction
# takes 64 rows, which the columns of B fill, and as few as 8 columns.
_HOPPER_SWAPPED = {
    16: (Tile(128, 16, 128, warps=4, stages=5), Tile(64, 16, 128, warps=4, stages=8)),
    32: (Tile(128, 32, 128, warps=4, stages=5), Tile(64, 32, 128, warps=4, stages=7)),
    64: (Tile(128, 64, 128, warps=4, stages=4), Tile(64, 64, 128, warps=4, stages=6)),
}
# (tile, share of the largest tile's throughput per multiprocessor when all are busy)
_HOPPER_POINTER = (
    (Tile(128, 256, 64, warps=8, stages=3), 1.0),
    (Tile(128, 128, 64, warps=8, stages=3), 0.85),
    (Tile(64, 128, 64, warps=4, stages=4), 0.65),
    (Tile(64, 64, 64, warps=4, stages=4), 0.45),
)
# At most 64 KiB of shared memory: every GPU of the generation has that much, sm_86 and sm_89 too.
_AMPERE_POINTER = (
    (Tile(128, 128, 32, warps=4, stages=4), 1.0),
    (Tile(64, 128, 32, warps=4, stages=4), 0.8),
    (Tile(64, 64, 32, warps=4, stages=4), 0.55),
)
# Single elements cannot be copied asynchronously: they pass through registers, which larger tiles
# would spill.
_SCALAR_LOADS = Tile(64, 64, 32, warps=4, stages=2)
# H200, microseconds of the two: 1804 and 2082 at 4096 cubed, 50 and 44 at 1024 cubed.
_HOPPER_FLOAT32 = (Tile(128, 64, 32, warps=4, stages=3), Tile(64, 64, 32, warps=4, stages=4))
_INTERPRETER = Tile(32, 32, 32, warps=4, stages=2, group_m=2)


@dataclass(frozen=True, slots=True)
class Plan:
    """How the descriptor kernel runs: `tile` of the product, or of the transposed one (`swap`)."""

    tile: Tile
    splits: int
    swap: bool


@functools.lru_cache(maxsize=4096)
def descriptor_plan(m: int, n: int, k: int, processors: int) -> Plan:
    """The fastest tile and split of K for the kernel that loads through tensor descriptors."""
    swap = m <= _SWAPPED_ROWS
    table = _HOPPER_DESCRIPTOR
    if swap:
        table = _HOPPER_SWAPPED[16 if m <= 16 else 32 if m <= 32 else 64]
        m, n = n, m
    candidates = [
        Plan(tile, splits, swap)
        for tile in table
        for splits in range(1, _MOST_DESCRIPTOR_SPLITS + 1)
        if splits == 1 or splits * _SPLIT_LENGTH <= k
    ]
    return min(candidates, key=lambda plan: _microseconds(plan, m, n, k, processors))


def _microseconds(plan: Plan, m: int, n: int, k: int, processors: int) -> float:
    """A model of the time, without the part that every plan has; only its order matters."""
    tile = plan.tile
    waves = ceil_div(tile.count(m, n) * plan.splits, processors)
    steps = ceil_div(ceil_div(k, tile.block_k), plan.splits)
    flops = 2 * tile.block_m * tile.block_n * tile.block_k
    loads = 2 * (tile.block_m + tile.block_n) * tile.block_k
    time = waves * steps * max(flops / _FLOPS, loads / _L2_BYTES)
    time = max(time, 2 * (m * k + n * k + m * n) / _MEMORY_BYTES)
    if plan.splits == 1:
        return time
    return time + _SECOND_PASS + m * n * (8 * plan.splits + 2) / _PASS_BYTES


def pointer_tile(
    m: int, n: int, processors: int, capability: Capability, vectors: bool = True
) -> Tile:
    """The tile of the kernel that loads through pointers; `vectors`: 16 bytes at a time."""
    if capability is None:
        return _INTERPRETER
    if not vectors:
        return _SCALAR_LOADS
    wide_memory = capability[0] in (9, 10)
    return _cheapest(_HOPPER_POINTER if wide_memory else _AMPERE_POINTER, m, n, processors)


def float32_tile(
    m: int, n: int, processors: int, capability: Capability, vectors: bool
) -> Tile:
    """The pointer kernel's tile for float32, whose elements take twice the shared memory."""
    if capability is None:
        return _INTERPRETER
    if not vectors or capability[0] not in (9, 10):
        return _SCALAR_LOADS
    large, small = _HOPPER_FLOAT32
    return large if large.count(m, n) >= 2 * processors else small


def split_tile(m: int, n: int, k: int, capability: Capability) -> Tile:
    """The tile for few rows, where reading B is the work: deep loads, few columns a program."""
    block_m = 16 if m <= 16 else 32 if m <= 32 else 64
    if capability is None:
        return Tile(block_m, 32, 32, warps=4, stages=2)
    if capability[0] in (9, 10):
        return Tile(block_m, 64, 128, warps=4, stages=4)
    return Tile(block_m, 64, 64, warps=4, stages=4)


def split_length(tile: Tile, m: int, n: int, k: int, processors: int) -> int:
    """How much of K one program sums, a multiple of block_k; at least one block."""
    blocks = max(1, ceil_div(k, tile.block_k))
    wanted = max(1, 2 * processors // tile.count(m, n))
    longest = max(1, k // _SPLIT_LENGTH)
    splits = min(wanted, longest, _MOST_SPLITS, blocks)
    return ceil_div(blocks, splits) * tile.block_k


def splits_pay(m: int, n: int, k: int, processors: int, tile: Tile) -> bool:
    """Whether the split kernel is the right one: few rows, or too few tiles for the GPU."""
    if m <= 64:
        return True
    return m <= _SPLIT_ROWS and split_length(tile, m, n, k, processors) < k


def ceil_div(a: int, b: int) -> int:
    """a / b rounded up."""
    return -(-a // b)


def _cheapest(table: Sequence[tuple[Tile, float]], m: int, n: int, processors: int) -> Tile:
    """The tile whose waves over the multiprocessors take least time; the earlier one on a tie."""

    def cost(entry: tuple[Tile, float]) -> float:
        tile, throughput = entry
        waves = ceil_div(tile.count(m, n), processors)
        return waves * tile.block_m * tile.block_n / throughput

    return min(table, key=cost)[0]
