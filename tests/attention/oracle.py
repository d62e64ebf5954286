"""Attention in float64 by its definition, row by row of the mask; and random calls for tests."""

from __future__ import annotations

import math

import torch

DEFAULTS = {
    "is_causal": False,
    "window_size_left": -1,
    "window_size_right": -1,
    "sm_scale": None,
    "softcap": None,
    "pos_encoding_mode": "none",
    "rotary_dim": None,
    "rope_layout": "neox",
    "out_dtype": None,
}


def tensors(b, s_q, s_kv, h, h_kv, d, dtype=torch.float16, seed=0, device="cpu"):
    """Random q, k, v."""
    generator = torch.Generator().manual_seed(seed)
    shapes = [(b, s_q, h, d), (b, s_kv, h_kv, d), (b, s_kv, h_kv, d)]
    return [torch.randn(s, generator=generator).to(device, dtype) for s in shapes]


def mask(s_q, s_kv, params):
    """[S_q, S_kv] from the docstring's sentences."""
    right = 0 if params["is_causal"] else params["window_size_right"]
    left = params["window_size_left"]
    ahead = torch.arange(s_kv)[None, :] - (torch.arange(s_q)[:, None] + s_kv - s_q)
    seen = torch.ones(s_q, s_kv, dtype=torch.bool)
    if left >= 0:
        seen &= ahead >= -left
    if right >= 0:
        seen &= ahead <= right
    return seen


def attention(q, k, v, sinks=None, seen=None, **changed):
    """float64 output of [B, S_q, H, D]; explicit softmax, -inf for hidden keys."""
    params = DEFAULTS | changed
    group = q.shape[2] // k.shape[2]
    q, k, v = (x.double().transpose(1, 2) for x in (q, k, v))
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scale = params["sm_scale"]
    scale = 1 / math.sqrt(q.shape[3]) if scale is None else scale
    scores = q @ k.transpose(2, 3) * scale
    if params["softcap"] is not None:
        scores = params["softcap"] * torch.tanh(scores / params["softcap"])
    if seen is None:
        seen = mask(q.shape[2], k.shape[2], params)
    scores = scores.masked_fill(~seen.to(q.device), float("-inf"))
    if sinks is not None:
        column = sinks.double()[None, :, None, None].expand(*scores.shape[:3], 1)
        scores = torch.cat((scores, column), -1)
    weights = torch.softmax(scores, -1).nan_to_num(0.0)[..., : k.shape[2]]
    return (weights @ v).transpose(1, 2)
