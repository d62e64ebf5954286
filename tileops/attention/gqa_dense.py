"""Forward attention over tiles of queries: any head width to 256, any strides, tails, every mask.

In: o, lse where it is asked for, q, k, v and the operator's parameters. gqa_dense_split.py launches
the same kernel for few queries, with the keys split; its steps are in online_softmax.py, the choice
of tiles in tiles.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl

from tileops.attention import tiles
from tileops.attention.descriptors import describable, descriptor_of
from tileops.attention.online_softmax import LN_2, LOG2_E, add_sink, attend, key_range
from tileops.attention.tiles import Tile
from tileops.runtime.launch import Call

WIDEST = 256
# Keys and values of the heads that run together should stay in the L2 cache.
_L2_BYTES = 32 * 2**20


@triton.jit
def gqa_dense_kernel(
    o_ptr,
    lse_ptr,
    q_ptr,
    k,
    v,
    sinks_ptr,
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
    batches,
    s_q,
    s_kv,
    kv_heads,
    heads_together,
    key_begin,
    split_length,
    left,
    right,
    scale,
    cap,
    D: tl.constexpr,
    GROUP: tl.constexpr,
    PACK: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    DESCRIPTOR: tl.constexpr,
    HAS_LEFT: tl.constexpr,
    HAS_RIGHT: tl.constexpr,
    SOFTCAP: tl.constexpr,
    RISING: tl.constexpr,
    SINKS: tl.constexpr,
    LSE: tl.constexpr,
    UPCAST: tl.constexpr,
):
    """One tile of queries against one range of keys.

    Rows of a tile are the queries of one head or, packed, those of all GROUP heads that share keys.
    o: [splits, B, S_q, H, D]. LSE "parts": lse [splits, B, S_q, H] is written in base 2, for the
    merge; "rows": [B, H, S_q], natural.
    """
    PACKED: tl.constexpr = GROUP if PACK else 1
    tile_heads = kv_heads * (GROUP // PACKED)
    tile_count = tl.cdiv(s_q * PACKED, BLOCK_M)
    # Heads go in sections whose keys fit L2; the longest causal tiles of a section start first.
    pid = tl.program_id(0)
    section = pid // (heads_together * tile_count)
    first_head = section * heads_together
    width = min(heads_together, batches * tile_heads - first_head)
    inside = pid - first_head * tile_count
    tile = tile_count - 1 - inside // width
    place = first_head + inside % width
    batch = place // tile_heads
    head = place % tile_heads
    kv_head = head // (GROUP // PACKED)
    split = tl.program_id(1)
    begin = key_begin + split * split_length
    end = min(begin + split_length, s_kv)

    rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    queries = rows // PACKED
    heads = head * PACKED + rows % PACKED
    positions = queries + (s_kv - s_q)
    row_mask = rows < s_q * PACKED
    dims = tl.arange(0, BLOCK_D)
    mask = row_mask[:, None] & (dims[None, :] < D)
    q_rows = queries.to(tl.int64) * q_row_stride + heads.to(tl.int64) * q_head_stride
    q_places = q_rows[:, None] + dims.to(tl.int64)[None, :] * q_dim_stride
    q = tl.load(q_ptr + batch.to(tl.int64) * q_batch_stride + q_places, mask=mask, other=0.0)
    if UPCAST:  # the interpreter has no bfloat16 products
        q = q.to(tl.float32)
    if not DESCRIPTOR:
        k += batch.to(tl.int64) * k_batch_stride + kv_head.to(tl.int64) * k_head_stride
        v += batch.to(tl.int64) * v_batch_stride + kv_head.to(tl.int64) * v_head_stride

    first = s_kv - s_q + tile * BLOCK_M // PACKED
    last = s_kv - s_q + min((tile * BLOCK_M + BLOCK_M - 1) // PACKED, s_q - 1)
    lo, full_lo, full_hi, hi = key_range(
        first, last, left, right, begin, end, HAS_LEFT, HAS_RIGHT, BLOCK_N
    )
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    row_max = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    row_sum = tl.zeros((BLOCK_M,), tl.float32)
    if HAS_LEFT:
        acc, row_max, row_sum = attend(
            acc, row_max, row_sum, q, k, v,
            k_row_stride, k_dim_stride, v_row_stride, v_dim_stride,
            batch, kv_head, lo, full_lo, end, positions, left, right, scale, cap,
            D, BLOCK_N, BLOCK_D, DESCRIPTOR, True, HAS_LEFT, HAS_RIGHT, SOFTCAP, RISING,
        )  # fmt: skip
    acc, row_max, row_sum = attend(
        acc, row_max, row_sum, q, k, v,
        k_row_stride, k_dim_stride, v_row_stride, v_dim_stride,
        batch, kv_head, full_lo, full_hi, end, positions, left, right, scale, cap,
        D, BLOCK_N, BLOCK_D, DESCRIPTOR, False, HAS_LEFT, HAS_RIGHT, SOFTCAP, RISING,
    )  # fmt: skip
    acc, row_max, row_sum = attend(
        acc, row_max, row_sum, q, k, v,
        k_row_stride, k_dim_stride, v_row_stride, v_dim_stride,
        batch, kv_head, full_hi, hi, end, positions, left, right, scale, cap,
        D, BLOCK_N, BLOCK_D, DESCRIPTOR, True, HAS_LEFT, HAS_RIGHT, SOFTCAP, RISING,
    )  # fmt: skip
    if SINKS:
        sink = tl.load(sinks_ptr + heads, mask=row_mask, other=0.0) * LOG2_E
        acc, row_max, row_sum = add_sink(acc, row_max, row_sum, sink)

    # A row without weight saw no key: zeros.
    acc = acc / tl.where(row_sum == 0.0, 1.0, row_sum)[:, None]
    out_rows = (split.to(tl.int64) * batches + batch) * s_q + queries
    out_rows = out_rows * (kv_heads * GROUP) + heads
    places = o_ptr + out_rows[:, None] * D + dims[None, :]
    tl.store(places, acc.to(o_ptr.dtype.element_ty), mask=mask)
    if LSE == "parts":
        tl.store(lse_ptr + out_rows, row_max + tl.math.log2(row_sum), mask=row_mask)
    elif LSE == "rows":
        lse_rows = (batch.to(tl.int64) * (kv_heads * GROUP) + heads) * s_q + queries
        lse = (row_max + tl.math.log2(row_sum)) * LN_2
        tl.store(lse_ptr + lse_rows, lse, mask=row_mask)


@dataclass(frozen=True, slots=True)
class Masking:
    """The parameters as the kernel takes them."""

    left: int
    right: int
    scale: float
    cap: float
    softcap: bool

    @classmethod
    def of(cls, width: int, params: dict[str, Any]) -> Masking:
        """From the operator's parameters: causal closes the right side, scores go to base 2."""
        right = 0 if params["is_causal"] else int(params["window_size_right"])
        scale = params["sm_scale"]
        scale = 1.0 / math.sqrt(width) if scale is None else float(scale)
        softcap = params["softcap"]
        left = int(params["window_size_left"])
        if softcap is None:
            return cls(left, right, scale * LOG2_E.value, 0.0, False)
        return cls(left, right, scale / float(softcap), float(softcap) * LOG2_E.value, True)


