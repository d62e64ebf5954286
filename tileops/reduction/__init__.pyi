# Generated from the manifest's reduction entries; `make accept` rewrites it.

import torch
from torch import Tensor

from tileops.runtime.op import Op

__all__ = [
    "AllFwdOp",
    "AmaxFwdOp",
    "AminFwdOp",
    "AnyFwdOp",
    "ArgmaxFwdOp",
    "ArgminFwdOp",
    "CountNonzeroFwdOp",
    "CumprodFwdOp",
    "CumsumFwdOp",
    "LogSoftmaxFwdOp",
    "LogSumExpFwdOp",
    "MeanFwdOp",
    "ProdFwdOp",
    "SoftmaxFwdOp",
    "StdFwdOp",
    "SumFwdOp",
    "VarFwdOp",
    "VarMeanFwdOp",
    "VectorNormFwdOp",
]

class AllFwdOp(Op):
    dim: int | list[int] | tuple[int, ...] | None
    keepdim: bool
    def __init__(
        self,
        dim: int | list[int] | tuple[int, ...] | None = None,
        keepdim: bool = False,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AmaxFwdOp(Op):
    dim: int | list[int] | tuple[int, ...] | None
    keepdim: bool
    def __init__(
        self,
        dim: int | list[int] | tuple[int, ...] | None = None,
        keepdim: bool = False,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AminFwdOp(Op):
    dim: int | list[int] | tuple[int, ...] | None
    keepdim: bool
    def __init__(
        self,
        dim: int | list[int] | tuple[int, ...] | None = None,
        keepdim: bool = False,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AnyFwdOp(Op):
    dim: int | list[int] | tuple[int, ...] | None
    keepdim: bool
    def __init__(
        self,
        dim: int | list[int] | tuple[int, ...] | None = None,
        keepdim: bool = False,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class ArgmaxFwdOp(Op):
    dim: int | None
    keepdim: bool
    def __init__(
        self,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class ArgminFwdOp(Op):
    dim: int | None
    keepdim: bool
    def __init__(
        self,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class CountNonzeroFwdOp(Op):
    dim: int | list[int] | tuple[int, ...] | None
    def __init__(
        self,
        dim: int | list[int] | tuple[int, ...] | None = None,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class CumprodFwdOp(Op):
    dim: int
    dtype: torch.dtype | None
    def __init__(
        self,
        dim: int,
        *,
        dtype: torch.dtype | None = None,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class CumsumFwdOp(Op):
    dim: int
    dtype: torch.dtype | None
    def __init__(
        self,
        dim: int,
        *,
        dtype: torch.dtype | None = None,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class LogSoftmaxFwdOp(Op):
    dim: int | None
    dtype: torch.dtype | None
    def __init__(
        self,
        dim: int | None = None,
        *,
        dtype: torch.dtype | None = None,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class LogSumExpFwdOp(Op):
    dim: int | list[int] | tuple[int, ...]
    keepdim: bool
    def __init__(
        self,
        dim: int | list[int] | tuple[int, ...],
        keepdim: bool = False,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class MeanFwdOp(Op):
    dim: int | list[int] | tuple[int, ...] | None
    keepdim: bool
    dtype: torch.dtype | None
    def __init__(
        self,
        dim: int | list[int] | tuple[int, ...] | None = None,
        keepdim: bool = False,
        *,
        dtype: torch.dtype | None = None,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class ProdFwdOp(Op):
    dim: int
    keepdim: bool
    dtype: torch.dtype | None
    def __init__(
        self,
        dim: int,
        keepdim: bool = False,
        *,
        dtype: torch.dtype | None = None,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

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

class StdFwdOp(Op):
    dim: int | list[int] | tuple[int, ...] | None
    correction: int | float | complex | None
    keepdim: bool
    def __init__(
        self,
        dim: int | list[int] | tuple[int, ...] | None = None,
        *,
        correction: int | float | complex | None = 1,
        keepdim: bool = False,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class SumFwdOp(Op):
    dim: int | list[int] | tuple[int, ...] | None
    keepdim: bool
    dtype: torch.dtype | None
    def __init__(
        self,
        dim: int | list[int] | tuple[int, ...] | None = None,
        keepdim: bool = False,
        *,
        dtype: torch.dtype | None = None,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class VarFwdOp(Op):
    dim: int | list[int] | tuple[int, ...] | None
    correction: int | float | complex | None
    keepdim: bool
    def __init__(
        self,
        dim: int | list[int] | tuple[int, ...] | None = None,
        *,
        correction: int | float | complex | None = 1,
        keepdim: bool = False,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class VarMeanFwdOp(Op):
    dim: int | list[int] | tuple[int, ...] | None
    correction: int | float | complex | None
    keepdim: bool
    def __init__(
        self,
        dim: int | list[int] | tuple[int, ...] | None = None,
        *,
        correction: int | float | complex | None = 1,
        keepdim: bool = False,
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> tuple[Tensor, Tensor]: ...
    def __call__(self, input: Tensor) -> tuple[Tensor, Tensor]: ...

class VectorNormFwdOp(Op):
    ord: int | float
    dim: int | list[int] | tuple[int, ...] | None
    keepdim: bool
    dtype: torch.dtype | None
    def __init__(
        self,
        ord: int | float = 2,
        dim: int | list[int] | tuple[int, ...] | None = None,
        keepdim: bool = False,
        *,
        dtype: torch.dtype | None = None,
        target: str | None = None,
    ) -> None: ...
    def forward(self, x: Tensor) -> Tensor: ...
    def __call__(self, x: Tensor) -> Tensor: ...
