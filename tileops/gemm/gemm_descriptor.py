"""GEMM through tensor descriptors (TMA), persistent, for sm_90 and layouts a descriptor can hold.

In: d, a, b and the two transpositions. What it declines, the pointer kernel of gemm.py serves.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from tileops.gemm import tiles
from tileops.gemm.gemm import sizes, strides, sum_splits, tile_place, wide
from tileops.gemm.tiles import Plan
from tileops.runtime.launch import Call
from tileops.runtime.processors import processors

_ALIGNMENT = 16
_MOST_ROWS = 2**31 - 1  # coordinates are 32-bit


@triton.jit
def gemm_descriptor_kernel(
    d,
    a_desc,
    b_desc,
    m,
    n,
    k,
    split_steps,
    d_m_stride,
    d_n_stride,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    A_K_INNER: tl.constexpr,
    B_K_INNER: tl.constexpr,
    D_DESCRIPTOR: tl.constexpr,
    SPLIT: tl.constexpr,
    FLATTEN: tl.constexpr,
):
    """Every num_programs-th tile of d; past an edge, loads give zeros and stores are dropped.

    SPLIT: d is [splits, m, n] in float32, and a part of it has split_steps blocks of K.
    """
    tile_count = tl.cdiv(m, BLOCK_M) * tl.cdiv(n, BLOCK_N)
    k_steps = tl.cdiv(k, BLOCK_K)
    work_count = tile_count * tl.cdiv(k_steps, split_steps) if SPLIT else tile_count
    for work in tl.range(tl.program_id(0), work_count, tl.num_programs(0), flatten=FLATTEN):
        tile = work % tile_count if SPLIT else work
        pid_m, pid_n = tile_place(tile, m, n, BLOCK_M, BLOCK_N, GROUP_M)
        off_m = pid_m * BLOCK_M
        off_n = pid_n * BLOCK_N
        first_step = 0
        steps = k_steps
        if SPLIT:
            first_step = (work // tile_count) * split_steps
            steps = min(split_steps, k_steps - first_step)
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for step in range(steps):
            off_k = (first_step + step) * BLOCK_K if SPLIT else step * BLOCK_K
            a = a_desc.load([off_m, off_k]) if A_K_INNER else a_desc.load([off_k, off_m]).T
            b = b_desc.load([off_n, off_k]).T if B_K_INNER else b_desc.load([off_k, off_n])
            acc = tl.dot(a, b, acc)
        if D_DESCRIPTOR:
            # Halves: the staging buffer stays small, which leaves room for the loads' stages.
            halves = tl.permute(tl.reshape(acc, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1))
            left, right = tl.split(halves)
            d.store([off_m, off_n], left.to(d.dtype))
            d.store([off_m, off_n + BLOCK_N // 2], right.to(d.dtype))
        else:
            offs_m = off_m.to(tl.int64) + tl.arange(0, BLOCK_M)
            offs_n = off_n.to(tl.int64) + tl.arange(0, BLOCK_N)
            mask = (offs_m[:, None] < m) & (offs_n[None, :] < n)
            places = d + offs_m[:, None] * d_m_stride + offs_n[None, :] * d_n_stride
            if SPLIT:
                places += (work // tile_count).to(tl.int64) * m * n
            tl.store(places, acc.to(d.dtype.element_ty), mask=mask)


def run_descriptor(
    call: Call,
    d: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    plan: Plan,
    *,
    trans_a: bool,
    trans_b: bool,
    flatten: bool = True,
) -> None:
    """Launches the descriptor kernel by this plan, for operands that `_obstacle` lets pass."""
    m, n, k = sizes(d, a, trans_a)
    a_strides, b_strides, d_strides = strides(a, trans_a), strides(b, trans_b), (n, 1)
    if plan.swap:
        # The transposed product has the same memory: its operands are exchanged and transposed.
        m, n, a, b = n, m, b, a
        a_strides, b_strides, d_strides = b_strides[::-1], a_strides[::-1], (1, m)
    tile = plan.tile
    steps = tiles.ceil_div(k, tile.block_k)
    split_steps = tiles.ceil_div(steps, plan.splits)
    splits = tiles.ceil_div(steps, split_steps)
    a_k_inner, b_k_inner = _inner(a_strides, (m, k)) == 1, _inner(b_strides, (k, n)) == 0
    a_block, b_block = (tile.block_m, tile.block_k), (tile.block_k, tile.block_n)
    target = d
    if splits > 1:
        target = call.empty((splits, m * n), torch.float32)
    d_descriptor = not plan.swap and splits == 1 and _stores_in_blocks(d)
    call.launch(
        gemm_descriptor_kernel,
        (min(processors(call), tile.count(m, n) * splits),),
        TensorDescriptor(d, [m, n], [n, 1], [tile.block_m, tile.block_n // 2])
        if d_descriptor
        else target,
        _descriptor(a, (m, k), a_strides, a_block, swap=not a_k_inner),
        _descriptor(b, (k, n), b_strides, b_block, swap=b_k_inner),
        m,
        n,
        k,
        split_steps,
        *d_strides,
        BLOCK_M=tile.block_m,
        BLOCK_N=tile.block_n,
        BLOCK_K=tile.block_k,
        GROUP_M=tile.group_m,
        A_K_INNER=a_k_inner,
        B_K_INNER=b_k_inner,
        D_DESCRIPTOR=d_descriptor,
        SPLIT=splits > 1,
        # Parts differ in length, which a loop without nesting would pay for.
        FLATTEN=flatten and splits == 1,
        num_warps=tile.warps,
        num_stages=tile.stages,
    )
    if splits > 1:
        sum_splits(call, d, target, splits)


def _stores_in_blocks(d: torch.Tensor) -> bool:
    """Whether a descriptor can hold the result."""
    row_bytes = int(d.shape[1]) * d.itemsize
    return row_bytes % _ALIGNMENT == 0 and bool(d.data_ptr() % _ALIGNMENT == 0)


def launch_descriptor(
    call: Call, d: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, trans_a: bool, trans_b: bool
) -> str | None:
    """Serves sm_90 and later when both operands have an inner axis that TMA can read."""
    reason = wide(a)
    if reason is not None:
        return reason
    if call.capability is None or call.capability[0] < 9:
        return "tensor descriptors need sm_90"
    m, n, k = sizes(d, a, trans_a)
    if k == 0:
        return "K is 0: a descriptor holds no empty tensor"
    if max(m, n, k) > _MOST_ROWS:
        return "a size is past the descriptor's 32-bit coordinates"
    for name, x, transposed, shape in (("a", a, trans_a, (m, k)), ("b", b, trans_b, (k, n))):
        reason = _obstacle(x, strides(x, transposed), shape)
        if reason is not None:
            return f"{name}: {reason}"
    plan = tiles.descriptor_plan(m, n, k, processors(call))
    run_descriptor(call, d, a, b, plan, trans_a=trans_a, trans_b=trans_b)
    return None


def _inner(pair: tuple[int, int], shape: tuple[int, int]) -> int:
    """The axis along which memory is contiguous; a second axis of size 1 may have any stride."""
    if pair[1] == 1:
        # Both strides 1: the axis of more than one element is the inner one.
        return 0 if pair[0] == 1 and shape[1] == 1 else 1
    return 0


def _obstacle(x: torch.Tensor, pair: tuple[int, int], shape: tuple[int, int]) -> str | None:
    """Why no descriptor can describe the matrix, or None."""
    inner = _inner(pair, shape)
    outer = 1 - inner
    if pair[inner] != 1:
        return "neither axis is contiguous"
    # A descriptor cannot be built at all without reading the address (the one exception to the
    # rule that launchers do not); meta tensors answer 0.
    if x.data_ptr() % _ALIGNMENT != 0:
        return "the address is no multiple of 16 bytes"
    if shape[outer] > 1 and (
        pair[outer] * x.itemsize % _ALIGNMENT != 0 or pair[outer] < shape[inner]
    ):
        return "the outer stride is no multiple of 16 bytes, or rows overlap"
    return None


def _descriptor(
    x: torch.Tensor,
    shape: tuple[int, int],
    pair: tuple[int, int],
    block: tuple[int, int],
    *,
    swap: bool,
) -> TensorDescriptor:
    """A descriptor of the matrix, its contiguous axis last (`swap` exchanges the axes)."""
    if swap:
        shape, pair, block = shape[::-1], pair[::-1], block[::-1]
    outer = pair[0]
    if shape[0] == 1:
        # The stride of a single row is never used, but has to be a legal one.
        outer = -(-shape[1] // 8) * 8
    return TensorDescriptor(x, list(shape), [outer, 1], list(block))