@dataclass(frozen=True, slots=True)
class Split:
    """Which part of the keys each program takes: all of them, unless `count` is above 1."""

    begin: int
    length: int
    count: int = 1


def refusal(q: torch.Tensor, params: dict[str, Any]) -> str | None:
    """Why no kernel of this file serves the call, or None."""
    if q.dtype not in (torch.float16, torch.bfloat16):
        return f"{q.dtype} inputs are dequantised by the reference"
    if params.get("pos_encoding_mode", "none") != "none":
        return "the rotary embedding is not fused"
    if params.get("out_dtype") not in (None, q.dtype):
        return "the output's dtype is not the inputs'"
    if int(q.shape[3]) > WIDEST:
        return f"heads are wider than {WIDEST}"
    return None


def run_kernel(
    call: Call,
    o: torch.Tensor,
    lse: torch.Tensor | None,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    sinks: torch.Tensor | None,
    masking: Masking,
    tile: Tile,
    split: Split,
    *,
    pack: bool,
    descriptor: bool,
) -> None:
    """Launches the kernel with this tile; parts for a merge have a leading axis of splits."""
    batches, s_q, heads, width = (int(n) for n in q.shape)
    s_kv, kv_heads = int(k.shape[1]), int(k.shape[2])
    group = heads // kv_heads
    packed = group if pack else 1
    block_d = tiles.padded(width)
    tile_count = triton.cdiv(s_q * packed, tile.block_m)
    places = batches * kv_heads * (group // packed)
    head_bytes = max(1, 2 * s_kv * width * k.itemsize)
    together = max(1, _L2_BYTES // head_bytes) * (group // packed)
    call.launch(
        gqa_dense_kernel,
        (tile_count * places, split.count),
        o,
        lse,
        q,
        descriptor_of(k, tile.block_n, block_d) if descriptor else k,
        descriptor_of(v, tile.block_n, block_d) if descriptor else v,
        sinks,
        *(int(stride) for x in (q, k, v) for stride in x.stride()),
        batches,
        s_q,
        s_kv,
        kv_heads,
        min(together, places),
        split.begin,
        split.length,
        masking.left,
        masking.right,
        masking.scale,
        masking.cap,
        D=width,
        GROUP=group,
        PACK=pack,
        BLOCK_M=tile.block_m,
        BLOCK_N=tile.block_n,
        BLOCK_D=block_d,
        DESCRIPTOR=descriptor,
        HAS_LEFT=masking.left >= 0,
        HAS_RIGHT=masking.right >= 0,
        SOFTCAP=masking.softcap,
        RISING=not masking.softcap and masking.scale > 0,
        SINKS=sinks is not None,
        LSE="none" if lse is None else "rows" if o.dim() == 4 else "parts",
        UPCAST=call.device.type == "cpu",
        num_warps=tile.warps,
        num_stages=tile.stages,
    )


def launch_tile(
    call: Call,
    o: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    q_scale: torch.Tensor | None,
    k_scale: torch.Tensor | None,
    v_scale: torch.Tensor | None,
    rope_cos: torch.Tensor | None,
    rope_sin: torch.Tensor | None,
    sinks: torch.Tensor | None,
    **params: Any,
) -> str | None:
    """Serves 16-bit inputs without fused rotation, one tile of one head's queries a program."""
    return _launch_tile(call, o, None, q, k, v, sinks, params)


def launch_tile_with_lse(
    call: Call,
    o: torch.Tensor,
    lse: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    **params: Any,
) -> str | None:
    """The same with the rows' logarithms of sums."""
    return _launch_tile(call, o, lse, q, k, v, None, params)


def _launch_tile(
    call: Call,
    o: torch.Tensor,
    lse: torch.Tensor | None,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    sinks: torch.Tensor | None,
    params: dict[str, Any],
) -> str | None:
    reason = refusal(q, params)
    if reason is not None:
        return reason
    width = int(q.shape[3])
    tile = tiles.query_tile(width, call.capability)
    masking = Masking.of(width, params)
    descriptor = describable(call, k, v)
    everything = Split(0, int(k.shape[1]))
    run_kernel(
        call, o, lse, q, k, v, sinks, masking, tile, everything, pack=False, descriptor=descriptor
    )
    return None
