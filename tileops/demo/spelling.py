"""The operators of the model, spelled twice: as `torch.ops.tileops` calls and in plain PyTorch.

In: tensors as the operators take them. Out: what the operators give. The model (model.py) is
written once over a `Spelling`, so that both models share their weights and their order of work.
The plain functions keep the dtype that they are given, so that float64 inputs make them the oracle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F

__all__ = ["EPSILON", "OPERATORS", "PLAIN", "TILEOPS", "Pair", "Spelling"]

EPSILON = 1e-5

Pair = tuple[torch.Tensor, torch.Tensor]
Unary = Callable[[torch.Tensor], torch.Tensor]
Binary = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True, slots=True)
class Spelling:
    """One function per operator.

    Shapes:
        rms_norm(x, weight): [S, W], [W] -> [S, W]
        fused_add_rms_norm(x, residual, weight): [S, W] twice, [W] -> (norm of the sum, the sum)
        rope(x): [1, S, heads, D], rotated at the positions 0 to S - 1
        gqa(q, k, v): [1, S, heads, D] and twice [1, T, key heads, D] -> q's shape; causal, with
            the last query at the last key
        gemm(x, weight): [S, K], [N, K] -> [S, N]
        silu_and_mul(x): [S, 2 * H] -> [S, H]
        add(x, y): the sum
    """

    rms_norm: Binary
    fused_add_rms_norm: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], Pair]
    rope: Unary
    gqa: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
    gemm: Binary
    silu_and_mul: Unary
    add: Binary


# The operator behind each function.
OPERATORS = {
    "rms_norm": "norm_rms_norm_fwd",
    "fused_add_rms_norm": "norm_fused_add_rms_norm_fwd",
    "rope": "rope_fwd",
    "gqa": "attention_gqa_dense_fwd",
    "gemm": "gemm_fwd",
    "silu_and_mul": "elementwise_silu_and_mul_fwd",
    "add": "elementwise_add_fwd",
}
assert tuple(OPERATORS) == tuple(field.name for field in fields(Spelling))


# torch.ops.tileops ---------------------------------------------------------------------------


def _rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.ops.tileops.norm_rms_norm_fwd(
        x, weight, normalized_shape=[x.shape[-1]], eps=EPSILON
    )


def _fused_add_rms_norm(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    return torch.ops.tileops.norm_fused_add_rms_norm_fwd(x, residual, weight, eps=EPSILON)


def _rope(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.tileops.rope_fwd(x, input_layout="2d")


def _gqa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.ops.tileops.attention_gqa_dense_fwd(q, k, v, is_causal=True)


def _gemm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.ops.tileops.gemm_fwd(x, weight)


def _silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.tileops.elementwise_silu_and_mul_fwd(x)


def _add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.ops.tileops.elementwise_add_fwd(x, y)


TILEOPS = Spelling(_rms_norm, _fused_add_rms_norm, _rope, _gqa, _gemm, _silu_and_mul, _add)


# Plain PyTorch -------------------------------------------------------------------------------


def _plain_rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return F.rms_norm(x, (x.shape[-1],), weight, EPSILON)


def _plain_fused_add_rms_norm(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor
) -> Pair:
    total = x + residual
    return F.rms_norm(total, (x.shape[-1],), weight, EPSILON), total


def _plain_rope(x: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    pair = torch.arange(half, device=x.device, dtype=torch.float64)
    position = torch.arange(x.shape[1], device=x.device, dtype=torch.float64)
    angle = torch.outer(position, 10000.0 ** (-pair / half))[:, None, :]
    cosine, sine = angle.cos().to(wide), angle.sin().to(wide)
    first, second = x[..., :half].to(wide), x[..., half:].to(wide)
    turned = (first * cosine - second * sine, second * cosine + first * sine)
    return torch.cat(turned, dim=-1).to(x.dtype)


def _plain_gqa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    group = q.shape[2] // k.shape[2]
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
    hidden = k.shape[2] - q.shape[2]
    seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril(hidden)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=seen).transpose(1, 2)


def _plain_gemm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return F.linear(x, weight)


def _plain_silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    gate, up = x.chunk(2, dim=-1)
    return F.silu(gate) * up


PLAIN = Spelling(
    _plain_rms_norm,
    _plain_fused_add_rms_norm,
    _plain_rope,
    _plain_gqa,
    _plain_gemm,
    _plain_silu_and_mul,
    torch.add,
)
