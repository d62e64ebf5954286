# Generated from the manifest's norm entries; `make accept` rewrites it.

from typing import Literal

import torch
from torch import Tensor

from tileops.runtime.op import Op

__all__ = [
    "AdaLayerNormFwdOp",
    "AdaLayerNormZeroFwdOp",
    "BatchNormBwdOp",
    "BatchNormFwdOp",
    "FusedAddLayerNormFwdOp",
    "FusedAddRMSNormFwdOp",
    "FusedAddRMSNormPerTokenQuantFwdOp",
    "FusedQKNormRoPEFwdOp",
    "GroupNormFwdOp",
    "InstanceNormFwdOp",
    "LayerNormFwdOp",
    "RMSNormFwdOp",
]

class AdaLayerNormFwdOp(Op):
    eps: float
    def __init__(self, eps: float = 1e-05, *, target: str | None = None) -> None: ...
    def forward(self, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor: ...
    def __call__(self, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor: ...

class AdaLayerNormZeroFwdOp(Op):
    eps: float
    def __init__(self, eps: float = 1e-05, *, target: str | None = None) -> None: ...
    def forward(self, x: Tensor, scale: Tensor, shift: Tensor, gate: Tensor) -> Tensor: ...
    def __call__(self, x: Tensor, scale: Tensor, shift: Tensor, gate: Tensor) -> Tensor: ...

class BatchNormBwdOp(Op):
    def __init__(self, *, target: str | None = None) -> None: ...
    def forward(
        self,
        doutput: Tensor,
        input: Tensor,
        save_mean: Tensor,
        save_invstd: Tensor,
        *,
        weight: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]: ...
    def __call__(
        self,
        doutput: Tensor,
        input: Tensor,
        save_mean: Tensor,
        save_invstd: Tensor,
        *,
        weight: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]: ...

class BatchNormFwdOp(Op):
    training: bool
    momentum: float
    eps: float
    def __init__(
        self,
        training: bool = False,
        momentum: float = 0.1,
        eps: float = 1e-05,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(
        self,
        input: Tensor,
        running_mean: Tensor | None = None,
        running_var: Tensor | None = None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]: ...
    def __call__(
        self,
        input: Tensor,
        running_mean: Tensor | None = None,
        running_var: Tensor | None = None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]: ...

class FusedAddLayerNormFwdOp(Op):
    eps: float
    def __init__(self, eps: float = 1e-06, *, target: str | None = None) -> None: ...
    def forward(
        self,
        x: Tensor,
        residual: Tensor,
        weight: Tensor,
        bias: Tensor,
    ) -> tuple[Tensor, Tensor]: ...
    def __call__(
        self,
        x: Tensor,
        residual: Tensor,
        weight: Tensor,
        bias: Tensor,
    ) -> tuple[Tensor, Tensor]: ...

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

class FusedAddRMSNormPerTokenQuantFwdOp(Op):
    quant_dtype: torch.dtype
    eps: float
    scale_ub: float | None
    def __init__(
        self,
        quant_dtype: torch.dtype = torch.float8_e4m3fn,
        eps: float = 1e-06,
        scale_ub: float | None = None,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(
        self,
        input: Tensor,
        residual: Tensor,
        weight: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]: ...
    def __call__(
        self,
        input: Tensor,
        residual: Tensor,
        weight: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]: ...

class FusedQKNormRoPEFwdOp(Op):
    num_heads: int
    num_kv_heads: int
    eps: float
    rope_layout: Literal['neox', 'interleaved']
    def __init__(
        self,
        num_heads: int,
        num_kv_heads: int,
        eps: float = 1e-06,
        rope_layout: Literal['neox', 'interleaved'] = 'neox',
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(
        self,
        qkv: Tensor,
        q_weight: Tensor,
        k_weight: Tensor,
        cos_sin_cache: Tensor,
        positions: Tensor,
    ) -> None: ...
    def __call__(
        self,
        qkv: Tensor,
        q_weight: Tensor,
        k_weight: Tensor,
        cos_sin_cache: Tensor,
        positions: Tensor,
    ) -> None: ...

class GroupNormFwdOp(Op):
    num_groups: int
    eps: float
    def __init__(
        self,
        num_groups: int,
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

class InstanceNormFwdOp(Op):
    use_input_stats: bool
    momentum: float
    eps: float
    def __init__(
        self,
        use_input_stats: bool = True,
        momentum: float = 0.1,
        eps: float = 1e-05,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(
        self,
        input: Tensor,
        running_mean: Tensor | None = None,
        running_var: Tensor | None = None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor: ...
    def __call__(
        self,
        input: Tensor,
        running_mean: Tensor | None = None,
        running_var: Tensor | None = None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor: ...

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
