"""The norm operators in plain PyTorch: their CPU implementation, and what kernels are tested
against. Half precision is computed in float32 and rounded once; float64 stays float64."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

__all__ = [
    "ada_layer_norm",
    "batch_norm",
    "batch_norm_backward",
    "fused_add_layer_norm",
    "fused_add_rms_norm",
    "fused_add_rms_norm_per_token_quant",
    "fused_qk_norm_rope",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "quantized_bounds",
    "rms_norm",
]

FLOAT32_EPSILON = float(torch.finfo(torch.float32).eps)
E4M3 = 448.0
#: The largest codes.
CODES = {torch.float8_e4m3fn: E4M3, torch.int8: 127.0}


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


def fused_add_rms_norm_per_token_quant(
    input: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    *,
    quant_dtype: torch.dtype = torch.float8_e4m3fn,
    eps: float = 1e-6,
    scale_ub: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(codes of rms_norm(input + residual) * weight, their scales, input + residual)."""
    total = _widen(input) + _widen(residual)
    y = total * torch.rsqrt(total.square().mean(-1, keepdim=True) + eps) * weight.to(total.dtype)
    least, most = quantized_bounds(quant_dtype, scale_ub)
    limit = CODES.get(quant_dtype, E4M3)
    # A column of zeros is the largest magnitude of rows without elements.
    largest = F.pad(y.abs(), (0, 1)).amax(-1, keepdim=True).clamp(max=most)
    # In double precision, since PyTorch multiplies by a rounded 1 / limit on a GPU.
    scale = (largest.double() / limit).to(largest.dtype).clamp(min=least)
    with torch.no_grad():
        q = (y / scale).clamp(-limit, limit)
        if quant_dtype == torch.int8:
            q = q.round().nan_to_num(0.0)
    return q.to(quant_dtype).contiguous(), scale, total.to(input.dtype).contiguous()


def quantized_bounds(quant_dtype: torch.dtype, scale_ub: float | None) -> tuple[float, float]:
    """The least scale, which is that of a row of zeros, and the largest magnitude that counts."""
    least = FLOAT32_EPSILON if quant_dtype == torch.int8 else 1.0 / (E4M3 * 512.0)
    return least, math.inf if scale_ub is None else scale_ub


