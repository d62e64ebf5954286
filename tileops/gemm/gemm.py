"""GEMM through pointers: any strides, any sizes, every GPU; and its split of K for few rows.

In: d, a, b and the two transpositions. The kernel for tensor descriptors is in gemm_descriptor.py,
the choice of tiles in tiles.py.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tileops.gemm import tiles
from tileops.gemm.tiles import Tile
from tileops.runtime.launch import Call
from tileops.runtime.processors import processors

_SUM_BLOCK = 1024


@triton.jit
def tile_place(pid, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """Row and column of tile `pid`, counted down groups of GROUP_M rows so that L2 keeps both."""
    tiles_m = tl.cdiv(m, BLOCK_M)
    tiles_n = tl.cdiv(n, BLOCK_N)
    group_tiles = GROUP_M * tiles_n
    first_m = (pid // group_tiles) * GROUP_M
    group_rows = min(tiles_m - first_m, GROUP_M)
    inside = pid % group_tiles
    return first_m + inside % group_rows, inside // group_rows


@triton.jit
def gemm_kernel(
    d_ptr,
    a_ptr,
    b_ptr,
    m,
    n,
    k,
    split_length,
    a_m_stride,
    a_k_stride,
    b_k_stride,
    b_n_stride,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    WHOLE_K: tl.constexpr,
    UPCAST: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """One tile of d[split], a contiguous [splits, m, n]; program axis 1 is the split.

    PRECISION is that of float32 products; 16-bit ones are exact.
    """
    pid_m, pid_n = tile_place(tl.program_id(0), m, n, BLOCK_M, BLOCK_N, GROUP_M)
    split = tl.program_id(1).to(tl.int64)
    k_start = split * split_length
    k_stop = min(k_start + split_length, k)
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    # Kept narrow and added to a wide start: the loop's mask stays cheap.
    lane_k = tl.arange(0, BLOCK_K)
    offs_k = k_start + lane_k
    a_ptrs = a_ptr + offs_m[:, None] * a_m_stride + offs_k[None, :] * a_k_stride
    b_ptrs = b_ptr + offs_k[:, None] * b_k_stride + offs_n[None, :] * b_n_stride
    a_step = tl.full((), BLOCK_K, tl.int64) * a_k_stride
    b_step = tl.full((), BLOCK_K, tl.int64) * b_k_stride
    m_mask = offs_m[:, None] < m
    n_mask = offs_n[None, :] < n
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, (k_stop - k_start).to(tl.int32), BLOCK_K):
        if WHOLE_K:
            a = tl.load(a_ptrs, mask=m_mask, other=0.0)
            b = tl.load(b_ptrs, mask=n_mask, other=0.0)
        else:
            rest = (k_stop - k_start).to(tl.int32) - start
            a = tl.load(a_ptrs, mask=m_mask & (lane_k[None, :] < rest), other=0.0)
            b = tl.load(b_ptrs, mask=n_mask & (lane_k[:, None] < rest), other=0.0)
        if UPCAST:  # the interpreter has no bfloat16 products
            a = a.to(tl.float32)
            b = b.to(tl.float32)
        acc = tl.dot(a, b, acc, input_precision=PRECISION)
        a_ptrs += a_step
        b_ptrs += b_step
    d_ptrs = d_ptr + (split * m + offs_m)[:, None] * n + offs_n[None, :]
    tl.store(d_ptrs, acc.to(d_ptr.dtype.element_ty), mask=m_mask & n_mask)


@triton.jit
def sum_splits_kernel(d_ptr, parts_ptr, splits, size, BLOCK: tl.constexpr):
    """d = parts[0] + parts[1] + ..., always in this order: the result does not vary."""
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < size
    total = tl.zeros((BLOCK,), tl.float32)
    for split in range(splits):
        total += tl.load(parts_ptr + tl.cast(split, tl.int64) * size + offs, mask=mask, other=0.0)
    tl.store(d_ptr + offs, total.to(d_ptr.dtype.element_ty), mask=mask)


def sizes(d: torch.Tensor, a: torch.Tensor, trans_a: bool) -> tuple[int, int, int]:
    """M, N and K as plain integers."""
    return int(d.shape[0]), int(d.shape[1]), int(a.shape[0 if trans_a else 1])


def strides(x: torch.Tensor, transposed: bool) -> tuple[int, int]:
    """Strides along the rows and columns of the matrix that `x` stands for."""
    first, second = (int(s) for s in x.stride())
    return (second, first) if transposed else (first, second)


def _in_vectors(pair: tuple[int, int]) -> bool:
    """Whether rows (or columns) are contiguous and start at multiples of 16 bytes."""
    return min(pair) == 1 and max(pair) % 8 == 0


def wide(a: torch.Tensor) -> str | None:
    """Why a kernel for 16-bit elements does not serve the dtype, or None."""
    if a.dtype in (torch.float16, torch.bfloat16):
        return None
    return f"{a.dtype} products go through the pointer kernel"


def run_tiles(
    call: Call,
    d: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    tile: Tile,
    *,
    trans_a: bool,
    trans_b: bool,
    split_length: int | None = None,
) -> None:
    """Launches the pointer kernel with this tile; K is split when split_length is shorter."""
    m, n, k = sizes(d, a, trans_a)
    length = max(k, 1) if split_length is None else split_length
    splits = max(1, tiles.ceil_div(k, length))
    target = d
    if splits > 1:
        target = call.empty((splits, m, n), torch.float32)
    call.launch(
        gemm_kernel,
        (tile.count(m, n), splits),
        target,
        a,
        b,
        m,
        n,
        k,
        length,
        *strides(a, trans_a),
        *strides(b, trans_b),
        BLOCK_M=tile.block_m,
        BLOCK_N=tile.block_n,
        BLOCK_K=tile.block_k,
        GROUP_M=tile.group_m,
        WHOLE_K=k % tile.block_k == 0,
        UPCAST=call.device.type == "cpu",
        # Three products of 19-bit parts on tensor cores: float32's digits at several times the
        # rate of its own units.
        PRECISION="tf32x3" if a.dtype == torch.float32 else "ieee",
        num_warps=tile.warps,
        num_stages=tile.stages,
    )
    if splits > 1:
        sum_splits(call, d, target, splits)


def sum_splits(call: Call, d: torch.Tensor, parts: torch.Tensor, splits: int) -> None:
    """The second pass of a split: `parts` are float32, each laid out as d is."""
    size = int(d.shape[0]) * int(d.shape[1])
    grid = (tiles.ceil_div(size, _SUM_BLOCK),)
    call.launch(sum_splits_kernel, grid, d, parts, splits, size, BLOCK=_SUM_BLOCK)


def launch_pointer(
    call: Call, d: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, trans_a: bool, trans_b: bool
) -> str | None:
    """Serves every call."""
    m, n, _ = sizes(d, a, trans_a)
    vectors = _in_vectors(strides(a, trans_a)) and _in_vectors(strides(b, trans_b))
    if a.dtype == torch.float32:
        tile = tiles.float32_tile(m, n, processors(call), call.capability, vectors)
    else:
        tile = tiles.pointer_tile(m, n, processors(call), call.capability, vectors)
    run_tiles(call, d, a, b, tile, trans_a=trans_a, trans_b=trans_b)
    return None


def launch_split_k(
    call: Call, d: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, trans_a: bool, trans_b: bool
) -> str | None:
    """Serves few rows: K is cut so that programs fill the GPU, in two deterministic passes."""
    reason = wide(a)
    if reason is not None:
        return reason
    m, n, k = sizes(d, a, trans_a)
    tile = tiles.split_tile(m, n, k, call.capability)
    count = processors(call)
    if not tiles.splits_pay(m, n, k, count, tile):
        return f"M = {m}: tiles fill the GPU without splitting K"
    length = tiles.split_length(tile, m, n, k, count)
    run_tiles(call, d, a, b, tile, trans_a=trans_a, trans_b=trans_b, split_length=length)
    return None
