# Generated from the manifest's elementwise entries; `make accept` rewrites it.

from typing import Literal

import torch
from torch import Tensor

from tileops.runtime.op import Op

__all__ = ["AddFwdOp", "GELUFwdOp", "SiLUAndMulFwdOp", "SinusoidalFwdOp"]

class AddFwdOp(Op):
    alpha: int | float
    def __init__(self, *, alpha: int | float = 1, target: str | None = None) -> None: ...
    def forward(self, input: Tensor, other: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, other: Tensor) -> Tensor: ...

class GELUFwdOp(Op):
    approximate: Literal['none', 'tanh']
    def __init__(
        self,
        *,
        approximate: Literal['none', 'tanh'] = 'none',
        target: str | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class SiLUAndMulFwdOp(Op):
    def __init__(self, *, target: str | None = None) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class SinusoidalFwdOp(Op):
    seq_len: int
    d_model: int
    out_dtype: torch.dtype
    device: torch.device | str | None
    def __init__(
        self,
        *,
        seq_len: int,
        d_model: int,
        out_dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
        target: str | None = None,
    ) -> None: ...
    def forward(self) -> Tensor: ...
    def __call__(self) -> Tensor: ...
