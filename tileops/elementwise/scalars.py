"""Scalar parameters as kernel arguments."""

from __future__ import annotations

from ctypes import c_float

import torch

from tileops.tiling.config import float64_bits

__all__ = ["refuse_alpha", "scalar_argument"]

FLOAT32_MAX = float(torch.finfo(torch.float32).max)


def scalar_argument(dtype: torch.dtype, value: int | float) -> int | float:
    """A scalar beside tensors of a dtype.

    Kernels have no float64 arguments, so those come as bits; integers take integers, and booleans
    0 or 1.
    """
    if dtype == torch.float64:
        return float64_bits(float(value))
    if dtype == torch.bool:
        return int(value != 0)
    # What a float32 cannot hold is infinite, as a conversion in C makes it.
    return c_float(value).value if dtype.is_floating_point else int(value)


def refuse_alpha(dtype: torch.dtype, alpha: int | float) -> str | None:
    """Why alpha breaks torch.add's rules; the reference then raises torch's own error."""
    if isinstance(alpha, bool) and dtype != torch.bool:
        return "alpha is a bool, the tensors are not"
    if dtype.is_floating_point:
        limit = float(torch.finfo(dtype).max) if dtype == torch.float64 else FLOAT32_MAX
        too_large = limit < abs(alpha) != float("inf")
        return f"alpha {alpha} is too large for {dtype}" if too_large else None
    if isinstance(alpha, float):
        return "alpha is a float, the tensors are not"
    if dtype == torch.bool:
        return None
    info = torch.iinfo(dtype)
    lowest = info.min if info.min < 0 else -info.max
    return None if lowest <= alpha <= info.max else f"alpha {alpha} does not fit {dtype}"
