# Generated from the manifest's rope entries; `make accept` rewrites it.

from typing import Literal

from torch import Tensor

from tileops.runtime.op import Op

__all__ = ["RoPEFwdOp"]

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
