"""Gradients of attention over tiles: one kernel for queries, then one for keys and values.

In: do, q, k, v, o and lse of a forward call, any strides, and its parameters. Both kernels compute
the weights again from lse, so that nothing of the size S x S is ever stored; every sum has a fixed
order.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from tileops.attention import tiles
from tileops.attention.descriptors import describable, descriptor_of
from tileops.attention.gqa_dense import Masking, refusal
from tileops.attention.online_softmax import LOG2_E, key_range, load_block
from tileops.attention.tiles import Tile
from tileops.runtime.launch import Call


@triton.jit
def head_offset(batch, head, batch_stride, head_stride):
    """Where one head's rows start, past 2**31 elements too."""
    return tl.cast(batch, tl.int64) * batch_stride + tl.cast(head, tl.int64) * head_stride


@triton.jit
def weights_and_gradients(
    products,
    dweights,
    lse,
    delta,
    queries,
    keys,
    seq,
    left,
    right,
    scale,
    cap,
    MASKED: tl.constexpr,
    HAS_LEFT: tl.constexpr,
    HAS_RIGHT: tl.constexpr,
    SOFTCAP: tl.constexpr,
):
    """The softmax's weights and the gradients of its scores; either orientation of the tile.

    lse is in base 2, delta is each row's sum of `do * o`; queries and keys are positions that
    broadcast against the tile.
    """
    if SOFTCAP:
        bounded = 2.0 * tl.sigmoid(2.0 * (products * scale)) - 1.0
        weights = tl.math.exp2(bounded * cap - lse)
        gradients = weights * (dweights - delta) * (1.0 - bounded * bounded)
    else:
        weights = tl.math.exp2(products * scale - lse)
        gradients = weights * (dweights - delta)
    if MASKED:
        seen = (keys < seq) & (queries < seq)
        if HAS_LEFT:
            seen = seen & (keys >= queries - left)
        if HAS_RIGHT:
            seen = seen & (keys <= queries + right)
        weights = tl.where(seen, weights, 0.0)
        gradients = tl.where(seen, gradients, 0.0)
    return weights, gradients


@triton.jit
def add_keys(
    dq, q, do, lse, delta, queries, k_rows, v_rows, start, stop, batch, head, seq, left, right,
    scale, cap, k_row_stride, k_dim_stride, v_row_stride, v_dim_stride,
    D: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, DESCRIPTOR: tl.constexpr,
    MASKED: tl.constexpr, HAS_LEFT: tl.constexpr, HAS_RIGHT: tl.constexpr, SOFTCAP: tl.constexpr,
):  # fmt: skip
    """Adds what the keys from start to stop give to the gradients of a tile of queries."""
    for block in range(start, stop, BLOCK_N):
        k = load_block(
            k_rows, k_row_stride, k_dim_stride, batch, head, block, seq,
            D, BLOCK_N, BLOCK_D, DESCRIPTOR, MASKED,
        )  # fmt: skip
        v = load_block(
            v_rows, v_row_stride, v_dim_stride, batch, head, block, seq,
            D, BLOCK_N, BLOCK_D, DESCRIPTOR, MASKED,
        )  # fmt: skip
        wide = k.to(q.dtype)
        keys = block + tl.arange(0, BLOCK_N)
        _, gradients = weights_and_gradients(
            tl.dot(q, wide.T), tl.dot(do, v.to(q.dtype).T), lse[:, None], delta[:, None],
            queries[:, None], keys[None, :], seq, left, right, scale, cap,
            MASKED, HAS_LEFT, HAS_RIGHT, SOFTCAP,
        )  # fmt: skip
        dq = tl.dot(gradients.to(k.dtype).to(q.dtype), wide, dq)
    return dq


