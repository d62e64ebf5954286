# Generated from the manifest's norm entries; `make accept` rewrites it.

from torch import Tensor

from tileops.runtime.op import Op

__all__ = ["FusedAddRMSNormFwdOp", "LayerNormFwdOp", "RMSNormFwdOp"]

class FusedAddRMSNormFwdOp(Op):
    eps: float
    def __init__(self, eps: float = 1e-06, *, target: str | None = None) -> None: ...
    def forward(self, input: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]: ...
    def __call__(
        self,
        input: Tensor,
        residual: Tensor,
        weight: Tensor,
    ) -> tuple[Tensor, Tensor]: ...

class LayerNormFwdOp(Op):
    normalized_shape: list[int] | tuple[int, ...]
    eps: float
    def __init__(
        self,
        normalized_shape: list[int] | tuple[int, ...],
        eps: float = 1e-05,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(
        self,
        input: Tensor,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor: ...
    def __call__(
        self,
        input: Tensor,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor: ...

class RMSNormFwdOp(Op):
    normalized_shape: list[int] | tuple[int, ...]
    eps: float | None
    def __init__(
        self,
        normalized_shape: list[int] | tuple[int, ...],
        eps: float | None = None,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(self, x: Tensor, weight: Tensor | None = None) -> Tensor: ...
    def __call__(self, x: Tensor, weight: Tensor | None = None) -> Tensor: ...
