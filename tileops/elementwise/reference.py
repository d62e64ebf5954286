"""The elementwise operators in plain PyTorch: their CPU implementation, and what kernels are tested
against."""

from __future__ import annotations

import torch
import torch.nn.functional as F

__all__ = ["gelu", "gelu_and_mul", "round_decimals", "silu_and_mul", "sinusoidal", "where"]


def gelu(input: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """x * Phi(x), or its tanh approximation."""
    return F.gelu(input, approximate=approximate).contiguous()


def gelu_and_mul(input: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """gelu(gate) * up for [gate, up] side by side on the last axis."""
    wide = input if input.dtype == torch.float64 else input.float()
    gate, up = wide.chunk(2, dim=-1)
    return (F.gelu(gate, approximate=approximate) * up).to(input.dtype).contiguous()


def silu_and_mul(input: torch.Tensor) -> torch.Tensor:
    """silu(gate) * up for [gate, up] side by side on the last axis."""
    wide = input if input.dtype == torch.float64 else input.float()
    gate, up = wide.chunk(2, dim=-1)
    return (F.silu(gate) * up).to(input.dtype).contiguous()


def sinusoidal(
    *,
    seq_len: int,
    d_model: int,
    out_dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> torch.Tensor:
    """The table, in float64 until the end: float32 angles lose a digit for every one of theirs."""
    column = torch.arange(d_model, device=device)
    exponent = (column - column % 2).double() / d_model
    position = torch.arange(seq_len, device=device, dtype=torch.float64)
    angle = position[:, None] * torch.pow(10000.0, -exponent)
    return torch.where(column % 2 == 0, angle.sin(), angle.cos()).to(out_dtype).contiguous()


def round_decimals(input: torch.Tensor, *, decimals: int = 0) -> torch.Tensor:
    """To decimals, ties to even; torch takes integers without that parameter only."""
    return torch.round(input) if decimals == 0 else torch.round(input, decimals=decimals)


def where(condition: torch.Tensor, input: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Eight-bit floats go by their bits, as not every device of torch chooses among them."""
    if input.is_floating_point() and input.element_size() == 1:
        bits = torch.where(condition, input.view(torch.uint8), other.view(torch.uint8))
        return bits.view(input.dtype)
    return torch.where(condition, input, other)
