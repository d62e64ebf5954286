# Generated from the manifest's rope entries; `make accept` rewrites it.

from typing import Literal

from torch import Tensor

from tileops.runtime.op import Op

__all__ = [
    "LongRoPEFwdOp",
    "RoPEFwdOp",
    "RoPELlama31FwdOp",
    "RoPENeoxPositionIdsFwdOp",
    "YaRNFwdOp",
]

class LongRoPEFwdOp(Op):
    input_layout: Literal['1d', '2d']
    base: float
    rescale_factors: Tensor | None
    max_position: int
    original_max_position: int
    def __init__(
        self,
        input_layout: Literal['1d', '2d'] = '1d',
        base: float = 10000.0,
        rescale_factors: Tensor | None = None,
        max_position: int = 4096,
        original_max_position: int = 4096,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(self, x: Tensor) -> Tensor: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class RoPEFwdOp(Op):
    rope_layout: Literal['neox', 'interleaved']
    input_layout: Literal['1d', '2d']
    base: float
    rotary_dim: int | None
    def __init__(
        self,
        rope_layout: Literal['neox', 'interleaved'] = 'neox',
        input_layout: Literal['1d', '2d'] = '1d',
        base: float = 10000.0,
        *,
        rotary_dim: int | None = None,
        target: str | None = None,
    ) -> None: ...
    def forward(self, x: Tensor) -> Tensor: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class RoPELlama31FwdOp(Op):
    input_layout: Literal['1d', '2d']
    base: float
    scaling_factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_max_position: int
    def __init__(
        self,
        input_layout: Literal['1d', '2d'] = '1d',
        base: float = 10000.0,
        scaling_factor: float = 8.0,
        low_freq_factor: float = 1.0,
        high_freq_factor: float = 4.0,
        original_max_position: int = 8192,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(self, x: Tensor) -> Tensor: ...
    def __call__(self, x: Tensor) -> Tensor: ...

class RoPENeoxPositionIdsFwdOp(Op):
    max_position: int
    base: float
    rotary_dim: int | None
    def __init__(
        self,
        max_position: int,
        base: float = 10000.0,
        rotary_dim: int | None = None,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(self, x: Tensor, positions: Tensor) -> Tensor: ...
    def __call__(self, x: Tensor, positions: Tensor) -> Tensor: ...

class YaRNFwdOp(Op):
    input_layout: Literal['1d', '2d']
    base: float
    scaling_factor: float
    original_max_position: int
    beta_fast: float
    beta_slow: float
    attn_factor: float
    def __init__(
        self,
        input_layout: Literal['1d', '2d'] = '1d',
        base: float = 10000.0,
        scaling_factor: float = 16.0,
        original_max_position: int = 4096,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
        attn_factor: float = 1.0,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(self, x: Tensor) -> Tensor: ...
    def __call__(self, x: Tensor) -> Tensor: ...
