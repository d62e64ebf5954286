"""The elementwise operators in plain PyTorch: their CPU implementation, and what kernels are tested
against."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F

__all__ = [
    "alibi",
    "dropout",
    "gelu",
    "gelu_and_mul",
    "random_24_bits",
    "round_decimals",
    "silu_and_mul",
    "sinusoidal",
    "where",
]


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


def clamp_scalar(
    input: torch.Tensor,
    *,
    min: float | None = None,
    max: float | None = None,
) -> torch.Tensor:
    """torch.clamp; a bound that is NaN makes every element NaN, on a GPU too."""
    if any(bound is not None and bound != bound for bound in (min, max)):
        return torch.full_like(input, float("nan"))
    return torch.clamp(input, min=min, max=max)


def alibi(
    *,
    seq_len: int,
    num_heads: int,
    out_dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> torch.Tensor:
    """-slope * |i - j|, in float64 until the end."""
    head = torch.arange(num_heads, device=device, dtype=torch.float64)
    # The largest power of two up to the number of heads, whose slopes are a geometric sequence; the
    # other heads take every other slope of the sequence for twice as many.
    # Half a head more, since a GPU's logarithm of a power of two may fall short of it.
    heads = torch.full((), num_heads + 0.5, device=device, dtype=torch.float64)
    whole = heads.log2().floor().exp2()
    exponent = torch.where(
        head < whole, 8.0 * (head + 1.0) / whole, 4.0 * (2.0 * (head - whole) + 1.0) / whole
    )
    position = torch.arange(seq_len, device=device)
    distance = (position[:, None] - position).abs().double()
    return (-torch.exp2(-exponent)[:, None, None] * distance).to(out_dtype).contiguous()


_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_MIX_1 = 0xBF58476D1CE4E5B9 - 2**64
_MIX_2 = 0x94D049BB133111EB - 2**64


def _shifted(z: torch.Tensor, by: int) -> torch.Tensor:
    """z as 64 bits without sign, shifted to the right."""
    return (z >> by) & ((1 << (64 - by)) - 1)


def random_24_bits(shape: Sequence[int], seed: int, device: torch.device) -> torch.Tensor:
    """24 random bits an element: SplitMix64 of the seed, counting elements in their order.

    A function of seed and place alone, so that kernels, this reference and every device agree.
    """
    count = math.prod(shape)
    z = torch.arange(1, count + 1, device=device, dtype=torch.int64).reshape(shape)
    # Inductor takes sums and products of an arange for an index, which need not be 64 bits wide.
    z = torch.bitwise_and(z, -1) * _GOLDEN + seed
    z = (z ^ _shifted(z, 30)) * _MIX_1
    z = (z ^ _shifted(z, 27)) * _MIX_2
    return _shifted(z ^ _shifted(z, 31), 40)


def dropout(
    input: torch.Tensor,
    *,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    seed: int | None = None,
) -> torch.Tensor:
    """Without a seed the elements that torch drops, with one those that the seed chooses."""
    if not training:
        return input.clone(memory_format=torch.contiguous_format)
    if seed is None:
        return F.dropout(input, p).contiguous()
    kept = random_24_bits(input.shape, seed, input.device) >= p * 2.0**24
    scale = 0.0 if p == 1 else 1 / (1 - p)
    wide = input if input.dtype == torch.float64 else input.float()
    return (wide * (kept.to(wide.dtype) * scale)).to(input.dtype).contiguous()
