"""Cumulative sums and products: launchers.

Many lines take one launch, in which a program walks whole lines. Few lines are cut into parts: the
kernel of reductions leaves what each part adds up to, and then every program starts from the parts
before its own, in a fixed order and without waiting for another.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import torch
import triton.language as tl

from tileops.reduction.folds import FOLDS
from tileops.reduction.reduce import (
    TORCH_TYPES,
    TYPES,
    accumulated,
    constants_of,
    loaded_as,
    numbers_of,
)
from tileops.reduction.reduce_kernels import reduce_kernel
from tileops.reduction.scan_kernel import scan_kernel
from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.config import ceil_div, pow2_at_least
from tileops.tiling.plan import plan_of
from tileops.tiling.view import axes_of, view_of

__all__ = ["launch_direct", "launch_split"]

_FOLDS = {"cumsum": "sum", "cumprod": "prod"}


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything of a launch but its tensors; `copied`: the input must be dense first."""

    copied: bool = False
    grid: tuple[int, ...] = ()
    numbers: tuple[Any, ...] = ()
    constants: dict[str, Any] | None = None
    total_numbers: tuple[Any, ...] = ()
    total_constants: dict[str, Any] | None = None
    partial: torch.dtype | None = None
    parts: int = 1
    kept: int = 1


def launch_direct(
    call: Call,
    output: torch.Tensor,
    input: torch.Tensor,
    *,
    dim: int,
    dtype: torch.dtype | None = None,
    function: str,
) -> str | None:
    """A scan in one launch: lines enough to fill the device, or short ones."""
    found = _prepare(call, output, input, dim, dtype, function)
    if isinstance(found, str):
        return found
    prepared, out, x = found
    if prepared.parts > 1:
        return f"{prepared.kept} lines do not fill the device"
    call.launch(
        scan_kernel, prepared.grid, out, None, x, *prepared.numbers, **(prepared.constants or {})
    )
    return None


def launch_split(
    call: Call,
    output: torch.Tensor,
    input: torch.Tensor,
    *,
    dim: int,
    dtype: torch.dtype | None = None,
    function: str,
) -> str | None:
    """A scan in two launches: several programs a line, after the totals of their parts."""
    found = _prepare(call, output, input, dim, dtype, function)
    if isinstance(found, str):
        return found
    prepared, out, x = found
    if prepared.parts == 1:
        return f"{prepared.kept} lines fill the device without splitting them"
    partial = call.empty(prepared.parts * prepared.kept, prepared.partial)
    call.launch(
        reduce_kernel,
        prepared.grid,
        *(None, None, partial, None, x),
        *prepared.total_numbers,
        **(prepared.total_constants or {}),
    )
    call.launch(
        scan_kernel, prepared.grid, out, partial, x, *prepared.numbers, **(prepared.constants or {})
    )
    return None


def _prepare(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    dim: int,
    dtype: torch.dtype | None,
    function: str,
) -> tuple[Prepared, torch.Tensor, torch.Tensor] | str:
    """The launch, the output and the input, which is copied where its strides make no lines."""
    axes = axes_of(dim, x.dim())
    cast = None if dtype is None else output.dtype
    if x.is_complex():
        if function != "cumsum" or not output.is_complex():
            return f"{function} of {x.dtype} is left to the reference"
        x, output = torch.view_as_real(x.resolve_conj()), torch.view_as_real(output)
        cast = None if dtype is None else output.dtype
    if x.dtype not in TYPES or output.dtype not in TYPES:
        return f"{x.dtype} to {output.dtype} is left to the reference"
    axis, count = axes[0] if axes else 0, processors(call)
    for _ in range(2):
        key = (tuple(x.shape) or (1,), x.stride() or (1,), axis, count)
        prepared = _prepared(function, x.dtype, output.dtype, cast, *key)
        if not prepared.copied:
            break
        x = x.contiguous()
    return prepared, output, x


@functools.lru_cache(maxsize=4096)
def _prepared(
    function: str,
    dtype: torch.dtype,
    out_dtype: torch.dtype,
    cast: torch.dtype | None,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    axis: int,
    count: int,
) -> Prepared:
    fold = FOLDS[_FOLDS[function]]
    view = view_of(shape, strides, [axis], ordered=True)
    if view is None:
        return Prepared(copied=True)
    read = dtype if cast is None else cast
    loaded = loaded_as(fold, read, out_dtype)
    acc = tl.int64 if loaded.is_int() else loaded
    # Two states: the element and what has been added up to it.
    plan = plan_of(view, dtype.itemsize, acc.primitive_bitwidth // 8, 2, count, aligned=False)
    inner = 1
    for size in shape[axis + 1 :]:
        inner *= size
    lanes = accumulated(fold, loaded, read, plan.part_tiles * plan.block_r)
    constants = constants_of(fold, view, plan, dtype, read, (loaded, lanes))
    shared = ("CAST", "LOADED", "KEPT_RANK", "EVEN", "WIDE", "BLOCK_K", "BLOCK_R", "num_warps")
    return Prepared(
        grid=(ceil_div(view.kept, plan.block_k) * plan.parts,),
        numbers=(
            *(view.kept, view.n1, view.n2, *view.kept_strides),
            *(view.inner, view.reduced_strides[1], inner, plan.tiles, plan.parts, plan.part_tiles),
        ),
        constants={
            **{name: constants[name] for name in shared},
            "PRODUCT": function == "cumprod", "ACC": acc, "BLOCK_P": pow2_at_least(plan.parts),
        },
        total_numbers=(*numbers_of(view, plan), plan.parts * view.kept, view.inner, 0.0),
        total_constants=constants,
        partial=TORCH_TYPES[acc],
        parts=plan.parts,
        kept=view.kept,
    )  # fmt: skip
