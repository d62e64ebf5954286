"""The kernels of every function of one to three tensors, element by element.

One kernel is for operands that are dense or a single element, one for any strides. Broadcast axes
have stride 0; axes that all operands walk alike are merged, so that bias additions, row and column
broadcasts and plain tensors all are rows and columns here. A launcher is told its function by name;
see `functions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import triton
import triton.language as tl

from tileops.elementwise.functions import FUNCTIONS, Function, choose
from tileops.runtime.launch import Call
from tileops.tiling.config import RowConfig, ceil_div, flat_config, tile_config
from tileops.tiling.device import accumulator, row_offset, widen
from tileops.tiling.strides import collapse, is_wide, rows_of

__all__ = ["launch_flat", "launch_tile"]


@triton.jit
def element(x, EIGHT: tl.constexpr):
    """An element as functions take it: booleans as 0 and 1, eight-bit floats, which come as their
    bits, as the float32 of their value."""
    if EIGHT == "float8_e5m2":
        return (x.to(tl.uint16) << 8).to(tl.float16, bitcast=True).to(tl.float32)
    elif EIGHT == "float8_e4m3fn":
        # A float16 has a bit more of exponent, with a bias that is larger by eight.
        bits = ((x & 0x80).to(tl.uint16) << 8) | ((x & 0x7F).to(tl.uint16) << 7)
        value = bits.to(tl.float16, bitcast=True).to(tl.float32) * 256.0
        return tl.where((x & 0x7F) == 0x7F, float("nan"), value)
    elif x.dtype == tl.int1:
        return x.to(tl.uint8)
    else:
        return x


@triton.jit
def apply(a, b, c, p, q, r, FUNCTION: tl.constexpr, COUNT: tl.constexpr, REAL: tl.constexpr):
    """A function of one, two or three elements."""
    if COUNT == 3:
        return FUNCTION(a, b, c, p, q, r)
    elif COUNT == 2:
        return FUNCTION(a, b, p, q, r)
    elif a.dtype.is_floating() or REAL:
        return FUNCTION(accumulator(a), p, q, r)
    else:
        return FUNCTION(a, p, q, r)


@triton.jit
def load_flat(ptr, offsets, mask, SINGLE: tl.constexpr, EIGHT: tl.constexpr):
    if SINGLE:
        return tl.broadcast_to(element(tl.load(ptr), EIGHT), offsets.shape)
    else:
        return element(tl.load(ptr + offsets, mask=mask), EIGHT)


@triton.jit(do_not_specialize=["p", "q", "r"])
def flat_kernel(
    out_ptr,
    a_ptr,
    b_ptr,
    c_ptr,
    length,
    p,
    q,
    r,
    FUNCTION: tl.constexpr,
    COUNT: tl.constexpr,
    REAL: tl.constexpr,
    EIGHT: tl.constexpr,
    SINGLE_A: tl.constexpr,
    SINGLE_B: tl.constexpr,
    SINGLE_C: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """BLOCK elements a program; an operand is dense or one element."""
    offsets = widen(tl.program_id(0), WIDE) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < length
    a = load_flat(a_ptr, offsets, mask, SINGLE_A, EIGHT)
    b = load_flat(b_ptr, offsets, mask, SINGLE_B, EIGHT) if COUNT > 1 else a
    c = load_flat(c_ptr, offsets, mask, SINGLE_C, EIGHT) if COUNT > 2 else a
    y = apply(a, b, c, p, q, r, FUNCTION, COUNT, REAL)
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def load_tile(
    ptr, row, cols, rows, length, inner, offset, SPREAD: tl.constexpr, EIGHT: tl.constexpr
):
    """A tile of an operand, or, where all of a row is one element, a column to be spread."""
    if SPREAD:
        return element(tl.load(ptr + offset, mask=row < rows), EIGHT)
    else:
        mask = (row < rows) & (cols < length)
        return element(tl.load(ptr + offset + cols * inner, mask=mask), EIGHT)


@triton.jit(do_not_specialize=["p", "q", "r"])
def tile_kernel(
    out_ptr,
    a_ptr,
    b_ptr,
    c_ptr,
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
    cs0,
    cs1,
    cs2,
    c_inner,
    p,
    q,
    r,
    FUNCTION: tl.constexpr,
    COUNT: tl.constexpr,
    REAL: tl.constexpr,
    EIGHT: tl.constexpr,
    SPREAD_A: tl.constexpr,
    SPREAD_B: tl.constexpr,
    SPREAD_C: tl.constexpr,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """A tile of strided rows a program."""
    program = tl.program_id(0)
    row = widen(program // column_blocks, WIDE) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    cols = widen(program % column_blocks, WIDE) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    at = row_offset(row, n1, n2, as0, as1, as2, RANK)
    a = load_tile(a_ptr, row, cols, rows, length, a_inner, at, SPREAD_A, EIGHT)
    b = a
    c = a
    if COUNT > 1:
        at = row_offset(row, n1, n2, bs0, bs1, bs2, RANK)
        b = load_tile(b_ptr, row, cols, rows, length, b_inner, at, SPREAD_B, EIGHT)
    if COUNT > 2:
        at = row_offset(row, n1, n2, cs0, cs1, cs2, RANK)
        c = load_tile(c_ptr, row, cols, rows, length, c_inner, at, SPREAD_C, EIGHT)
    y = apply(a, b, c, p, q, r, FUNCTION, COUNT, REAL).to(out_ptr.dtype.element_ty)
    y = tl.broadcast_to(y, [BLOCK_ROWS, BLOCK_N])
    tl.store(out_ptr + row * length + cols, y, mask=(row < rows) & (cols < length))


@dataclass(frozen=True, slots=True)
class Plan:
    """What both kernels take: the output, operands of its shape, scalars and constants."""

    output: torch.Tensor
    operands: list[torch.Tensor]
    scalars: tuple[int | float, ...]
    constants: dict[str, Any]
    heavy: bool = False

    @property
    def three(self) -> list[torch.Tensor]:
        """The operands, the first one again in place of those that are not there."""
        return self.operands + self.operands[:1] * (3 - len(self.operands))

    @property
    def itemsize(self) -> int:
        """Bytes of the widest element."""
        return max(x.element_size() for x in (self.output, *self.operands))


def launch_flat(
    call: Call,
    output: torch.Tensor,
    *inputs: torch.Tensor | None,
    function: str,
    **params: Any,
) -> str | None:
    """A function of tensors that are dense or a single element."""
    plan = _plan(call, output, inputs, function, params)
    return plan if isinstance(plan, str) else _launch_flat(call, plan)


def _launch_flat(call: Call, plan: Plan) -> str | None:
    sizes, steps = collapse(plan.output.shape, [x.stride() for x in plan.operands])
    if len(sizes) > 1 or any(s not in ([], [0], [1]) for s in steps):
        return "the operands are not dense tensors of one shape"
    count = plan.output.numel()
    block, warps = flat_config(count, plan.itemsize)
    block = max(128, block // 4) if plan.heavy else block
    single = [s == [0] for s in steps] + [False] * 2
    call.launch(
        flat_kernel,
        (ceil_div(count, block),),
        *(plan.output, *plan.three, count, *plan.scalars),
        **plan.constants,
        SINGLE_A=single[0],
        SINGLE_B=single[1],
        SINGLE_C=single[2],
        WIDE=is_wide([count], []),
        BLOCK=block,
        num_warps=warps,
    )
    return None


def launch_tile(
    call: Call,
    output: torch.Tensor,
    *inputs: torch.Tensor | None,
    function: str,
    **params: Any,
) -> str | None:
    """A function of tensors of any strides, broadcast."""
    plan = _plan(call, output, inputs, function, params)
    if isinstance(plan, str):
        return plan
    rows = rows_of(plan.output.shape, [x.stride() for x in plan.operands])
    if rows is None:
        # More axes than a tile kernel walks: copies, broadcast included, are dense.
        dense = [x.contiguous() for x in plan.operands]
        return _launch_flat(call, replace(plan, operands=dense))
    config = tile_config(rows.count, rows.length, crossed=max(rows.inner) > 1)
    config = _lighter(config) if plan.heavy else config
    column_blocks = ceil_div(rows.length, config.block)
    walks = [(*s, inner) for s, inner in zip(rows.row_strides, rows.inner, strict=True)]
    walks += [(0, 0, 0, 0)] * 2
    spread = [inner == 0 for inner in rows.inner] + [False] * 2
    call.launch(
        tile_kernel,
        (ceil_div(rows.count, config.rows) * column_blocks,),
        *(plan.output, *plan.three, column_blocks, rows.count, rows.length, rows.n1, rows.n2),
        *(*walks[0], *walks[1], *walks[2], *plan.scalars),
        **plan.constants,
        SPREAD_A=spread[0],
        SPREAD_B=spread[1],
        SPREAD_C=spread[2],
        RANK=rows.rank,
        WIDE=rows.wide,
        BLOCK_ROWS=config.rows,
        BLOCK_N=config.block,
        num_warps=config.warps,
    )
    return None


def _lighter(config: RowConfig) -> RowConfig:
    """Four elements a thread, for functions that take many registers for each."""
    block = min(config.block, 512)
    rows = min(config.rows, max(1, 1024 // block))
    return RowConfig(rows, block, max(1, rows * block // 128))


def _plan(
    call: Call,
    output: torch.Tensor,
    inputs: Sequence[torch.Tensor | None],
    name: str,
    params: dict[str, Any],
) -> Plan | str:
    """The function of a call and its operands, or a reason to decline."""
    chosen = choose(call, name, inputs, params)
    if isinstance(chosen, str):
        return chosen
    function = FUNCTIONS[chosen.name]
    shape = output.shape
    operands = [x if x.shape == shape else x.expand(shape) for x in chosen.operands]
    eight = ""
    for x in operands:
        if (reason := _declines(function, x.dtype)) is not None:
            return reason
        if _is_eight(x.dtype) and function.eight:
            eight = str(x.dtype).removeprefix("torch.")
    output, operands = _bits(output), [_bits(x) for x in operands]
    if any(x.dtype.is_complex for x in operands):
        if function.moves and output.dtype == torch.complex64:
            output, operands = _whole(output), [_whole(x) for x in operands]
        else:
            output, operands = _parts(output), [_parts(x) for x in operands]
    constants = {
        "FUNCTION": function.device(output),
        "COUNT": len(operands),
        "REAL": function.real,
        "EIGHT": eight,
    }
    p, q, r = (*chosen.scalars, 0, 0, 0)[:3]
    return Plan(output, operands, (p, q, r), constants, function.heavy)


def _is_eight(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point and dtype.itemsize == 1


def _declines(function: Function, dtype: torch.dtype) -> str | None:
    """Why tensors of a dtype are left to the reference, if they are."""
    taken = function.moves or (function.parts if dtype.is_complex else function.eight)
    if (dtype.is_complex or _is_eight(dtype)) and not taken:
        return f"{dtype} is left to the reference"
    return None


def _parts(x: torch.Tensor) -> torch.Tensor:
    """Complex elements as two real ones; masks beside them twice as well."""
    return torch.view_as_real(x) if x.is_complex() else x.unsqueeze(-1).expand(*x.shape, 2)


def _whole(x: torch.Tensor) -> torch.Tensor:
    """Complex elements of eight bytes as integers."""
    return x.view(torch.int64) if x.is_complex() else x


def _bits(x: torch.Tensor) -> torch.Tensor:
    """Eight-bit floats as integers."""
    return x.view(torch.uint8) if _is_eight(x.dtype) else x
