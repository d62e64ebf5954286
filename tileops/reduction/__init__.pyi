# Generated from the manifest's reduction entries; `make accept` rewrites it.

import torch
from torch import Tensor

from tileops.runtime.op import Op

__all__ = ["SoftmaxFwdOp"]

class SoftmaxFwdOp(Op):
    dim: int | None
    dtype: torch.dtype | None
    def __init__(
        self,
        dim: int | None = None,
        *,
        dtype: torch.dtype | None = None,
        target: str | None = None,
    ) -> None: ...
    def forward(self, x: Tensor) -> Tensor: ...
    def __call__(self, x: Tensor) -> Tensor: ...