def fused_qk_norm_rope(
    qkv: torch.Tensor,
    q_weight: torch.Tensor,
    k_weight: torch.Tensor,
    cos_sin_cache: torch.Tensor,
    positions: torch.Tensor,
    *,
    num_heads: int,
    num_kv_heads: int,
    eps: float = 1e-6,
    rope_layout: str = "neox",
) -> torch.Tensor:
    """The heads of q and k, normalised and rotated by rows of the cache, and those of v."""
    heads = _widen(qkv).unflatten(1, (num_heads + 2 * num_kv_heads, q_weight.shape[0]))
    q, k, v = heads.split((num_heads, num_kv_heads, num_kv_heads), 1)
    normal = torch.cat([_rms_heads(q, q_weight, eps), _rms_heads(k, k_weight, eps)], 1)
    cosine, sine = cos_sin_cache[positions].to(normal.dtype).unsqueeze(1).chunk(2, -1)
    rotary = cos_sin_cache.shape[1]
    turned, rest = normal[..., :rotary], normal[..., rotary:]
    # Pairs in the last axis.
    if rope_layout == "neox":
        turned = turned.unflatten(2, (2, rotary // 2)).mT
    else:
        turned = turned.unflatten(2, (rotary // 2, 2))
    a, b = turned.unbind(-1)
    turned = torch.stack([a * cosine - b * sine, b * cosine + a * sine], -1)
    turned = (turned.mT if rope_layout == "neox" else turned).flatten(2)
    done = torch.cat([turned, rest], 2)
    return torch.cat([done, v], 1).flatten(1).to(qkv.dtype)


def _rms_heads(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight.to(x.dtype)


def group_norm(
    input: torch.Tensor,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    *,
    num_groups: int,
    eps: float = 1e-5,
) -> torch.Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias, over groups of channels of a sample."""
    wide = _widen(input)
    grouped = wide.unflatten(1, (num_groups, input.shape[1] // num_groups))
    axes = tuple(range(2, grouped.dim()))
    mean, var = _moments(grouped, axes)
    y = ((grouped - _kept(mean, axes)) * _kept(torch.rsqrt(var + eps), axes)).flatten(1, 2)
    return _affine(y, weight, bias).to(input.dtype).contiguous()


def instance_norm(
    input: torch.Tensor,
    running_mean: torch.Tensor | None = None,
    running_var: torch.Tensor | None = None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    *,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """(x - mean) / sqrt(var + eps) * weight + bias, over planes; then the running statistics."""
    wide = _widen(input)
    axes = tuple(range(2, input.dim()))
    if not use_input_stats:
        return _by_running(wide, running_mean, running_var, weight, bias, eps).to(input.dtype)
    mean, var = _moments(wide, axes)
    y = (wide - _kept(mean, axes)) * _kept(torch.rsqrt(var + eps), axes)
    y = _affine(y, weight, bias).to(input.dtype).contiguous()
    if running_mean is None:
        return y
    count = math.prod(input.shape[2:])
    samples = torch.sym_max(input.shape[0], 1)
    new = (mean.sum(0) / samples, var.sum(0) / samples)
    return y, *_updated(running_mean, running_var, *new, momentum, count, input.shape[0])


def batch_norm(
    input: torch.Tensor,
    running_mean: torch.Tensor | None = None,
    running_var: torch.Tensor | None = None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    *,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[torch.Tensor | None, ...]:
    """(x - mean) / sqrt(var + eps) * weight + bias over channels; mean and invstd of a batch, and
    the running statistics, while training."""
    wide = _widen(input)
    if not training:
        y = _by_running(wide, running_mean, running_var, weight, bias, eps)
        return y.to(input.dtype), None, None
    axes = (0, *range(2, input.dim()))
    mean, var = _moments(wide, axes)
    invstd = torch.rsqrt(var + eps)
    y = _affine((wide - _kept(mean, axes)) * _kept(invstd, axes), weight, bias)
    results = (y.to(input.dtype).contiguous(), mean, invstd)
    if running_mean is None:
        return results
    count = input.shape[0] * math.prod(input.shape[2:])
    return *results, *_updated(running_mean, running_var, mean, var, momentum, count)


def batch_norm_backward(
    doutput: torch.Tensor,
    input: torch.Tensor,
    save_mean: torch.Tensor,
    save_invstd: torch.Tensor,
    *,
    weight: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradients of a training batch_norm for input, weight and bias."""
    dy, wide = _widen(doutput), _widen(input)
    invstd = _of_channels(save_invstd, wide)
    normal = (wide - _of_channels(save_mean, wide)) * invstd
    axes = (0, *range(2, input.dim()))
    count = torch.sym_max(input.shape[0] * math.prod(input.shape[2:]), 1)
    dbias, dweight = dy.sum(axes), (dy * normal).sum(axes)
    dx = dy - _kept(dbias / count, axes) - normal * _kept(dweight / count, axes)
    return _affine(dx * invstd, weight, None).to(input.dtype).contiguous(), dweight, dbias


def _moments(x: torch.Tensor, axes: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and biased variance; zeros of nothing."""
    count = torch.sym_max(math.prod(x.shape[axis] for axis in axes), 1)
    # Over no axes a sum would be one over all of them.
    mean = (x.sum(axes) if axes else x) / count
    off = (x - _kept(mean, axes)).square()
    return mean, (off.sum(axes) if axes else off) / count


def _kept(values: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """What was reduced over the axes, beside what it was reduced from."""
    for axis in axes:
        values = values.unsqueeze(axis)
    return values


def _by_running(
    x: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    eps: float,
) -> torch.Tensor:
    rstd = torch.rsqrt(_of_channels(running_var, x) + eps)
    return _affine((x - _of_channels(running_mean, x)) * rstd, weight, bias).contiguous()


def _updated(
    running_mean: torch.Tensor,
    running_var: torch.Tensor | None,
    mean: torch.Tensor,
    var: torch.Tensor,
    momentum: float,
    count: int,
    samples: int = 1,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Running statistics after a batch, with the unbiased variance; unchanged after an empty one.

    `count` elements are behind each statistic.
    """
    assert running_var is not None
    momentum = momentum * torch.sym_min(count * samples, 1)
    unbiased = var * (count / torch.sym_max(count - 1, 1))
    return (
        running_mean * (1 - momentum) + mean.to(running_mean.dtype) * momentum,
        running_var * (1 - momentum) + unbiased.to(running_var.dtype) * momentum,
    )


def _of_channels(values: torch.Tensor | None, x: torch.Tensor) -> torch.Tensor:
    """One value a channel, beside x."""
    assert values is not None
    return values.to(x.dtype).view(-1, *[1] * (x.dim() - 2))


def _affine(
    y: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None
) -> torch.Tensor:
    if weight is not None:
        y = y * _of_channels(weight, y)
    if bias is not None:
        y = y + _of_channels(bias, y)
    return y


def _widen(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype == torch.float64 else x.float()
