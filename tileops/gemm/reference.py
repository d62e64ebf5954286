"""Matrix products in plain PyTorch: the CPU implementation and the oracle of the kernels."""

from __future__ import annotations

import torch


def gemm(
    a: torch.Tensor, b: torch.Tensor, *, trans_a: bool = False, trans_b: bool = True
) -> torch.Tensor:
    """A @ B, where A is `a` or its transpose and B is `b` or its transpose."""
    left = a.t() if trans_a else a
    right = b.t() if trans_b else b
    # mm may answer in the layout that suits its operands; the operator's result is contiguous.
    return torch.mm(left, right).contiguous()
