# Generated from the manifest's gemm entries; `make accept` rewrites it.

from torch import Tensor

from tileops.runtime.op import Op

__all__ = ["GEMMFwdOp"]

class GEMMFwdOp(Op):
    trans_a: bool
    trans_b: bool
    def __init__(
        self,
        trans_a: bool = False,
        trans_b: bool = True,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(self, a: Tensor, b: Tensor) -> Tensor: ...
    def __call__(self, a: Tensor, b: Tensor) -> Tensor: ...
