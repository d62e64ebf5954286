"""Binary elementwise kernels with broadcasting: one for dense operands, one for strides.

Broadcast axes have stride 0; axes that both operands walk alike are merged, so that bias additions,
row and column broadcasts and plain tensors all are rows and columns here.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl

from tileops.runtime.launch import Call
from tileops.tiling.config import ceil_div, flat_config, float64_bits, tile_config
from tileops.tiling.device import accumulator, from_bits, row_offset, widen
from tileops.tiling.strides import collapse, is_wide, rows_of

__all__ = ["launch_add_flat", "launch_add_tile"]

FLOAT32_MAX = float(torch.finfo(torch.float32).max)


@triton.jit
def _add(a, b, alpha, SCALED: tl.constexpr):
    """a + alpha * b by torch's rules; alpha of float64 comes as its bits."""
    if a.dtype == tl.int1:
        if SCALED:
            b = b & (alpha != 0)
        return a | b
    elif a.dtype.is_floating():
        if SCALED:
            if a.dtype == tl.float64:
                return a + b * from_bits(alpha)
            else:
                return accumulator(a) + accumulator(b) * alpha
        else:
            return accumulator(a) + accumulator(b)
    else:
        if SCALED:
            b = b * alpha.to(b.dtype)
        return a + b


@triton.jit(do_not_specialize=["alpha"])
def add_flat_kernel(
    out_ptr,
    a_ptr,
    b_ptr,
    length,
    alpha,
    SCALED: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """BLOCK elements of dense tensors a program."""
    offsets = widen(tl.program_id(0), WIDE) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < length
    a = tl.load(a_ptr + offsets, mask=mask)
    b = tl.load(b_ptr + offsets, mask=mask)
    y = _add(a, b, alpha, SCALED)
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def _load_tile(ptr, row, cols, rows, length, inner, SPREAD: tl.constexpr):
    """A tile of an operand, or, where all of a row is one element, a column to be spread."""
    if SPREAD:
        return tl.load(ptr, mask=row < rows)
    else:
        return tl.load(ptr + cols * inner, mask=(row < rows) & (cols < length))


@triton.jit(do_not_specialize=["alpha"])
def add_tile_kernel(
    out_ptr,
    a_ptr,
    b_ptr,
    column_blocks,
    rows,
    length,
    n1,
    n2,
    as0,
    as1,
    as2,
    a_inner,
    bs0,
    bs1,
    bs2,
    b_inner,
    alpha,
    SCALED: tl.constexpr,
    SPREAD_A: tl.constexpr,
    SPREAD_B: tl.constexpr,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """A tile of strided rows a program."""
    program = tl.program_id(0)
    row = widen(program // column_blocks, WIDE) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    cols = widen(program % column_blocks, WIDE) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    a_ptr += row_offset(row, n1, n2, as0, as1, as2, RANK)
    b_ptr += row_offset(row, n1, n2, bs0, bs1, bs2, RANK)
    a = _load_tile(a_ptr, row, cols, rows, length, a_inner, SPREAD_A)
    b = _load_tile(b_ptr, row, cols, rows, length, b_inner, SPREAD_B)
    y = _add(a, b, alpha, SCALED).to(out_ptr.dtype.element_ty)
    y = tl.broadcast_to(y, [BLOCK_ROWS, BLOCK_N])
    tl.store(out_ptr + row * length + cols, y, mask=(row < rows) & (cols < length))


def launch_add_flat(
    call: Call,
    output: torch.Tensor,
    input: torch.Tensor,
    other: torch.Tensor,
    *,
    alpha: int | float = 1,
) -> str | None:
    """Addition of dense tensors of one shape."""
    if output.is_complex():
        return _launch_parts(launch_add_flat, call, output, input, other, alpha)
    if (reason := _refuse_alpha(output.dtype, alpha)) is not None:
        return reason
    a, b = _expanded(output, input), _expanded(output, other)
    sizes, steps = collapse(output.shape, [a.stride(), b.stride()])
    if len(sizes) > 1 or any(s not in ([], [1]) for s in steps):
        return "the operands are not dense tensors of one shape"
    count = output.numel()
    block, warps = flat_config(count, output.element_size())
    call.launch(
        add_flat_kernel,
        (ceil_div(count, block),),
        *(output, a, b, count, _alpha_argument(output.dtype, alpha)),
        SCALED=alpha != 1,
        WIDE=is_wide([count], []),
        BLOCK=block,
        num_warps=warps,
    )
    return None


def launch_add_tile(
    call: Call,
    output: torch.Tensor,
    input: torch.Tensor,
    other: torch.Tensor,
    *,
    alpha: int | float = 1,
) -> str | None:
    """Addition of tensors of any strides, broadcast."""
    if output.is_complex():
        return _launch_parts(launch_add_tile, call, output, input, other, alpha)
    if (reason := _refuse_alpha(output.dtype, alpha)) is not None:
        return reason
    a, b = _expanded(output, input), _expanded(output, other)
    rows = rows_of(output.shape, [a.stride(), b.stride()])
    if rows is None:
        # More axes than a tile kernel walks: copies, broadcast included, are dense.
        a, b = a.contiguous(), b.contiguous()
        return launch_add_flat(call, output, a, b, alpha=alpha)
    config = tile_config(rows.count, rows.length, crossed=max(rows.inner) > 1)
    column_blocks = ceil_div(rows.length, config.block)
    call.launch(
        add_tile_kernel,
        (ceil_div(rows.count, config.rows) * column_blocks,),
        *(output, a, b, column_blocks, rows.count, rows.length, rows.n1, rows.n2),
        *(*rows.row_strides[0], rows.inner[0], *rows.row_strides[1], rows.inner[1]),
        _alpha_argument(output.dtype, alpha),
        SCALED=alpha != 1,
        SPREAD_A=rows.inner[0] == 0,
        SPREAD_B=rows.inner[1] == 0,
        RANK=rows.rank,
        WIDE=rows.wide,
        BLOCK_ROWS=config.rows,
        BLOCK_N=config.block,
        num_warps=config.warps,
    )
    return None


def _launch_parts(
    launch: Callable[..., str | None],
    call: Call,
    output: torch.Tensor,
    input: torch.Tensor,
    other: torch.Tensor,
    alpha: int | float,
) -> str | None:
    """Complex tensors as real ones with an axis of two more."""
    if isinstance(alpha, bool) or alpha != 1:
        return "complex tensors are scaled by the reference"
    a, b = _expanded(output, input), _expanded(output, other)
    return launch(call, *map(torch.view_as_real, (output, a, b)))


def _expanded(output: torch.Tensor, operand: torch.Tensor) -> torch.Tensor:
    return operand.expand(output.shape)


def _refuse_alpha(dtype: torch.dtype, alpha: int | float) -> str | None:
    """Why alpha breaks torch.add's rules; the reference then raises torch's own error."""
    if isinstance(alpha, bool) and dtype != torch.bool:
        return "alpha is a bool, the tensors are not"
    if dtype.is_floating_point:
        limit = float(torch.finfo(dtype).max) if dtype == torch.float64 else FLOAT32_MAX
        too_large = limit < abs(alpha) != float("inf")
        return f"alpha {alpha} is too large for {dtype}" if too_large else None
    if isinstance(alpha, float):
        return "alpha is a float, the tensors are not"
    if dtype == torch.bool:
        return None
    info = torch.iinfo(dtype)
    lowest = info.min if info.min < 0 else -info.max
    return None if lowest <= alpha <= info.max else f"alpha {alpha} does not fit {dtype}"


def _alpha_argument(dtype: torch.dtype, alpha: int | float) -> int | float:
    """Alpha as the kernel takes it: kernels have no float64 arguments, so those come as bits."""
    if dtype == torch.bool:
        return int(alpha != 0)
    if dtype == torch.float64:
        return float64_bits(float(alpha))
    return float(alpha) if dtype.is_floating_point else alpha
