"""Attention in plain PyTorch: the CPU implementation and the oracle of the kernels.

Arithmetic is float32 (float64 for float64 inputs) with one rounding at the end. Nothing here looks
at the value of a size, so that the code traces with dynamic sizes; only whether sizes are known
integers decides between the fused operator and written-out scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

# Stands for "not visible" where -inf would give NaN gradients in rows that see nothing.
_HIDDEN = -1e30
# Scores of all heads beyond this many are computed one head of keys at a time.
_MOST_SCORES = 2**28


def gqa_dense(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    q_scale: torch.Tensor | None = None,
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
    rope_cos: torch.Tensor | None = None,
    rope_sin: torch.Tensor | None = None,
    sinks: torch.Tensor | None = None,
    *,
    is_causal: bool = False,
    window_size_left: int = -1,
    window_size_right: int = -1,
    sm_scale: float | None = None,
    softcap: float | None = None,
    pos_encoding_mode: str = "none",
    rotary_dim: int | None = None,
    rope_layout: str = "neox",
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """Grouped-query attention; the class's docstring states shapes and rules."""
    work = _work_dtype(q)
    queries, keys, values = q.to(work), k.to(work), v.to(work)
    if q_scale is not None:
        queries = queries * _per_query_head(q_scale, q, k)[:, None, :, None]
    if k_scale is not None:
        keys = keys * k_scale[:, None, :, None]
    if v_scale is not None:
        values = values * v_scale[:, None, :, None]
    s_q, s_kv = q.shape[1], k.shape[1]
    if pos_encoding_mode == "rope":
        width = q.shape[3] if rotary_dim is None else rotary_dim
        positions = torch.arange(s_kv, device=q.device)
        shifted = torch.arange(s_q, device=q.device) + (s_kv - s_q)
        tables = rope_cos.to(work), rope_sin.to(work)
        queries = _rotate(queries, *(t[shifted] for t in tables), width, rope_layout)
        keys = _rotate(keys, *(t[positions] for t in tables), width, rope_layout)
    scale = _scale(q, sm_scale)
    seen = _visible(s_q, s_kv, is_causal, window_size_left, window_size_right, q.device)
    queries, keys, values = (x.transpose(1, 2) for x in (queries * scale, keys, values))
    sinks = None if sinks is None else sinks.to(work)
    if softcap is None and _sizes_known(q, k):
        output = _fused(queries, keys, values, seen, sinks)
    else:
        output, _ = _written_out(queries, keys, values, seen, sinks, softcap)
    output = output.transpose(1, 2).to(q.dtype if out_dtype is None else out_dtype)
    return output.contiguous()