@triton.jit
def gqa_dense_dq_kernel(
    dq_ptr,
    delta_ptr,
    do_ptr,
    q_ptr,
    k_rows,
    v_rows,
    o_ptr,
    lse_ptr,
    do_batch_stride,
    do_row_stride,
    do_head_stride,
    do_dim_stride,
    q_batch_stride,
    q_row_stride,
    q_head_stride,
    q_dim_stride,
    k_batch_stride,
    k_row_stride,
    k_head_stride,
    k_dim_stride,
    v_batch_stride,
    v_row_stride,
    v_head_stride,
    v_dim_stride,
    o_batch_stride,
    o_row_stride,
    o_head_stride,
    o_dim_stride,
    seq,
    kv_heads,
    left,
    right,
    scale,
    cap,
    dq_scale,
    D: tl.constexpr,
    GROUP: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    DESCRIPTOR: tl.constexpr,
    HAS_LEFT: tl.constexpr,
    HAS_RIGHT: tl.constexpr,
    SOFTCAP: tl.constexpr,
    UPCAST: tl.constexpr,
):
    """dq [B, S, H, D] of one tile of queries, and delta [B, H, S]: the rows' sums of do * o."""
    tile_count = tl.cdiv(seq, BLOCK_M)
    pid = tl.program_id(0)
    # The longest causal tiles of a head start first.
    tile = tile_count - 1 - pid % tile_count
    place = pid // tile_count
    heads = kv_heads * GROUP
    batch = place // heads
    head = place % heads
    kv_head = head // GROUP
    if not DESCRIPTOR:
        k_rows += head_offset(batch, kv_head, k_batch_stride, k_head_stride)
        v_rows += head_offset(batch, kv_head, v_batch_stride, v_head_stride)

    first = tile * BLOCK_M
    queries = first + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, BLOCK_D)
    q = load_block(
        q_ptr + head_offset(batch, head, q_batch_stride, q_head_stride), q_row_stride, q_dim_stride,
        batch, head, first, seq, D, BLOCK_M, BLOCK_D, False, True,
    )  # fmt: skip
    do = load_block(
        do_ptr + head_offset(batch, head, do_batch_stride, do_head_stride), do_row_stride,
        do_dim_stride, batch, head, first, seq, D, BLOCK_M, BLOCK_D, False, True,
    )  # fmt: skip
    o = load_block(
        o_ptr + head_offset(batch, head, o_batch_stride, o_head_stride), o_row_stride, o_dim_stride,
        batch, head, first, seq, D, BLOCK_M, BLOCK_D, False, True,
    )  # fmt: skip
    if UPCAST:  # the interpreter has no bfloat16 products
        q, do = q.to(tl.float32), do.to(tl.float32)
    delta = tl.sum(do.to(tl.float32) * o.to(tl.float32), 1)
    rows = place.to(tl.int64) * seq + queries
    tl.store(delta_ptr + rows, delta, mask=queries < seq)
    lse = tl.load(lse_ptr + rows, mask=queries < seq, other=0.0) * LOG2_E

    last = min(first + BLOCK_M, seq) - 1
    lo, full_lo, full_hi, hi = key_range(
        first, last, left, right, 0, seq, HAS_LEFT, HAS_RIGHT, BLOCK_N
    )
    dq = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    if HAS_LEFT:
        dq = add_keys(
            dq, q, do, lse, delta, queries, k_rows, v_rows, lo, full_lo, batch, kv_head, seq,
            left, right, scale, cap, k_row_stride, k_dim_stride, v_row_stride, v_dim_stride,
            D, BLOCK_N, BLOCK_D, DESCRIPTOR, True, HAS_LEFT, HAS_RIGHT, SOFTCAP,
        )  # fmt: skip
    dq = add_keys(
        dq, q, do, lse, delta, queries, k_rows, v_rows, full_lo, full_hi, batch, kv_head, seq,
        left, right, scale, cap, k_row_stride, k_dim_stride, v_row_stride, v_dim_stride,
        D, BLOCK_N, BLOCK_D, DESCRIPTOR, False, HAS_LEFT, HAS_RIGHT, SOFTCAP,
    )  # fmt: skip
    dq = add_keys(
        dq, q, do, lse, delta, queries, k_rows, v_rows, full_hi, hi, batch, kv_head, seq,
        left, right, scale, cap, k_row_stride, k_dim_stride, v_row_stride, v_dim_stride,
        D, BLOCK_N, BLOCK_D, DESCRIPTOR, True, HAS_LEFT, HAS_RIGHT, SOFTCAP,
    )  # fmt: skip
    rows = (batch.to(tl.int64) * seq + queries) * heads + head
    mask = (queries[:, None] < seq) & (dims[None, :] < D)
    places = dq_ptr + rows[:, None] * D + dims[None, :]
    tl.store(places, (dq * dq_scale).to(dq_ptr.dtype.element_ty), mask=mask)


