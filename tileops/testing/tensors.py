"""Tensors of a call: random contents that suit a dtype, generated contents, other layouts.

In: shapes, dtypes and a seed. Out: tensors. The same seed gives the same values on one device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from tileops.manifest.language.arrays import Values

__all__ = ["contents", "layouts", "random_tensor"]

_TYPECODES = {"int32": torch.int32, "int64": torch.int64}


def random_tensor(
    shape: tuple[int, ...], dtype: torch.dtype, device: torch.device | str, seed: int
) -> torch.Tensor:
    """Values of order one: normal for floats and complex numbers, small for integers."""
    generator = torch.Generator(device=device).manual_seed(seed)
    place: dict[str, Any] = {"device": device, "generator": generator}
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, **place).to(dtype)
    if dtype.is_complex:
        return torch.randn(shape, dtype=dtype, **place)
    if not dtype.is_floating_point:
        low = -8 if dtype.is_signed else 0
        return torch.randint(low, 9, shape, **place).to(dtype)
    if dtype.itemsize == 1:
        return torch.randn(shape, dtype=torch.float32, **place).clamp_(-8, 8).to(dtype)
    return torch.randn(shape, dtype=dtype, **place)


def contents(values: Values, device: torch.device | str) -> torch.Tensor:
    """The generated contents of a metadata tensor."""
    dtype = _TYPECODES[values.dtype]
    if not len(values.data):
        return torch.empty(values.shape, dtype=dtype, device=device)
    return torch.frombuffer(bytearray(values.data), dtype=dtype).reshape(values.shape).to(device)


def layouts(tensor: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """The same values laid out otherwise: dense with permuted axes, and channels_last."""
    rank = tensor.dim()
    if rank >= 2:
        order = tuple(reversed(range(rank)))
        yield "dense permuted", tensor.permute(order).contiguous().permute(order)
    if rank == 4:
        yield "channels last", tensor.contiguous(memory_format=torch.channels_last)