def gqa_dense_with_lse(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    is_causal: bool = False,
    window_size_left: int = -1,
    window_size_right: int = -1,
    sm_scale: float | None = None,
    softcap: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Grouped-query attention and the logarithm of each row's sum of exponentials."""
    lengths = q.shape[1], k.shape[1]
    seen = _visible(*lengths, is_causal, window_size_left, window_size_right, q.device)

    work = _work_dtype(q)
    queries, keys, values = (x.to(work).transpose(1, 2) for x in (q, k, v))
    queries = queries * _scale(q, sm_scale)
    output, lse = _written_out(queries, keys, values, seen, None, softcap, with_sums=True)
    return output.transpose(1, 2).to(q.dtype).contiguous(), lse.contiguous()


def gqa_dense_backward(
    do: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    *,
    is_causal: bool = False,
    window_size_left: int = -1,
    window_size_right: int = -1,
    sm_scale: float | None = None,
    softcap: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradients of q, k and v; the class's docstring states the formulas."""
    dtype = q.dtype
    scale = _scale(q, sm_scale)
    lengths = q.shape[1], k.shape[1]
    seen = _visible(*lengths, is_causal, window_size_left, window_size_right, q.device)

    batches, length, heads, width = q.shape
    kv_heads = k.shape[2]
    group = heads // kv_heads
    hidden = None if seen is None else ~seen.repeat(group, 1)

    def gradients(
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        do: torch.Tensor,
        lse: torch.Tensor,
        delta: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:
        scores = torch.bmm(q, k.transpose(1, 2)) * scale
        if softcap is not None:
            bounded = torch.tanh(scores / softcap)
            scores = bounded * softcap
        weights = torch.exp(scores - lse)
        if hidden is not None:
            weights = weights.masked_fill(hidden, 0.0)
        dscores = weights * (torch.bmm(do, v.transpose(1, 2)) - delta) * scale
        if softcap is not None:
            dscores = dscores * (1.0 - bounded.square())
        dk = torch.bmm(dscores.transpose(1, 2), q)
        dv = torch.bmm(weights.transpose(1, 2), do)
        return torch.bmm(dscores, k), dk, dv

    work = _work_dtype(q)
    do, q, k, v, o = (x.to(work).transpose(1, 2) for x in (do, q, k, v, o))
    delta = (do * o).sum(dim=-1)
    rows = batches * kv_heads, group * length
    of_queries = (x.reshape(*rows, width) for x in (q, do))
    of_keys = (x.flatten(0, 1) for x in (k, v))
    of_rows = (x.to(work).reshape(*rows, 1) for x in (lse, delta))
    queries, gradient = of_queries
    dq, dk, dv = _by_heads(gradients, queries, *of_keys, gradient, *of_rows)
    found = zip((dq, dk, dv), (q, k, v), strict=True)
    dq, dk, dv = (x.view(y.shape).transpose(1, 2).to(dtype).contiguous() for x, y in found)
    return dq, dk, dv


def _work_dtype(q: torch.Tensor) -> torch.dtype:
    return torch.float64 if q.dtype == torch.float64 else torch.float32


def _scale(q: torch.Tensor, sm_scale: float | None) -> float:
    return 1.0 / math.sqrt(q.shape[3]) if sm_scale is None else sm_scale


def _by_heads(
    function: Callable[..., tuple[torch.Tensor, ...]],
    q: torch.Tensor,
    k: torch.Tensor,
    *others: torch.Tensor,
) -> tuple[torch.Tensor, ...]:
    """`function` of tensors [heads, rows, ...]; in an eager call whose scores would take gibibytes,
    one head at a time."""
    # A trace would hold every part as operations of its own.
    eager = _sizes_known(q, k) and torch._C._len_torch_dispatch_stack() == 0
    if not eager or q.shape[0] * q.shape[1] * k.shape[1] <= _MOST_SCORES:
        return function(q, k, *others)
    parts = [function(*part) for part in zip(*(x.split(1) for x in (q, k, *others)), strict=True)]
    return tuple(torch.cat(found) for found in zip(*parts, strict=True))


def _per_query_head(scale: torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """[B, H_kv] -> [B, H]: the scale of the group that each query head belongs to."""
    return scale.repeat_interleave(q.shape[2] // k.shape[2], dim=1)


def _rotate(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, width: int, layout: str
) -> torch.Tensor:
    """Rotates the first `width` values of each head of x [B, S, heads, D] by rows of the tables."""
    turned, rest = x[..., :width], x[..., width:]
    cos, sin = cos[:, None, :], sin[:, None, :]
    if layout == "neox":
        first, second = turned[..., : width // 2], turned[..., width // 2 :]
        turned = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    else:
        first, second = turned[..., 0::2], turned[..., 1::2]
        pairs = (first * cos - second * sin, second * cos + first * sin)
        turned = torch.stack(pairs, dim=-1).flatten(-2)
    return torch.cat((turned, rest), dim=-1)


def _visible(
    s_q: int, s_kv: int, is_causal: bool, left: int, right: int, device: torch.device
) -> torch.Tensor | None:
    """[S_q, S_kv], True where the query sees the key; None when every query sees every key."""
    if is_causal:
        right = 0
    if left < 0 and right < 0:
        return None
    position = torch.arange(s_q, device=device)[:, None] + (s_kv - s_q)
    key = torch.arange(s_kv, device=device)[None, :]
    if left < 0:
        return key <= position + right
    if right < 0:
        return key >= position - left
    return (key <= position + right) & (key >= position - left)


def _sizes_known(q: torch.Tensor, k: torch.Tensor) -> bool:
    """Whether no size is symbolic: the fused operator chooses its algorithm by sizes."""
    if torch.compiler.is_dynamo_compiling():
        return False
    return not any(isinstance(size, torch.SymInt) for size in (*q.shape, *k.shape))


def _fused(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    seen: torch.Tensor | None,
    sinks: torch.Tensor | None,
) -> torch.Tensor:
    """Through scaled_dot_product_attention, which holds no S_q x S_kv scores per head."""
    width = v.shape[-1]
    mask = seen
    if sinks is not None:
        q, k, v, mask = _with_sink_key(q, k, v, seen, sinks)
    on_cpu = q.device.type == "cpu"
    if not on_cpu:
        # Elsewhere the memory-efficient float32 algorithm takes equal head counts only.
        group = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1.0, enable_gqa=on_cpu)
    if sinks is not None:
        # Every row sees the sink, whose value is zero.
        return output[..., :width]
    if seen is not None:
        output = output.masked_fill(~seen.any(dim=-1)[:, None], 0.0)
    return output


def _with_sink_key(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    seen: torch.Tensor | None,
    sinks: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """A further key, visible to all, whose score is the head's sink and whose value is zero.

    Heads become 8 wider, not 1, since the fused algorithms want aligned widths.
    """
    # A sink of -inf is one that is absent; as a product with zero it would be NaN.
    column = sinks.clamp(min=_HIDDEN)[None, :, None, None].expand(*q.shape[:3], 1)
    q = torch.cat((q, F.pad(column, (0, 7))), dim=-1)
    k = F.pad(k, (0, 8, 0, 1))
    corner = torch.zeros_like(k)
    corner[:, :, -1, -8] = 1.0
    mask = None
    if seen is not None:
        # Numbers: Inductor's C++ for padded booleans does not compile (torch 2.13).
        mask = torch.zeros(seen.shape, dtype=q.dtype, device=q.device)
        mask = F.pad(mask.masked_fill(~seen, float("-inf")), (0, 1))
    return q, k + corner, F.pad(v, (0, 8, 0, 1)), mask


def _written_out(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    seen: torch.Tensor | None,
    sinks: torch.Tensor | None,
    softcap: float | None,
    with_sums: bool = False,
) -> tuple[torch.Tensor, Any]:
    """Output [B, H, S_q, D] and, with sums, their logarithms [B, H, S_q]: in elementary operations
    over the scores of all heads."""
    batches, heads, s_q, width = q.shape
    kv_heads = k.shape[1]
    group = heads // kv_heads
    # The query heads of a group follow one another in the rows of their head of keys.
    rows = batches * kv_heads, group * s_q
    hidden = None if seen is None else ~seen.repeat(group, 1)
    columns = []
    if sinks is not None:
        sink = sinks.clamp(min=_HIDDEN)[None, :, None].expand(batches, heads, s_q)
        columns.append(sink.reshape(*rows, 1))

    def attend(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *sink: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        scores = torch.bmm(q, k.transpose(1, 2))
        if softcap is not None:
            scores = torch.tanh(scores / softcap) * softcap
        if hidden is not None:
            scores = scores.masked_fill(hidden, _HIDDEN)
        weights = torch.softmax(torch.cat((scores, *sink), dim=-1), dim=-1)
        output = torch.bmm(weights[..., : k.shape[1]], v)
        return (output, _log_of_sums(scores)) if with_sums else (output,)

    tensors = q.reshape(*rows, width), k.flatten(0, 1), v.flatten(0, 1), *columns
    output, *sums = _by_heads(attend, *tensors)
    output = output.view(q.shape)
    lse = sums[0].view(q.shape[:3]) if with_sums else None
    if seen is not None:
        blind = ~seen.any(dim=-1)
        output = output.masked_fill(blind[:, None], 0.0)
        if lse is not None:
            lse = lse.masked_fill(blind, float("-inf"))
    return output, lse


def _log_of_sums(scores: torch.Tensor) -> torch.Tensor:
    """logsumexp along the last axis, which itself branches on sizes: unbacked ones do not allow it.

    -inf where the axis is empty.
    """
    beside = scores.new_full((), _HIDDEN).expand(*scores.shape[:-1], 1)
    top = torch.cat((scores.detach(), beside), dim=-1).amax(dim=-1, keepdim=True)
    return top[..., 0] + torch.log(torch.exp(scores - top).sum(dim=-1))
