"""Norms of rows: launchers.

Rows up to 32768 elements stay in registers. Longer ones are read twice, block by block, with means
and squared deviations merged by Chan's formula: by one program where there are rows enough to fill
the chip, else by many programs that meet in a small float32 buffer. Launchers are told which
operator they serve; forms.py says what that does to a row. Kernels are in row_kernels.py.
"""

from __future__ import annotations

from typing import Any

import torch

from tileops.norm.forms import Form, form_of
from tileops.norm.row_kernels import norm_long_row_kernel, norm_row_kernel
from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.config import ceil_div, many, pow2_at_least, splits, tailed_row_config
from tileops.tiling.strides import Rows

__all__ = [
    "CHUNK_BLOCK",
    "CHUNK_WARPS",
    "launch_group_row",
    "launch_long_row",
    "launch_row",
    "launch_split_row",
    "limit_of",
]

MAX_ROW_BLOCK = 32768
CHUNK_BLOCK = 4096
CHUNK_WARPS = 8


def launch_row(call: Call, *tensors: torch.Tensor, function: str, **params: Any) -> str | None:
    """A row in registers."""
    rows, form = form_of(function, tensors, params).placed()
    if rows.length > limit_of(form):
        return f"rows of {rows.length} elements do not fit in registers"
    config = tailed_row_config(rows.count, int(rows.length), processors(call))
    call.launch(
        norm_row_kernel,
        (ceil_div(rows.count, config.rows),),
        *(form.output, form.total, *form.operands, rows.count, rows.length, form.run),
        *(rows.n1, rows.n2, *form.strides(rows), form.eps),
        **form.constants(),
        RANK=rows.rank,
        WIDE=rows.wide,
        BLOCK_ROWS=config.rows,
        BLOCK_N=config.block,
        BLOCK_TAIL=config.tail,
        num_warps=config.warps,
    )
    return None


def launch_group_row(
    call: Call, *tensors: torch.Tensor, function: str, **params: Any
) -> str | None:
    """Groups of channels, or single ones, as rows in registers, where those fill the device."""
    if function == "instance_norm" and tensors[2] is not None:
        return "running statistics are read or kept"
    form = form_of(function, tensors, params)
    if not form.has_rows():
        return "the strides make no rows"
    rows, _ = form.placed()
    if rows.length > CHUNK_BLOCK and many(rows.count) < processors(call):
        return f"{rows.count} rows do not fill the device"
    return launch_row(call, *tensors, function=function, **params)


def launch_split_row(
    call: Call, *tensors: torch.Tensor, function: str, **params: Any
) -> str | None:
    """Few rows of many elements: several programs a row, in two launches."""
    rows, form = form_of(function, tensors, params).placed()
    parts, part = splits(rows.count, rows.length, CHUNK_BLOCK, processors(call))
    if parts == 1:
        return f"{rows.count} rows fill the device without splitting them"
    partial = call.empty(rows.count * parts * 2, torch.float32)
    for stage in ((True, False), (False, True)):
        _launch_parts(call, form, rows, partial, (parts, part), stage)
    return None


def launch_long_row(call: Call, *tensors: torch.Tensor, function: str, **params: Any) -> str | None:
    """One program a row of any length."""
    rows, form = form_of(function, tensors, params).placed()
    _launch_parts(call, form, rows, None, (1, rows.length), (True, True))
    return None


def limit_of(form: Form) -> int:
    """The longest row that registers hold without spilling (sm_90, Triton 3.9)."""
    width = form.x.element_size()
    if form.how == "tile":
        return MAX_ROW_BLOCK // width
    # Two float32 rows of 32768 spill, and so does one beside the operands of its channels.
    two = form.residual is not None and width == 4
    grouped = form.how == "group" and form.x.shape[2] != 1
    return MAX_ROW_BLOCK // 2 if two or grouped else MAX_ROW_BLOCK


def _launch_parts(
    call: Call,
    form: Form,
    rows: Rows,
    partial: torch.Tensor | None,
    division: tuple[int, int],
    stage: tuple[bool, bool],
) -> None:
    """The long-row kernel, for (SUM, WRITE)."""
    parts, part = division
    call.launch(
        norm_long_row_kernel,
        (rows.count * parts,),
        *(form.output, form.total, partial, *form.operands, parts, part, rows.length),
        *(rows.n1, rows.n2, *form.strides(rows), form.eps),
        SUM=stage[0],
        WRITE=stage[1],
        **form.constants(),
        RANK=rows.rank,
        WIDE=rows.wide,
        BLOCK_N=CHUNK_BLOCK,
        BLOCK_PARTS=pow2_at_least(parts),
        num_warps=CHUNK_WARPS,
    )
