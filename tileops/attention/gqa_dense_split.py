"""Forward attention for few queries: a group's queries share a tile, programs split the keys.

In: o, lse where it is asked for, q, k, v and the operator's parameters. One pass when a split is
not needed, otherwise a second one merges the parts in a fixed order.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from tileops.attention import tiles
from tileops.attention.gqa_dense import Masking, Split, refusal, run_kernel
from tileops.attention.online_softmax import LN_2, LOG2_E
from tileops.attention.tiles import Tile
from tileops.runtime.launch import Call
from tileops.runtime.processors import processors

_FEW_QUERIES = 64
_MOST_SPLITS = 64
# Fewer blocks of keys than this are not worth a program and its part of the merge.
_LEAST_BLOCKS = 2


@triton.jit
def merge_splits_kernel(
    o_ptr,
    lse_ptr,
    parts_ptr,
    part_lse_ptr,
    sinks_ptr,
    rows,
    heads,
    s_q,
    splits,
    D: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_SPLITS: tl.constexpr,
    SINKS: tl.constexpr,
    LSE: tl.constexpr,
):
    """One row of o [B, S_q, H, D], and of lse [B, H, S_q], from its parts [splits, rows, D],
    weighted by part_lse [splits, rows] in base 2."""
    row = tl.program_id(0).to(tl.int64)
    split = tl.arange(0, BLOCK_SPLITS)
    dims = tl.arange(0, BLOCK_D)
    place = split.to(tl.int64) * rows + row
    lse = tl.load(part_lse_ptr + place, mask=split < splits, other=float("-inf"))
    top = tl.max(lse, 0)
    if SINKS:
        sink = tl.load(sinks_ptr + row % heads) * LOG2_E
        top = tl.maximum(top, sink)
    base = tl.where(top == float("-inf"), 0.0, top)
    weights = tl.math.exp2(lse - base)
    total = tl.sum(weights, 0)
    if SINKS:
        total += tl.math.exp2(sink - base)
    mask = (split < splits)[:, None] & (dims < D)[None, :]
    parts = tl.load(parts_ptr + place[:, None] * D + dims[None, :], mask=mask, other=0.0)
    merged = tl.sum(parts * weights[:, None], 0) / tl.where(total == 0.0, 1.0, total)
    tl.store(o_ptr + row * D + dims, merged.to(o_ptr.dtype.element_ty), mask=dims < D)
    if LSE:
        batch = row // heads // s_q
        lse_row = (batch * heads + row % heads) * s_q + row // heads % s_q
        tl.store(lse_ptr + lse_row, (top + tl.math.log2(total)) * LN_2)


def launch_split_keys(
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
    """Serves few queries: decoding, or a short chunk that would leave the GPU idle."""
    return _launch_split_keys(call, o, None, q, k, v, sinks, params)


def launch_split_keys_with_lse(
    call: Call,
    o: torch.Tensor,
    lse: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    **params: Any,
) -> str | None:
    """The same with the rows' logarithms of sums."""
    return _launch_split_keys(call, o, lse, q, k, v, None, params)


def _launch_split_keys(
    call: Call,
    o: torch.Tensor,
    lse: torch.Tensor | None,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    sinks: torch.Tensor | None,
    params: dict[str, Any],
) -> str | None:
    reason = refusal(q, params) or _enough_queries(call, q)
    if reason is not None:
        return reason
    group = int(q.shape[2]) // int(k.shape[2])
    tile = tiles.split_tile(int(q.shape[1]) * group, int(q.shape[3]), call.capability)
    masking = Masking.of(int(q.shape[3]), params)
    split = choose_split(call, q, k, masking, tile)
    run_split(call, o, lse, q, k, v, sinks, masking, tile, split)
    return None


def choose_split(
    call: Call, q: torch.Tensor, k: torch.Tensor, masking: Masking, tile: Tile
) -> Split:
    """As many splits as give every multiprocessor two programs; none shorter than is worth it."""
    batches, s_q, heads, _ = (int(n) for n in q.shape)
    s_kv, kv_heads = int(k.shape[1]), int(k.shape[2])
    # Keys before the first query's window are nobody's work.
    begin = max(0, s_kv - s_q - masking.left) if masking.left >= 0 else 0
    begin = min(begin, s_kv) // tile.block_n * tile.block_n
    blocks = max(1, triton.cdiv(s_kv - begin, tile.block_n))
    programs = batches * kv_heads * triton.cdiv(s_q * (heads // kv_heads), tile.block_m)
    wanted = max(1, 2 * processors(call) // programs)
    count = min(wanted, _MOST_SPLITS, max(1, blocks // _LEAST_BLOCKS))
    length = triton.cdiv(blocks, count)
    return Split(begin, length * tile.block_n, triton.cdiv(blocks, length))


def run_split(
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
    descriptor: bool = False,
) -> None:
    """Launches the packed kernel with this tile and split, and the merge if there is a split."""
    shape = tuple(int(n) for n in o.shape)
    if split.count == 1:
        run_kernel(
            call, o, lse, q, k, v, sinks, masking, tile, split, pack=True, descriptor=descriptor
        )
        return
    parts = call.empty((split.count, *shape), torch.float32)
    part_lse = call.empty((split.count, *shape[:3]), torch.float32)
    run_kernel(
        call, parts, part_lse, q, k, v, None, masking, tile, split, pack=True, descriptor=descriptor
    )
    rows = shape[0] * shape[1] * shape[2]
    call.launch(
        merge_splits_kernel,
        (rows,),
        o,
        lse,
        parts,
        part_lse,
        sinks,
        rows,
        shape[2],
        shape[1],
        split.count,
        D=shape[3],
        BLOCK_D=tiles.padded(shape[3]),
        BLOCK_SPLITS=triton.next_power_of_2(split.count),
        SINKS=sinks is not None,
        LSE=lse is not None,
        num_warps=4,
    )


def _enough_queries(call: Call, q: torch.Tensor) -> str | None:
    """Why tiles of single heads serve the call better, or None."""
    batches, s_q, heads, width = (int(n) for n in q.shape)
    if s_q <= _FEW_QUERIES:
        return None
    tile = tiles.query_tile(width, call.capability)
    if 2 * batches * heads * triton.cdiv(s_q, tile.block_m) <= processors(call):
        return None
    return f"S_q = {s_q}: tiles of queries fill the GPU without splitting the keys"
