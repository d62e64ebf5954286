"""Unary elementwise kernels: one for dense tensors and one for strides, for every function.

A function is a device function of `unary_functions` and a line of `FUNCTIONS`; the kernels take it
as a constant, and a launcher is told its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl

from tileops.elementwise import unary_functions as functions
from tileops.elementwise.scalars import declines, scalar_argument
from tileops.runtime.launch import Call
from tileops.tiling.config import ceil_div, flat_config, tile_config
from tileops.tiling.device import accumulator, row_offset, widen
from tileops.tiling.strides import collapse, is_wide, rows_of

__all__ = ["FUNCTIONS", "launch_flat", "launch_gelu_flat", "launch_gelu_tile", "launch_tile"]


@dataclass(frozen=True, slots=True)
class Unary:
    """A device function, whether it takes integers as float32, and the parameters it is passed."""

    device: Any
    real: bool = False
    scalars: tuple[str, ...] = ()


FUNCTIONS = {
    "exp": Unary(functions.exp, real=True),
    "log": Unary(functions.log, real=True),
    "sqrt": Unary(functions.sqrt, real=True),
    "rsqrt": Unary(functions.rsqrt, real=True),
    "abs": Unary(functions.absolute),
    "neg": Unary(functions.neg),
    "reciprocal": Unary(functions.reciprocal, real=True),
    "sign": Unary(functions.sign),
    "sin": Unary(functions.sin, real=True),
    "cos": Unary(functions.cos, real=True),
    "floor": Unary(functions.floor),
    "ceil": Unary(functions.ceil),
    "trunc": Unary(functions.trunc),
    "round": Unary(functions.round_units),
    "round_fraction": Unary(functions.round_fraction),
    "round_multiple": Unary(functions.round_multiple),
    "erf": Unary(functions.erf, real=True),
    "log1p": Unary(functions.log1p, real=True),
    "expm1": Unary(functions.expm1, real=True),
    "sigmoid": Unary(functions.sigmoid, real=True),
    "tanh": Unary(functions.tanh, real=True),
    "logical_not": Unary(functions.logical_not),
    "bitwise_not": Unary(functions.bitwise_not),
    "isnan": Unary(functions.isnan),
    "isinf": Unary(functions.isinf, real=True),
    "isfinite": Unary(functions.isfinite, real=True),
    "gelu_none": Unary(functions.gelu_none),
    "gelu_none_half": Unary(functions.gelu_none_half),
    "gelu_tanh": Unary(functions.gelu_tanh),
}


@triton.jit
def operand(x, REAL: tl.constexpr):
    """An element as functions take it: floats in their accumulator, booleans as 0 and 1."""
    if x.dtype.is_floating() or REAL:
        return accumulator(x)
    elif x.dtype == tl.int1:
        return x.to(tl.uint8)
    else:
        return x


@triton.jit(do_not_specialize=["p", "q"])
def unary_flat_kernel(
    out_ptr,
    x_ptr,
    length,
    p,
    q,
    FUNCTION: tl.constexpr,
    REAL: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """BLOCK elements of dense tensors a program."""
    offsets = widen(tl.program_id(0), WIDE) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < length
    y = FUNCTION(operand(tl.load(x_ptr + offsets, mask=mask), REAL), p, q)
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=["p", "q"])
def unary_tile_kernel(
    out_ptr,
    x_ptr,
    column_blocks,
    rows,
    length,
    n1,
    n2,
    xs0,
    xs1,
    xs2,
    x_inner,
    p,
    q,
    FUNCTION: tl.constexpr,
    REAL: tl.constexpr,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """A tile of strided rows a program."""
    program = tl.program_id(0)
    row = widen(program // column_blocks, WIDE) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    cols = widen(program % column_blocks, WIDE) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    mask = (row < rows) & (cols < length)
    x_ptr += row_offset(row, n1, n2, xs0, xs1, xs2, RANK)
    y = FUNCTION(operand(tl.load(x_ptr + cols * x_inner, mask=mask), REAL), p, q)
    tl.store(out_ptr + row * length + cols, y.to(out_ptr.dtype.element_ty), mask=mask)


def launch_flat(
    call: Call, output: torch.Tensor, input: torch.Tensor, *, function: str, **params: Any
) -> str | None:
    """A function of a dense tensor."""
    name, scalars = _choose(function, input, params)
    if scalars is None:
        return name
    sizes, (steps,) = collapse(input.shape, [input.stride()])
    if len(sizes) > 1 or steps not in ([], [1]):
        return "the input is not dense"
    count = input.numel()
    block, warps = flat_config(count, max(input.element_size(), output.element_size()))
    call.launch(
        unary_flat_kernel,
        (ceil_div(count, block),),
        *(output, input, count, *scalars),
        FUNCTION=FUNCTIONS[name].device,
        REAL=FUNCTIONS[name].real,
        WIDE=is_wide([count], []),
        BLOCK=block,
        num_warps=warps,
    )
    return None


def launch_tile(
    call: Call, output: torch.Tensor, input: torch.Tensor, *, function: str, **params: Any
) -> str | None:
    """A function of a tensor of any strides."""
    name, scalars = _choose(function, input, params)
    if scalars is None:
        return name
    rows = rows_of(input.shape, [input.stride()])
    if rows is None:
        return launch_flat(call, output, input.contiguous(), function=function, **params)
    config = tile_config(rows.count, rows.length, crossed=rows.inner[0] > 1)
    column_blocks = ceil_div(rows.length, config.block)
    call.launch(
        unary_tile_kernel,
        (ceil_div(rows.count, config.rows) * column_blocks,),
        *(output, input, column_blocks, rows.count, rows.length, rows.n1, rows.n2),
        *(*rows.row_strides[0], rows.inner[0], *scalars),
        FUNCTION=FUNCTIONS[name].device,
        REAL=FUNCTIONS[name].real,
        RANK=rows.rank,
        WIDE=rows.wide,
        BLOCK_ROWS=config.rows,
        BLOCK_N=config.block,
        num_warps=config.warps,
    )
    return None


def _choose(
    function: str, x: torch.Tensor, params: dict[str, Any]
) -> tuple[str, tuple[int | float, int | float] | None]:
    """The name of the device function and its scalars, or a reason to decline and None."""
    if (reason := declines(x.dtype)) is not None:
        return reason, None
    if function == "round" and params.get("decimals", 0) != 0:
        return _choose_round(x, int(params["decimals"]))
    if function == "bitwise_not" and x.dtype == torch.bool:
        function = "logical_not"
    given = [scalar_argument(x.dtype, params[name]) for name in FUNCTIONS[function].scalars]
    p, q = (*given, 0, 0)[:2]
    return function, (p, q)


def _choose_round(
    x: torch.Tensor, decimals: int
) -> tuple[str, tuple[int | float, int | float] | None]:
    if x.element_size() < 4:
        return "16-bit floats are rounded to decimals by the reference", None
    if abs(decimals) > 37:
        return f"{decimals} decimals are more than a float32 has", None
    name = "round_fraction" if decimals > 0 else "round_multiple"
    return name, (scalar_argument(x.dtype, 10.0 ** abs(decimals)), 0)


def launch_gelu_flat(
    call: Call, output: torch.Tensor, input: torch.Tensor, *, approximate: str = "none"
) -> str | None:
    """GELU of a dense tensor."""
    return launch_flat(call, output, input, function=_gelu(input, approximate))


def launch_gelu_tile(
    call: Call, output: torch.Tensor, input: torch.Tensor, *, approximate: str = "none"
) -> str | None:
    """GELU of a tensor of any strides."""
    return launch_tile(call, output, input, function=_gelu(input, approximate))


def _gelu(x: torch.Tensor, approximate: str) -> str:
    narrow = approximate == "none" and x.element_size() == 2
    return "gelu_none_half" if narrow else f"gelu_{approximate}"
