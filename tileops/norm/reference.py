"""The norm operators in plain PyTorch: their CPU implementation, and what kernels are tested
against. Half precision is computed in float32 and rounded once; float64 stays float64."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F

__all__ = [
    "ada_layer_norm",
    "fused_add_layer_norm",
    "fused_add_rms_norm",
    "layer_norm",
    "rms_norm",
]

FLOAT32_EPSILON = float(torch.finfo(torch.float32).eps)


def rms_norm(
    x: torch.Tensor,
    weight: torch.Tensor | None = None,
    *,
    normalized_shape: Sequence[int],
    eps: float | None = None,
) -> torch.Tensor:
    """x / sqrt(mean(x**2) + eps) * weight over the trailing axes."""
    eps = FLOAT32_EPSILON if eps is None else eps
    axes = tuple(range(-len(normalized_shape), 0))
    wide = _widen(x)
    y = wide * torch.rsqrt(wide.square().mean(axes, keepdim=True) + eps)
    if weight is not None:
        y = y * weight.to(y.dtype)
    return y.to(x.dtype).contiguous()


def fused_add_rms_norm(
    input: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    *,
    eps: float = 1e-6,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(rms_norm(input + residual) * weight, input + residual)."""
    total = _widen(input) + _widen(residual)
    y = total * torch.rsqrt(total.square().mean(-1, keepdim=True) + eps) * weight.to(total.dtype)
    return (
        y.to(input.dtype).contiguous(),
        total.to(input.dtype).contiguous(),
    )


def fused_add_layer_norm(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    *,
    eps: float = 1e-6,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(layer_norm(x + residual, weight, bias), x + residual)."""
    total = _widen(x) + _widen(residual)
    y = layer_norm(total, weight, bias, normalized_shape=x.shape[-1:], eps=eps)
    return y.to(x.dtype), total.to(x.dtype).contiguous()


def ada_layer_norm(
    x: torch.Tensor,
    scale: torch.Tensor,
    shift: torch.Tensor,
    gate: torch.Tensor | None = None,
    *,
    eps: float = 1e-5,
) -> torch.Tensor:
    """(x - mean) / sqrt(var + eps) * scale + shift over the last axis, times gate if given."""
    y = F.layer_norm(_widen(x), x.shape[-1:], None, None, eps)
    y = y * scale.to(y.dtype) + shift.to(y.dtype)
    if gate is not None:
        y = y * gate.to(y.dtype)
    return y.to(x.dtype).contiguous()


def layer_norm(
    input: torch.Tensor,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    *,
    normalized_shape: Sequence[int],
    eps: float = 1e-5,
) -> torch.Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over the trailing axes."""
    wide = _widen(input)
    y = F.layer_norm(
        wide,
        tuple(normalized_shape),
        None if weight is None else weight.to(wide.dtype),
        None if bias is None else bias.to(wide.dtype),
        eps,
    )
    return y.to(input.dtype).contiguous()


def _widen(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype == torch.float64 else x.float()
