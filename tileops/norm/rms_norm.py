"""RMSNorm, with or without a residual sum in front: launchers.

Rows up to 32768 elements stay in registers. Longer rows are read twice: by one program where there
are rows enough to fill the chip, else by many programs that meet in a small float32 buffer.
The kernels are in rms_norm_kernels.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tileops.norm.reference import FLOAT32_EPSILON
from tileops.norm.rms_norm_kernels import rms_norm_long_row_kernel, rms_norm_row_kernel
from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.config import ceil_div, pow2_at_least, splits, tailed_row_config
from tileops.tiling.strides import Rows, as_vector, rows_of

__all__ = [
    "launch_add_long_row",
    "launch_add_row",
    "launch_add_split_row",
    "launch_long_row",
    "launch_row",
    "launch_split_row",
]

MAX_ROW_BLOCK = 32768
CHUNK_BLOCK = 4096
CHUNK_WARPS = 8


def launch_row(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None,
    *,
    normalized_shape: Sequence[int],
    eps: float | None = None,
) -> str | None:
    """RMSNorm, a row in registers."""
    eps = FLOAT32_EPSILON if eps is None else eps
    return _launch_row(call, output, None, x, None, weight, len(normalized_shape), eps)


def launch_split_row(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None,
    *,
    normalized_shape: Sequence[int],
    eps: float | None = None,
) -> str | None:
    """RMSNorm, few rows of many elements: several programs a row, in two launches."""
    eps = FLOAT32_EPSILON if eps is None else eps
    return _launch_long(call, output, None, x, None, weight, len(normalized_shape), eps, split=True)


def launch_long_row(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None,
    *,
    normalized_shape: Sequence[int],
    eps: float | None = None,
) -> str | None:
    """RMSNorm, one program a row of any length."""
    eps = FLOAT32_EPSILON if eps is None else eps
    return _launch_long(call, output, None, x, None, weight, len(normalized_shape), eps)


def launch_add_row(
    call: Call,
    output: torch.Tensor,
    residual_out: torch.Tensor,
    input: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    *,
    eps: float = 1e-6,
) -> str | None:
    """Residual sum and RMSNorm, a row in registers."""
    return _launch_row(call, output, residual_out, input, residual, weight, 1, eps)


def launch_add_split_row(
    call: Call,
    output: torch.Tensor,
    residual_out: torch.Tensor,
    input: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    *,
    eps: float = 1e-6,
) -> str | None:
    """Residual sum and RMSNorm, several programs a row, in two launches."""
    return _launch_long(call, output, residual_out, input, residual, weight, 1, eps, split=True)


def launch_add_long_row(
    call: Call,
    output: torch.Tensor,
    residual_out: torch.Tensor,
    input: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    *,
    eps: float = 1e-6,
) -> str | None:
    """Residual sum and RMSNorm, one program a row of any length."""
    return _launch_long(call, output, residual_out, input, residual, weight, 1, eps)


def _rows(
    x: torch.Tensor, residual: torch.Tensor | None, trailing: int
) -> tuple[Rows, torch.Tensor, torch.Tensor | None]:
    """Rows of the inputs, copied first where their strides make no rows."""
    tensors = [x] if residual is None else [x, residual]
    rows = rows_of(x.shape, [t.stride() for t in tensors], trailing)
    if rows is None:
        x = x.contiguous()
        residual = None if residual is None else residual.contiguous()
        rows = rows_of(x.shape, [x.stride()] * len(tensors), trailing)
        assert rows is not None
    return rows, x, residual


def _strides(rows: Rows) -> tuple[int | None, ...]:
    """x's strides and the residual's, in kernel order."""
    x = (*rows.row_strides[0], rows.inner[0])
    return (*x, *((*rows.row_strides[1], rows.inner[1]) if len(rows.inner) > 1 else [None] * 4))


def _launch_row(
    call: Call,
    output: torch.Tensor,
    residual_out: torch.Tensor | None,
    x: torch.Tensor,
    residual: torch.Tensor | None,
    weight: torch.Tensor | None,
    trailing: int,
    eps: float,
) -> str | None:
    rows, x, residual = _rows(x, residual, trailing)
    # Two float32 rows of 32768 spill (sm_90, Triton 3.9).
    limit = MAX_ROW_BLOCK if residual is None or x.element_size() < 4 else MAX_ROW_BLOCK // 2
    if rows.length > limit:
        return f"rows of {rows.length} elements do not fit in registers"
    weight, w_inner = as_vector(weight)
    config = tailed_row_config(rows.count, int(rows.length), processors(call))
    call.launch(
        rms_norm_row_kernel,
        (ceil_div(rows.count, config.rows),),
        *(output, residual_out, x, residual, weight, rows.count, rows.length, rows.n1, rows.n2),
        *_strides(rows),
        w_inner,
        eps,
        HAS_RESIDUAL=residual is not None,
        HAS_WEIGHT=weight is not None,
        RANK=rows.rank,
        WIDE=rows.wide,
        BLOCK_ROWS=config.rows,
        BLOCK_N=config.block,
        BLOCK_TAIL=config.tail,
        num_warps=config.warps,
    )
    return None


def _launch_long(
    call: Call,
    output: torch.Tensor,
    residual_out: torch.Tensor | None,
    x: torch.Tensor,
    residual: torch.Tensor | None,
    weight: torch.Tensor | None,
    trailing: int,
    eps: float,
    split: bool = False,
) -> str | None:
    rows, x, residual = _rows(x, residual, trailing)
    parts, part = 1, rows.length
    if split:
        parts, part = splits(rows.count, rows.length, CHUNK_BLOCK, processors(call))
        if parts == 1:
            return f"{rows.count} rows fill the device without splitting them"
    weight, w_inner = as_vector(weight)
    partial = None
    if split:
        partial = call.empty(rows.count * parts, torch.float32)
    for sums, writes in ((True, False), (False, True)) if split else ((True, True),):
        call.launch(
            rms_norm_long_row_kernel,
            (rows.count * parts,),
            *(output, residual_out, partial, x, residual, weight, parts, part, rows.length),
            *(rows.n1, rows.n2, *_strides(rows), w_inner, eps),
            SUM=sums,
            WRITE=writes,
            HAS_RESIDUAL=residual is not None,
            HAS_WEIGHT=weight is not None,
            RANK=rows.rank,
            WIDE=rows.wide,
            BLOCK_N=CHUNK_BLOCK,
            BLOCK_PARTS=pow2_at_least(parts),
            num_warps=CHUNK_WARPS,
        )
    return None
