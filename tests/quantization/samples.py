"""The quantizing operators as a table, and tensors whose rows are what goes wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from tileops.quantization import (
    FP8QuantPerBlockFwdOp,
    FP8QuantPerTokenGroupFwdOp,
    INT4QuantPerGroupFwdOp,
    INT8QuantPerChannelFwdOp,
    INT8QuantPerTensorFwdOp,
    INT8QuantPerTokenGroupFwdOp,
    SmoothQuantFwdOp,
)
from tileops.runtime.op import Op

F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32
FP8 = torch.float8_e4m3fn


@dataclass(frozen=True)
class Quantizer:
    """An operator on matrices.

    `blocks`: rows and columns that share a scale, all of them for None. `limit`: the largest code.
    """

    op: type[Op]
    blocks: tuple[int | None, int | None]
    limit: float
    code: torch.dtype
    dtypes: tuple[torch.dtype, ...] = (F16, BF16, F32)
    shaped: Callable[[torch.Tensor], torch.Tensor] = field(default=lambda x: x)

    def inputs(self, x: torch.Tensor) -> list[torch.Tensor]:
        """The inputs of a call on a matrix; factors of channels are powers of two, so that
        dividing by them is exact."""
        if self.op is not SmoothQuantFwdOp:
            return [self.shaped(x)]
        smooth = 2.0 ** (torch.arange(x.shape[1], device=x.device) % 5)
        return [x, smooth]

    def groups(self, x: torch.Tensor) -> list[tuple[slice, slice]]:
        """The rows and columns of each scale, in order."""
        rows, columns = (
            [slice(at, at + (step or n)) for at in range(0, n, step or n)]
            for n, step in zip(x.shape, self.blocks, strict=True)
        )
        return [(r, c) for r in rows for c in columns]


QUANTIZERS = (
    Quantizer(FP8QuantPerTokenGroupFwdOp, (1, None), 448.0, FP8, shaped=lambda x: x[None, :, None]),
    Quantizer(FP8QuantPerBlockFwdOp, (128, 128), 448.0, FP8),
    Quantizer(INT8QuantPerTensorFwdOp, (None, None), 127.0, torch.int8),
    Quantizer(INT8QuantPerChannelFwdOp, (1, None), 127.0, torch.int8),
    Quantizer(INT8QuantPerTokenGroupFwdOp, (1, 128), 127.0, torch.int8),
    Quantizer(SmoothQuantFwdOp, (1, None), 127.0, torch.int8, (F16, BF16)),
)


def odd_rows(rows: int, columns: int, dtype: torch.dtype) -> torch.Tensor:
    """Random values whose first rows are special: zeros of both signs, ties of int8 codes, tiny and
    huge values, values whose scales are denormal."""
    info = torch.finfo(dtype)
    # Triton's interpreter reads denormal bfloat16 wrongly (seen on 3.9).
    tiny = info.tiny if dtype == BF16 else info.tiny / 8
    x = torch.randn(rows, columns).to(dtype)
    x[0] = 0.0
    x[1] = -0.0
    x[2] = (torch.arange(columns) % 255 - 127).to(dtype) / 2
    x[3] *= info.max / 16
    x[4] = ((x[4].abs() + 1) * x[4].sign()).double() * tiny
    x[5] = info.tiny if dtype == BF16 else info.tiny * info.eps
    x[6] = x[6].sign() * info.max
    x[7, : columns // 2] *= 1e-3
    x[8, 1::2] = -0.0
    return x


def with_non_numbers(x: torch.Tensor) -> torch.Tensor:
    """x with a NaN, an infinity, both, or nothing else in some rows."""
    x = x.clone()
    x[9, 3] = math.nan
    x[10, 5] = math.inf
    x[11, 2], x[11, 7] = -math.inf, math.nan
    x[12] = -math.inf
    return x


def unpacked(packed: torch.Tensor) -> torch.Tensor:
    """The int4 codes of a packed tensor, two for each byte, the high bits first."""
    byte = packed.int()
    return torch.stack((byte >> 4, ((byte & 15) ^ 8) - 8), -1).flatten(-2)


def differing(got: torch.Tensor, want: torch.Tensor) -> torch.Tensor:
    """Where bits differ; one NaN is as good as another."""
    assert got.dtype == want.dtype and got.shape == want.shape
    if not got.dtype.is_floating_point:
        return got != want
    nan = got.float().isnan() & want.float().isnan()
    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[got.element_size()]
    return (got.view(bits) != want.view(bits)) & ~nan


INT4 = INT4QuantPerGroupFwdOp
