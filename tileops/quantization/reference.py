"""Quantization in plain PyTorch: its CPU implementation, and what kernels must equal bit for bit.

A scale is what codes are multiplied by to get values back. It is the largest magnitude of its
elements over the largest code, or 1 where that is zero; codes are quotients by it, rounded to the
nearest, ties to even. A scale that is not finite, after a NaN or an infinity, leaves no value to
get back: int8 codes are 0 then, float8 codes of NaNs and infinities NaN.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

__all__ = [
    "BLOCK",
    "dequantize_per_block",
    "dequantize_per_channel",
    "dequantize_per_tensor",
    "fp8_per_block",
    "fp8_per_token_group",
    "int4_per_group",
    "int8_per_channel",
    "int8_per_tensor",
    "int8_per_token_group",
    "smooth_quant",
]

#: Elements that share a scale along an axis.
BLOCK = 128
#: The largest codes.
INT8, FP8 = 127.0, 448.0

Quantized = tuple[torch.Tensor, torch.Tensor]


def fp8_per_token_group(x: torch.Tensor) -> Quantized:
    """float8_e4m3fn codes, a scale for all of the last axis."""
    wide = _wide(x)
    scale = _scale(_largest(wide), FP8)
    return _fp8_codes(wide, scale[..., None]), scale


def fp8_per_block(w: torch.Tensor) -> Quantized:
    """float8_e4m3fn codes, a scale for 128 rows by 128 columns."""
    wide = _wide(w)
    scale = _scale(_in_blocks(_in_blocks(wide.abs(), 0), 2).amax((1, 3)), FP8)
    return _fp8_codes(wide, _spread(_spread(scale, 0, w.shape[0]), 1, w.shape[1])), scale


def int8_per_tensor(x: torch.Tensor) -> Quantized:
    """int8 codes and their one scale."""
    wide = _wide(x)
    scale = _scale(_largest(wide.flatten()), INT8)
    return _int8_codes(wide, scale), scale.reshape(1)


def int8_per_channel(w: torch.Tensor) -> Quantized:
    """int8 codes, a scale for each row."""
    wide = _wide(w)
    scale = _scale(_largest(wide), INT8)
    return _int8_codes(wide, scale[:, None]), scale


def int8_per_token_group(x: torch.Tensor) -> Quantized:
    """int8 codes, a scale for 128 elements of a row; the last of them may be fewer."""
    wide = _wide(x)
    scale = _scale(_in_blocks(wide.abs(), 1).amax(-1), INT8)
    return _int8_codes(wide, _spread(scale, 1, x.shape[1])), scale


def smooth_quant(x: torch.Tensor, smooth: torch.Tensor) -> Quantized:
    """int8 codes of x / smooth, a scale for each row."""
    return int8_per_channel(_wide(x) / smooth)


def int4_per_group(w: torch.Tensor, *, group_size: int = 128) -> Quantized:
    """int4 codes, two to a byte, of which the first is in the high bits; (scale, offset) of each
    group."""
    groups = _wide(w).reshape(-1, group_size)
    most, least = groups.amax(-1), groups.amin(-1)
    # Where all are equal the steps are 1, and nothing is left to count.
    inverse = 16.0 / torch.where(most == least, 16.0, most - least)
    offset = (most + least) * 0.5
    with torch.no_grad():
        steps = (groups - offset[:, None]) * inverse[:, None]
        codes = steps.round().clamp(-8, 7).nan_to_num(0.0).to(torch.int8)
        codes = codes.reshape(w.shape[0], w.shape[1] // 2, 2)
        packed = codes[..., 0] * 16 + (codes[..., 1] & 15)
    return packed.contiguous(), torch.stack((1.0 / inverse, offset), -1)


def dequantize_per_tensor(
    q: torch.Tensor, scale: torch.Tensor, *, out_dtype: torch.dtype
) -> torch.Tensor:
    """q * scale, rounded once."""
    return (q.to(scale.dtype) * scale).to(out_dtype).contiguous()


def dequantize_per_channel(
    q: torch.Tensor, scale: torch.Tensor, *, out_dtype: torch.dtype
) -> torch.Tensor:
    """q times its row's scale, rounded once."""
    return dequantize_per_tensor(q, scale[:, None], out_dtype=out_dtype)


def dequantize_per_block(
    q: torch.Tensor, scale: torch.Tensor, *, out_dtype: torch.dtype
) -> torch.Tensor:
    """q times the scale of its 128 elements, rounded once."""
    return dequantize_per_tensor(q, _spread(scale, 1, q.shape[1]), out_dtype=out_dtype)


def _wide(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype == torch.float64 else x.float()


def _in_blocks(x: torch.Tensor, axis: int) -> torch.Tensor:
    """x with an axis of blocks and one of their elements; the last element fills the last block up.

    Padding would decide by whether there is anything to pad, which a size may leave open.
    """
    size = x.shape[axis]
    blocks = (size + BLOCK - 1) // BLOCK
    place = torch.arange(blocks * BLOCK, device=x.device).clamp(max=size - 1)
    return x.index_select(axis, place).unflatten(axis, (blocks, BLOCK))


def _spread(scale: torch.Tensor, axis: int, size: int) -> torch.Tensor:
    """The scale of each of `size` elements along an axis of blocks."""
    shape = [-1] * (scale.dim() + 1)
    shape[axis + 1] = BLOCK
    spread = scale.unsqueeze(axis + 1).expand(shape).flatten(axis, axis + 1)
    return spread.narrow(axis, 0, size)


def _largest(x: torch.Tensor) -> torch.Tensor:
    """The largest magnitude along the last axis; of no elements it is 0."""
    return F.pad(x.abs(), (0, 1)).amax(-1)


def _scale(largest: torch.Tensor, limit: float) -> torch.Tensor:
    # In double precision, since PyTorch multiplies by a rounded 1 / limit on a GPU.
    scale = (largest.double() / limit).to(largest.dtype)
    return torch.where(scale == 0, 1.0, scale)


@torch.no_grad()
def _int8_codes(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    codes = (x / scale).round().clamp(-INT8, INT8).nan_to_num(0.0)
    return codes.to(torch.int8).contiguous()


@torch.no_grad()
def _fp8_codes(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return (x / scale).clamp(-FP8, FP8).to(torch.float8_e4m3fn).contiguous()