@triton.jit
def add_queries(
    dk, dv, k, v, keys, q_rows, do_rows, lse_ptr, delta_ptr, start, stop, batch, head, seq, left,
    right, scale, cap, q_row_stride, q_dim_stride, do_row_stride, do_dim_stride,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr, DESCRIPTOR: tl.constexpr,
    MASKED: tl.constexpr,
    HAS_LEFT: tl.constexpr, HAS_RIGHT: tl.constexpr, SOFTCAP: tl.constexpr,
):  # fmt: skip
    """Adds what one head's queries from start to stop give to the gradients of a tile of keys."""
    for block in range(start, stop, BLOCK_M):
        q = load_block(
            q_rows, q_row_stride, q_dim_stride, batch, head, block, seq,
            D, BLOCK_M, BLOCK_D, DESCRIPTOR, MASKED,
        )  # fmt: skip
        do = load_block(
            do_rows, do_row_stride, do_dim_stride, batch, head, block, seq,
            D, BLOCK_M, BLOCK_D, DESCRIPTOR, MASKED,
        )  # fmt: skip
        wide_q, wide_do = q.to(k.dtype), do.to(k.dtype)
        queries = block + tl.arange(0, BLOCK_M)
        if MASKED:
            lse = tl.load(lse_ptr + queries, mask=queries < seq, other=0.0) * LOG2_E
            delta = tl.load(delta_ptr + queries, mask=queries < seq, other=0.0)
        else:
            lse = tl.load(lse_ptr + queries) * LOG2_E
            delta = tl.load(delta_ptr + queries)
        weights, gradients = weights_and_gradients(
            tl.dot(k, wide_q.T), tl.dot(v, wide_do.T), lse[None, :], delta[None, :],
            queries[None, :], keys[:, None], seq, left, right, scale, cap,
            MASKED, HAS_LEFT, HAS_RIGHT, SOFTCAP,
        )  # fmt: skip
        dv = tl.dot(weights.to(q.dtype).to(k.dtype), wide_do, dv)
        dk = tl.dot(gradients.to(q.dtype).to(k.dtype), wide_q, dk)
    return dk, dv


@triton.jit
def gqa_dense_dkdv_kernel(
    dk_ptr,
    dv_ptr,
    do,
    q,
    k_ptr,
    v_ptr,
    lse_ptr,
    delta_ptr,
    do_batch_stride,
    do_row_stride,
    do_head_stride,
    do_dim_stride,
    q_batch_stride,
    q_row_stride,
    q_head_stride,
    q_dim_stride,
    k_batch_stride,
    k_row_stride,
    k_head_stride,
    k_dim_stride,
    v_batch_stride,
    v_row_stride,
    v_head_stride,
    v_dim_stride,
    seq,
    kv_heads,
    left,
    right,
    scale,
    cap,
    dk_scale,
    D: tl.constexpr,
    GROUP: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    DESCRIPTOR: tl.constexpr,
    HAS_LEFT: tl.constexpr,
    HAS_RIGHT: tl.constexpr,
    SOFTCAP: tl.constexpr,
    UPCAST: tl.constexpr,
):
    """dk and dv [B, S, H_kv, D] of one tile of keys: the sum over the queries of GROUP heads."""
    tile_count = tl.cdiv(seq, BLOCK_N)
    pid = tl.program_id(0)
    # The first keys are seen by most queries under a causal mask: they start first.
    tile = pid % tile_count
    batch = pid // tile_count // kv_heads
    kv_head = pid // tile_count % kv_heads

    first = tile * BLOCK_N
    keys = first + tl.arange(0, BLOCK_N)
    dims = tl.arange(0, BLOCK_D)
    k = load_block(
        k_ptr + head_offset(batch, kv_head, k_batch_stride, k_head_stride), k_row_stride,
        k_dim_stride, batch, kv_head, first, seq, D, BLOCK_N, BLOCK_D, False, True,
    )  # fmt: skip
    v = load_block(
        v_ptr + head_offset(batch, kv_head, v_batch_stride, v_head_stride), v_row_stride,
        v_dim_stride, batch, kv_head, first, seq, D, BLOCK_N, BLOCK_D, False, True,
    )  # fmt: skip
    if UPCAST:
        k, v = k.to(tl.float32), v.to(tl.float32)

    # A query sees keys from left before it to right after it, so a key is seen by the queries from
    # right before it to left after it.
    last = min(first + BLOCK_N, seq) - 1
    lo, full_lo, full_hi, hi = key_range(
        first, last, right, left, 0, seq, HAS_RIGHT, HAS_LEFT, BLOCK_M
    )
    dk = tl.zeros((BLOCK_N, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_N, BLOCK_D), tl.float32)
    for member in range(GROUP):
        head = kv_head * GROUP + member
        q_rows, do_rows = q, do
        if not DESCRIPTOR:
            q_rows += head_offset(batch, head, q_batch_stride, q_head_stride)
            do_rows += head_offset(batch, head, do_batch_stride, do_head_stride)
        sums = (batch.to(tl.int64) * (kv_heads * GROUP) + head) * seq
        lse_rows, delta_rows = lse_ptr + sums, delta_ptr + sums
        if HAS_RIGHT:
            dk, dv = add_queries(
                dk, dv, k, v, keys, q_rows, do_rows, lse_rows, delta_rows, lo, full_lo,
                batch, head, seq, left, right, scale, cap,
                q_row_stride, q_dim_stride, do_row_stride, do_dim_stride,
                D, BLOCK_M, BLOCK_D, DESCRIPTOR, True, HAS_LEFT, HAS_RIGHT, SOFTCAP,
            )  # fmt: skip
        dk, dv = add_queries(
            dk, dv, k, v, keys, q_rows, do_rows, lse_rows, delta_rows, full_lo, full_hi,
            batch, head, seq, left, right, scale, cap,
            q_row_stride, q_dim_stride, do_row_stride, do_dim_stride,
            D, BLOCK_M, BLOCK_D, DESCRIPTOR, False, HAS_LEFT, HAS_RIGHT, SOFTCAP,
        )  # fmt: skip
        dk, dv = add_queries(
            dk, dv, k, v, keys, q_rows, do_rows, lse_rows, delta_rows, full_hi, hi,
            batch, head, seq, left, right, scale, cap,
            q_row_stride, q_dim_stride, do_row_stride, do_dim_stride,
            D, BLOCK_M, BLOCK_D, DESCRIPTOR, True, HAS_LEFT, HAS_RIGHT, SOFTCAP,
        )  # fmt: skip
    rows = (batch.to(tl.int64) * seq + keys) * kv_heads + kv_head
    mask = (keys[:, None] < seq) & (dims[None, :] < D)
    places = rows[:, None] * D + dims[None, :]
    tl.store(dk_ptr + places, (dk * dk_scale).to(dk_ptr.dtype.element_ty), mask=mask)
    tl.store(dv_ptr + places, dv.to(dv_ptr.dtype.element_ty), mask=mask)


