"""Unary elementwise kernels: one dense kernel and one for strides, for every function of `apply`.

A new function is a branch of `apply` and two launchers.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tileops.runtime.launch import Call
from tileops.tiling.config import ceil_div, flat_config, tile_config
from tileops.tiling.device import accumulator, row_offset, widen
from tileops.tiling.strides import collapse, is_wide, rows_of

__all__ = ["apply", "launch_gelu_flat", "launch_gelu_tile"]


@triton.jit
def _normal_below(x):
    """The normal distribution function to 5e-5 of itself: enough for 16-bit results, and cheaper
    than the error function, which takes longer than memory does.

    Below zero it is 2 ** (p(|x|) - x * x / (2 * ln 2)), and p, the logarithm of its ratio to the
    density, is nearly straight: a least-maximum fit on [0, 6], where results round to nothing.
    """
    size = tl.abs(x)
    near = tl.minimum(size, 6.0)
    p = 2.299006068e-05 * near - 6.111001306e-04
    p = p * near + 7.195567128e-03
    p = p * near - 5.118534531e-02
    p = p * near + 2.600756154e-01
    p = p * near - 1.150174273
    p = p * near - 1.000064787
    tail = tl.exp2(p - size * 0.7213475204444817 * size)
    return tl.where(x >= 0.0, 1.0 - tail, tail)


@triton.jit
def apply(x, OP: tl.constexpr):
    """The function named OP of float32 or float64 elements."""
    if OP == "gelu_none":
        return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    elif OP == "gelu_none_half":
        return x * _normal_below(x)
    elif OP == "gelu_tanh":
        # (1 + tanh(u)) / 2 is sigmoid(2 u), which keeps its digits where tanh is near -1.
        doubled = 1.5957691216057308 * (x + 0.044715 * x * x * x)
        return x / (1.0 + tl.exp(-doubled))
    else:
        tl.static_assert(False, "unknown function")


@triton.jit
def unary_flat_kernel(
    out_ptr, x_ptr, length, OP: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr
):
    """BLOCK elements of dense tensors a program."""
    offsets = widen(tl.program_id(0), WIDE) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < length
    y = apply(accumulator(tl.load(x_ptr + offsets, mask=mask)), OP)
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
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
    OP: tl.constexpr,
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
    y = apply(accumulator(tl.load(x_ptr + cols * x_inner, mask=mask)), OP)
    tl.store(out_ptr + row * length + cols, y.to(out_ptr.dtype.element_ty), mask=mask)


def launch_gelu_flat(
    call: Call, output: torch.Tensor, input: torch.Tensor, *, approximate: str = "none"
) -> str | None:
    """GELU of a dense tensor."""
    return _launch_flat(call, output, input, _gelu(input, approximate))


def launch_gelu_tile(
    call: Call, output: torch.Tensor, input: torch.Tensor, *, approximate: str = "none"
) -> str | None:
    """GELU of a tensor of any strides."""
    return _launch_tile(call, output, input, _gelu(input, approximate))


def _gelu(x: torch.Tensor, approximate: str) -> str:
    narrow = approximate == "none" and x.element_size() == 2
    return "gelu_none_half" if narrow else f"gelu_{approximate}"


def _launch_flat(call: Call, output: torch.Tensor, x: torch.Tensor, op: str) -> str | None:
    sizes, (steps,) = collapse(x.shape, [x.stride()])
    if len(sizes) > 1 or steps not in ([], [1]):
        return "the input is not dense"
    count = x.numel()
    block, warps = flat_config(count, x.element_size())
    call.launch(
        unary_flat_kernel,
        (ceil_div(count, block),),
        *(output, x, count),
        OP=op,
        WIDE=is_wide([count], []),
        BLOCK=block,
        num_warps=warps,
    )
    return None


def _launch_tile(call: Call, output: torch.Tensor, x: torch.Tensor, op: str) -> str | None:
    rows = rows_of(x.shape, [x.stride()])
    if rows is None:
        return _launch_flat(call, output, x.contiguous(), op)
    config = tile_config(rows.count, rows.length, crossed=rows.inner[0] > 1)
    column_blocks = ceil_div(rows.length, config.block)
    call.launch(
        unary_tile_kernel,
        (ceil_div(rows.count, config.rows) * column_blocks,),
        *(output, x, column_blocks, rows.count, rows.length, rows.n1, rows.n2),
        *(*rows.row_strides[0], rows.inner[0]),
        OP=op,
        RANK=rows.rank,
        WIDE=rows.wide,
        BLOCK_ROWS=config.rows,
        BLOCK_N=config.block,
        num_warps=config.warps,
    )
    return None
