"""The reductions in plain PyTorch: their CPU implementation, and what kernels are tested with."""

from __future__ import annotations

import torch

__all__ = ["softmax"]


def softmax(
    x: torch.Tensor, *, dim: int | None = None, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """exp(x) / sum(exp(x)) along `dim`, the last axis by default."""
    return torch.softmax(x, -1 if dim is None else dim, dtype=dtype).contiguous()
