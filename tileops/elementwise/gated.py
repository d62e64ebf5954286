"""Gated activations: a function of the first half of a row, times its second half."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tileops.elementwise.functions import FUNCTIONS
from tileops.runtime.launch import Call
from tileops.tiling.config import ceil_div, tile_config
from tileops.tiling.device import accumulator, widen
from tileops.tiling.strides import is_wide

__all__ = ["launch_gelu_and_mul", "launch_silu_and_mul"]


@triton.jit
def gated_kernel(
    out_ptr,
    x_ptr,
    column_blocks,
    rows,
    length,
    x_row,
    x_inner,
    FUNCTION: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """A tile of the output a program."""
    program = tl.program_id(0)
    row = widen(program // column_blocks, WIDE) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    cols = widen(program % column_blocks, WIDE) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    mask = (row < rows) & (cols < length)
    x_ptr += row * x_row
    gate = accumulator(tl.load(x_ptr + cols * x_inner, mask=mask))
    up = accumulator(tl.load(x_ptr + (cols + length) * x_inner, mask=mask))
    y = FUNCTION(gate, 0, 0, 0) * up
    tl.store(out_ptr + row * length + cols, y.to(out_ptr.dtype.element_ty), mask=mask)


def launch_silu_and_mul(call: Call, output: torch.Tensor, input: torch.Tensor) -> str | None:
    """silu(gate) * up."""
    return _launch(call, output, input, "silu")


def launch_gelu_and_mul(
    call: Call, output: torch.Tensor, input: torch.Tensor, *, approximate: str = "none"
) -> str | None:
    """gelu(gate) * up."""
    return _launch(call, output, input, f"gelu_{approximate}")


def _launch(call: Call, output: torch.Tensor, input: torch.Tensor, function: str) -> str | None:
    rows, length = output.shape
    config = tile_config(rows, length, crossed=input.stride(1) > 1)
    column_blocks = ceil_div(length, config.block)
    call.launch(
        gated_kernel,
        (ceil_div(rows, config.rows) * column_blocks,),
        *(output, input, column_blocks, rows, length, input.stride(0), input.stride(1)),
        FUNCTION=FUNCTIONS[function].device(output),
        WIDE=is_wide(input.shape, [input.stride()]),
        BLOCK_ROWS=config.rows,
        BLOCK_N=config.block,
        num_warps=config.warps,
    )
    return None
