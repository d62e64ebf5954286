"""Rotary embeddings in plain PyTorch: their CPU implementation, and what kernels are checked by."""

from __future__ import annotations

import torch

__all__ = ["rope", "rotate"]


def rope(
    x: torch.Tensor,
    *,
    rope_layout: str = "neox",
    input_layout: str = "1d",
    base: float = 10000.0,
    rotary_dim: int | None = None,
) -> torch.Tensor:
    """x rotated at positions 0 to S - 1; elements from rotary_dim on stay as they are."""
    size = x.shape[-1] if rotary_dim is None else rotary_dim
    pair = torch.arange(size // 2, device=x.device, dtype=torch.float64)
    frequency = torch.pow(float(base), -2.0 * pair / size)
    position = torch.arange(
        x.shape[0] if input_layout == "1d" else x.shape[1], device=x.device, dtype=torch.float64
    )
    # float64 until the angle is known: at position 2**17 a float32 angle is off by 0.008 radians.
    angle = position[:, None] * frequency
    if input_layout == "2d":
        angle = angle[:, None, :]
    if rotary_dim is None:
        return rotate(x, angle.cos(), angle.sin(), rope_layout)
    turned = rotate(x[..., :rotary_dim], angle.cos(), angle.sin(), rope_layout)
    return torch.cat((turned, x[..., rotary_dim:]), dim=-1)


def rotate(
    x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor, rope_layout: str
) -> torch.Tensor:
    """The pairs of the last axis turned by angles of that cosine and sine, which broadcast."""
    wide = x if x.dtype == torch.float64 else x.float()
    cosine, sine = cosine.to(wide.dtype), sine.to(wide.dtype)
    if rope_layout == "neox":
        first, second = wide.chunk(2, dim=-1)
    else:
        first, second = wide[..., ::2], wide[..., 1::2]
    turned = (first * cosine - second * sine, second * cosine + first * sine)
    if rope_layout == "neox":
        y = torch.cat(turned, dim=-1)
    else:
        y = torch.stack(turned, dim=-1).flatten(-2)
    return y.to(x.dtype).contiguous()