def launch_backward(
    call: Call,
    dq: torch.Tensor,
    dk: torch.Tensor,
    dv: torch.Tensor,
    do: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    **params: Any,
) -> str | None:
    """Serves heads to 256 wide, any strides and masks."""
    reason = refusal(q, params)
    if reason is not None:
        return reason
    batches, seq, heads, width = (int(n) for n in q.shape)
    kv_heads = int(k.shape[2])
    queries, keys = tiles.backward_tiles(width, call.capability)
    masking = Masking.of(width, params)
    scale = params["sm_scale"]
    scale = 1.0 / math.sqrt(width) if scale is None else float(scale)
    delta = call.empty((batches, heads, seq), torch.float32)
    lse = lse.contiguous()
    block_d = tiles.padded(width)
    options = {
        "D": width,
        "GROUP": heads // kv_heads,
        "BLOCK_D": block_d,
        "HAS_LEFT": masking.left >= 0,
        "HAS_RIGHT": masking.right >= 0,
        "SOFTCAP": masking.softcap,
        "UPCAST": call.device.type == "cpu",
    }

    def walked(rows: int, *tensors: torch.Tensor) -> tuple[Any, ...]:
        """What a kernel reads block by block: through descriptors where they hold it."""
        if not describable(call, *tensors):
            return tensors
        return tuple(descriptor_of(x, rows, block_d) for x in tensors)

    def run(
        kernel: Any,
        programs: int,
        tile: Tile,
        arguments: tuple[Any, ...],
        strided: tuple[torch.Tensor, ...],
    ) -> None:
        call.launch(
            kernel,
            (programs,),
            *arguments,
            *(int(stride) for x in strided for stride in x.stride()),
            seq,
            kv_heads,
            masking.left,
            masking.right,
            masking.scale,
            masking.cap,
            scale,
            BLOCK_M=tile.block_m,
            BLOCK_N=tile.block_n,
            DESCRIPTOR=any(isinstance(x, TensorDescriptor) for x in arguments),
            num_warps=tile.warps,
            num_stages=tile.stages,
            **options,
        )

    programs = batches * heads * triton.cdiv(seq, queries.block_m)
    blocks = walked(queries.block_n, k, v)
    arguments = (dq, delta, do, q, *blocks, o, lse)
    run(gqa_dense_dq_kernel, programs, queries, arguments, (do, q, k, v, o))
    programs = batches * kv_heads * triton.cdiv(seq, keys.block_n)
    blocks = walked(keys.block_m, do, q)
    arguments = (dk, dv, *blocks, k, v, lse, delta)
    run(gqa_dense_dkdv_kernel, programs, keys, arguments, (do, q, k, v))
    return None
