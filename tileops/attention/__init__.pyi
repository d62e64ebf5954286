# Generated from the manifest's attention entries; `make accept` rewrites it.

from typing import Literal

import torch
from torch import Tensor

from tileops.runtime.op import Op

__all__ = ["GQADenseBwdOp", "GQADenseFwdOp", "GQADenseWithLSEFwdOp"]

class GQADenseBwdOp(Op):
    is_causal: bool
    window_size_left: int
    window_size_right: int
    sm_scale: float | None
    softcap: float | None
    def __init__(
        self,
        is_causal: bool = False,
        window_size_left: int = -1,
        window_size_right: int = -1,
        sm_scale: float | None = None,
        softcap: float | None = None,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(
        self,
        do: Tensor,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        o: Tensor,
        lse: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]: ...
    def __call__(
        self,
        do: Tensor,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        o: Tensor,
        lse: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]: ...

class GQADenseFwdOp(Op):
    is_causal: bool
    window_size_left: int
    window_size_right: int
    sm_scale: float | None
    softcap: float | None
    pos_encoding_mode: Literal['none', 'rope']
    rotary_dim: int | None
    rope_layout: Literal['neox', 'interleaved']
    out_dtype: torch.dtype | None
    def __init__(
        self,
        is_causal: bool = False,
        window_size_left: int = -1,
        window_size_right: int = -1,
        sm_scale: float | None = None,
        softcap: float | None = None,
        pos_encoding_mode: Literal['none', 'rope'] = 'none',
        rotary_dim: int | None = None,
        rope_layout: Literal['neox', 'interleaved'] = 'neox',
        out_dtype: torch.dtype | None = None,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        q_scale: Tensor | None = None,
        k_scale: Tensor | None = None,
        v_scale: Tensor | None = None,
        rope_cos: Tensor | None = None,
        rope_sin: Tensor | None = None,
        sinks: Tensor | None = None,
    ) -> Tensor: ...
    def __call__(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        q_scale: Tensor | None = None,
        k_scale: Tensor | None = None,
        v_scale: Tensor | None = None,
        rope_cos: Tensor | None = None,
        rope_sin: Tensor | None = None,
        sinks: Tensor | None = None,
    ) -> Tensor: ...

class GQADenseWithLSEFwdOp(Op):
    is_causal: bool
    window_size_left: int
    window_size_right: int
    sm_scale: float | None
    softcap: float | None
    def __init__(
        self,
        is_causal: bool = False,
        window_size_left: int = -1,
        window_size_right: int = -1,
        sm_scale: float | None = None,
        softcap: float | None = None,
        *,
        target: str | None = None,
    ) -> None: ...
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]: ...
    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]: ...
