"""Rotary embeddings in plain PyTorch: their CPU implementation, and what kernels are checked by."""

from __future__ import annotations

import math

import torch

from tileops.rope.scaling import long_amplitude, yarn_amplitude

__all__ = ["long_rope", "rope", "rope_llama31", "rope_neox_position_ids", "rotate", "yarn"]


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
    angle = _angles(x, _frequencies(x, size, base), input_layout)
    return _turned(x, angle, rotary_dim, rope_layout)


def rope_llama31(
    x: torch.Tensor,
    *,
    input_layout: str = "1d",
    base: float = 10000.0,
    scaling_factor: float = 8.0,
    low_freq_factor: float = 1.0,
    high_freq_factor: float = 4.0,
    original_max_position: int = 8192,
) -> torch.Tensor:
    """x rotated by Llama 3.1's frequencies: those of long wavelengths are divided."""
    frequency = _frequencies(x, x.shape[-1], base)
    # How often a pair turns over the context of the training.
    turns = original_max_position * frequency / (2 * math.pi)
    width = high_freq_factor - low_freq_factor
    smooth = (turns - low_freq_factor) / width if width > 0 else torch.zeros_like(turns)
    slow = frequency / scaling_factor
    between = (1 - smooth) * slow + smooth * frequency
    scaled = torch.where(
        turns > high_freq_factor, frequency, torch.where(turns < low_freq_factor, slow, between)
    )
    return _turned(x, _angles(x, scaled, input_layout))


def yarn(
    x: torch.Tensor,
    *,
    input_layout: str = "1d",
    base: float = 10000.0,
    scaling_factor: float = 16.0,
    original_max_position: int = 4096,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    attn_factor: float = 1.0,
) -> torch.Tensor:
    """x rotated by YaRN's frequencies: slow pairs interpolate, fast ones extrapolate."""
    size = x.shape[-1]
    frequency = _frequencies(x, size, base)
    # Tensors, since both may be open while a graph is built.
    context = torch.full((), original_max_position, dtype=torch.float64, device=x.device)
    width = torch.full((), size, dtype=torch.float64, device=x.device)

    def pair_of(turns: float) -> torch.Tensor:
        return width * torch.log(context / (turns * 2 * math.pi)) / (2 * math.log(base))

    low = pair_of(beta_fast).floor().clamp(min=0)
    high = torch.minimum(pair_of(beta_slow).ceil(), width - 1)
    high = torch.where(low == high, high + 0.001, high)
    pair = torch.arange(size // 2, device=x.device, dtype=torch.float64)
    slow = ((pair - low) / (high - low)).clamp(0, 1)
    scaled = frequency / scaling_factor * slow + frequency * (1 - slow)
    amplitude = yarn_amplitude(scaling_factor, attn_factor)
    return _turned(x, _angles(x, scaled, input_layout), amplitude=amplitude)


def long_rope(
    x: torch.Tensor,
    *,
    input_layout: str = "1d",
    base: float = 10000.0,
    rescale_factors: torch.Tensor | None = None,
    max_position: int = 4096,
    original_max_position: int = 4096,
) -> torch.Tensor:
    """x rotated by frequencies that are divided by a factor of each pair."""
    frequency = _frequencies(x, x.shape[-1], base)
    if rescale_factors is not None:
        frequency = frequency / rescale_factors.double()
    amplitude = long_amplitude(max_position, original_max_position)
    return _turned(x, _angles(x, frequency, input_layout), amplitude=amplitude)


def rope_neox_position_ids(
    x: torch.Tensor,
    positions: torch.Tensor,
    *,
    max_position: int,
    base: float = 10000.0,
    rotary_dim: int | None = None,
) -> torch.Tensor:
    """Tokens rotated at their positions; elements from rotary_dim on stay as they are."""
    size = x.shape[-1] if rotary_dim is None else rotary_dim
    angle = positions.double()[:, None, None] * _frequencies(x, size, base)
    return _turned(x, angle, rotary_dim)


def _frequencies(x: torch.Tensor, size: int, base: float) -> torch.Tensor:
    """Radians from one position to the next, of every pair."""
    pair = torch.arange(size // 2, device=x.device, dtype=torch.float64)
    return torch.pow(float(base), -2.0 * pair / size)


def _angles(x: torch.Tensor, frequency: torch.Tensor, input_layout: str) -> torch.Tensor:
    """The angles of positions 0 to S - 1, to broadcast against x's pairs."""
    count = x.shape[0] if input_layout == "1d" else x.shape[1]
    # float64 until the angle is known: at position 2**17 a float32 angle is off by 0.008 radians.
    position = torch.arange(count, device=x.device, dtype=torch.float64)
    angle = position[:, None] * frequency
    return angle if input_layout == "1d" else angle[:, None, :]


def _turned(
    x: torch.Tensor,
    angle: torch.Tensor,
    rotary_dim: int | None = None,
    rope_layout: str = "neox",
    amplitude: float = 1.0,
) -> torch.Tensor:
    """x, or its start, by these angles, and as much longer as `amplitude`."""
    cosine, sine = angle.cos() * amplitude, angle.sin() * amplitude
    if rotary_dim is None:
        return rotate(x, cosine, sine, rope_layout)
    turned = rotate(x[..., :rotary_dim], cosine, sine, rope_layout)
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
