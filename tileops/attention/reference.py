"""Attention in plain PyTorch: the CPU implementation and the oracle of the kernels.

Arithmetic is float32 (float64 for float64 inputs) with one rounding at the end. Nothing here looks
at the value of a size, so that the code traces with dynamic sizes; only whether sizes are known
integers decides between the fused operator and written-out scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable

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
        output = _written_out(queries, keys, values, seen, sinks, softcap)
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

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, ...]:
        scores = _scores(q, k, softcap)
        if seen is not None:
            scores = scores.masked_fill(~seen, _HIDDEN)
        output = torch.matmul(torch.softmax(scores, dim=-1), v.unsqueeze(2))
        lse = torch.logsumexp(scores, dim=-1)
        if seen is not None:
            blind = ~seen.any(dim=-1)
            output = output.masked_fill(blind[:, None], 0.0)
            lse = lse.masked_fill(blind, float("-inf"))
        return output.flatten(1, 2), lse.flatten(1, 2)

    work = _work_dtype(q)
    queries, keys, values = (x.to(work).transpose(1, 2) for x in (q, k, v))
    output, lse = _by_heads(attend, queries * _scale(q, sm_scale), keys, values)
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
    scale = _scale(q, sm_scale)
    lengths = q.shape[1], k.shape[1]
    seen = _visible(*lengths, is_causal, window_size_left, window_size_right, q.device)

    def gradients(
        do: torch.Tensor,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        o: torch.Tensor,
        lse: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:
        do, q, o, lse = (_grouped(x, k) for x in (do, q, o, lse))
        products = torch.matmul(q, k.unsqueeze(2).transpose(-1, -2)) * scale
        scores = products if softcap is None else torch.tanh(products / softcap) * softcap
        scores = scores - lse.unsqueeze(-1)
        if seen is not None:
            scores = scores.masked_fill(~seen, float("-inf"))
        weights = torch.exp(scores)
        dweights = torch.matmul(do, v.unsqueeze(2).transpose(-1, -2))
        dscores = weights * (dweights - (do * o).sum(dim=-1, keepdim=True))
        if softcap is not None:
            dscores = dscores * (1.0 - torch.tanh(products / softcap).square())
        dscores = dscores * scale
        dq = torch.matmul(dscores, k.unsqueeze(2)).flatten(1, 2)
        # Every query head of a group adds to the gradients of its keys and values.
        dk = torch.matmul(dscores.transpose(-1, -2), q).sum(dim=2)
        dv = torch.matmul(weights.transpose(-1, -2), do).sum(dim=2)
        return dq, dk, dv

    work = _work_dtype(q)
    heads = (x.to(work).transpose(1, 2) for x in (do, q, k, v, o))
    found = _by_heads(gradients, *heads, lse.to(work), keys=2)
    dq, dk, dv = (x.transpose(1, 2).to(q.dtype).contiguous() for x in found)
    return dq, dk, dv


def _work_dtype(q: torch.Tensor) -> torch.dtype:
    return torch.float64 if q.dtype == torch.float64 else torch.float32


def _scale(q: torch.Tensor, sm_scale: float | None) -> float:
    return 1.0 / math.sqrt(q.shape[3]) if sm_scale is None else sm_scale


def _grouped(x: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """[B, H, ...] -> [B, H_kv, H // H_kv, ...]: the query heads beside their head of keys."""
    return x.unflatten(1, (k.shape[1], x.shape[1] // k.shape[1]))


def _by_heads(
    function: Callable[..., tuple[torch.Tensor, ...]], *tensors: torch.Tensor, keys: int = 1
) -> tuple[torch.Tensor, ...]:
    """`function` of tensors [B, heads, S, ...], the keys at place `keys`, queries before them; in
    an eager call whose scores would take gibibytes, one head of keys at a time."""
    q, k = tensors[keys - 1], tensors[keys]
    # A trace would hold every part as operations of its own.
    eager = _sizes_known(q, k) and torch._C._len_torch_dispatch_stack() == 0
    if not eager or q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2] <= _MOST_SCORES:
        return function(*tensors)
    batches, heads = k.shape[:2]
    parts = [
        [
            function(*(x[b : b + 1].tensor_split(heads, dim=1)[h] for x in tensors))
            for h in range(heads)
        ]
        for b in range(batches)
    ]
    rows = [[torch.cat(found, dim=1) for found in zip(*row, strict=True)] for row in parts]
    return tuple(torch.cat(found) for found in zip(*rows, strict=True))


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
) -> torch.Tensor:
    """Scores of all heads at once, in elementary operations."""
    scores = _scores(q, k, softcap)
    if seen is not None:
        scores = scores.masked_fill(~seen, _HIDDEN)
    if sinks is None:
        weights = torch.softmax(scores, dim=-1)
    else:
        sink = sinks.clamp(min=_HIDDEN).unflatten(0, scores.shape[1:3])[:, :, None, None]
        column = sink.expand(*scores.shape[:-1], 1)
        weights = torch.softmax(torch.cat((scores, column), dim=-1), dim=-1)[..., :-1]
    output = torch.matmul(weights, v.unsqueeze(2))
    if seen is not None:
        output = output.masked_fill(~seen.any(dim=-1)[:, None], 0.0)
    return output.flatten(1, 2)


def _scores(q: torch.Tensor, k: torch.Tensor, softcap: float | None) -> torch.Tensor:
    """[B, H_kv, H // H_kv, S_q, S_kv] from scaled queries."""
    scores = torch.matmul(_grouped(q, k), k.unsqueeze(2).transpose(-1, -2))
    return scores if softcap is None else torch.tanh(scores / softcap) * softcap
