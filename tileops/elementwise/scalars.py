"""Scalar parameters as kernel arguments, and the dtypes that kernels have."""

from __future__ import annotations

import torch

from tileops.tiling.config import float64_bits

__all__ = ["declines", "scalar_argument"]


def declines(dtype: torch.dtype) -> str | None:
    """Why tensors of a dtype are left to the reference, if they are."""
    if dtype.is_complex or (dtype.is_floating_point and dtype.itemsize == 1):
        return f"{dtype} is left to the reference"
    return None


def scalar_argument(dtype: torch.dtype, value: int | float) -> int | float:
    """A scalar beside tensors of a dtype.

    Kernels have no float64 arguments, so those come as bits; integers take integers.
    """
    if dtype == torch.float64:
        return float64_bits(float(value))
    return float(value) if dtype.is_floating_point else int(value)
