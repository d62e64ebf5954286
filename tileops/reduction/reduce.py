"""Reductions: launchers.

One kernel reduces a tensor seen as kept by reduced elements (tiling.view), cut into programs by
tiling.plan; where kept elements are few, several share one result and a second kernel merges their
states in a fixed order, without atomics. What is accumulated is a line of folds.py. Everything that
follows from shape, strides and dtype is worked out once and kept, since it costs more host time
than the launch.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import triton.language as tl

from tileops.reduction.folds import FOLDS, Fold
from tileops.reduction.reduce_kernels import merge_kernel, reduce_kernel
from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.config import ceil_div, float64_bits, pow2_at_least
from tileops.tiling.plan import Plan, plan_of
from tileops.tiling.view import View, axes_of, view_of

__all__ = [
    "TORCH_TYPES",
    "TYPES",
    "accumulated",
    "constants_of",
    "launch_direct",
    "launch_split",
    "loaded_as",
    "numbers_of",
]

TYPES = {
    torch.bool: tl.int1, torch.uint8: tl.uint8, torch.int8: tl.int8, torch.int16: tl.int16,
    torch.int32: tl.int32, torch.int64: tl.int64, torch.float16: tl.float16,
    torch.bfloat16: tl.bfloat16, torch.float32: tl.float32, torch.float64: tl.float64,
}  # fmt: skip
TORCH_TYPES = {tl.int32: torch.int32, tl.int64: torch.int64, tl.float32: torch.float32,
                tl.float64: torch.float64}  # fmt: skip
#: Those whose `dtype` or result type casts the input first, and that are sums of complex parts.
_CASTING = ("sum", "mean", "prod", *(name for name in FOLDS if name.startswith("norm")))
_BY_PARTS = ("sum", "mean")
#: Folds of the orders of norms that have their own.
_NORMS = {float(order): f"norm_{order}" for order in ("0", "1", "2", "inf", "-inf")}
#: How many elements of so many bytes an int32 sums without wrapping; 0 stands for ones.
_NARROW = {0: 2**31 - 1, 1: 2**23, 2: 2**15}


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything of a launch but its tensors; `permutation`: how to copy the input first."""

    permutation: tuple[int, ...] | None = None
    grid: tuple[int, ...] = ()
    numbers: tuple[Any, ...] = ()
    tail: tuple[Any, ...] = ()
    constants: dict[str, Any] | None = None
    merge_grid: tuple[int, ...] = ()
    merge_constants: dict[str, Any] | None = None
    partial: torch.dtype | None = None
    parts: int = 1
    kept: int = 1
    states: int = 1
    places: bool = False


def launch_direct(call: Call, *tensors: torch.Tensor, function: str, **params: Any) -> str | None:
    """A reduction in one launch: kept elements enough to fill the device, or little to reduce."""
    found = _prepare(call, tensors, function, params)
    if isinstance(found, str):
        return found
    prepared, outputs, x = found
    if prepared.parts > 1:
        return f"{prepared.kept} results do not fill the device"
    call.launch(
        reduce_kernel,
        prepared.grid,
        *(outputs[0], outputs[1], None, None, x),
        *prepared.numbers,
        *prepared.tail,
        **(prepared.constants or {}),
    )
    return None


def launch_split(call: Call, *tensors: torch.Tensor, function: str, **params: Any) -> str | None:
    """A reduction in two launches: several programs a result, then their merged states."""
    found = _prepare(call, tensors, function, params)
    if isinstance(found, str):
        return found
    prepared, outputs, x = found
    if prepared.parts == 1:
        return f"{prepared.kept} results fill the device without splitting them"
    span = prepared.parts * prepared.kept
    states = 1 if prepared.places else prepared.states
    partial = call.empty(span * states, prepared.partial)
    place = None
    if prepared.places:
        place = call.empty(span, torch.int64)
    call.launch(
        reduce_kernel,
        prepared.grid,
        *(None, None, partial, place, x),
        *prepared.numbers,
        *prepared.tail,
        **(prepared.constants or {}),
    )
    call.launch(
        merge_kernel,
        prepared.merge_grid,
        *(outputs[0], outputs[1], partial, place, prepared.kept, prepared.parts),
        *prepared.tail,
        **(prepared.merge_constants or {}),
    )
    return None


_Found = tuple[Prepared, tuple[torch.Tensor, torch.Tensor | None], torch.Tensor]


def _prepare(
    call: Call, tensors: Sequence[torch.Tensor], function: str, params: dict[str, Any]
) -> _Found | str:
    """The launch, the outputs and the input, which is copied where its strides make no tile."""
    out, x = tensors[0], tensors[-1]
    second = tensors[1] if len(tensors) > 2 else None
    dim = params.get("dim")
    axes = tuple(axes_of(dim, x.dim(), function not in ("any", "all")))
    if function == "norm":
        function = _NORMS.get(float(params["ord"]), "norm_p")
    dtype = params.get("dtype")
    if x.is_complex():
        if function not in _BY_PARTS or not out.is_complex():
            return f"{function} of {x.dtype} is left to the reference"
        x, out = torch.view_as_real(x.resolve_conj()), torch.view_as_real(out)
        dtype = None if dtype is None else out.dtype
    if x.dtype not in TYPES or out.dtype not in TYPES:
        return f"{x.dtype} to {out.dtype} is left to the reference"
    scalar = params.get("ord", params.get("correction"))
    scalar = float(1 if scalar is None else scalar)
    count = processors(call)
    for _ in range(2):
        prepared = _prepared(
            function, x.dtype, out.dtype, dtype, tuple(x.shape), x.stride(), axes, scalar, count
        )
        if prepared.permutation is None:
            break
        kept = len(prepared.permutation) - len(axes)
        x = x.permute(prepared.permutation).contiguous()
        axes = tuple(range(kept, x.dim()))
    return prepared, (out, second), x


@functools.lru_cache(maxsize=4096)
def _prepared(
    function: str,
    dtype: torch.dtype,
    out_dtype: torch.dtype,
    cast: torch.dtype | None,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    axes: tuple[int, ...],
    scalar: float,
    count: int,
) -> Prepared:
    fold = FOLDS[function]
    view = view_of(shape, strides, axes, fold.places)
    if view is None:
        kept = tuple(at for at in range(len(shape)) if at not in axes)
        return Prepared(permutation=kept + axes)
    read = out_dtype if cast is not None and function in _CASTING else dtype
    loaded = loaded_as(fold, read, out_dtype)
    wide = accumulated(fold, loaded, read, 2**62)
    plan = plan_of(view, dtype.itemsize, wide.primitive_bitwidth // 8, fold.states, count)
    acc = accumulated(fold, loaded, read, plan.part_tiles * plan.block_r)
    merged = tl.int64 if fold.kind in ("sum", "count") and acc.is_int() else acc
    span = plan.parts * view.kept
    p = float64_bits(scalar) if loaded == tl.float64 else scalar
    return Prepared(
        grid=(ceil_div(view.kept, plan.block_k) * plan.parts,),
        numbers=numbers_of(view, plan),
        tail=(span, view.length, p),
        constants=constants_of(fold, view, plan, dtype, read, (loaded, acc)),
        merge_grid=(ceil_div(view.kept, _merge_block(plan.parts)),),
        merge_constants={
            "START": fold.start, "MERGE": fold.merge, "FINISH": fold.finish,
            "STATES": fold.states, "PLACES": fold.places, "WIDE": view.wide or span >= 2**30,
            "BLOCK_K": _merge_block(plan.parts), "BLOCK_P": pow2_at_least(plan.parts),
            "num_warps": 4,
        },
        partial=TORCH_TYPES[merged],
        parts=plan.parts,
        kept=view.kept,
        states=fold.states,
        places=fold.places,
    )  # fmt: skip


def numbers_of(view: View, plan: Plan) -> tuple[int, ...]:
    """The arguments of the kernel that follow from sizes and strides."""
    return (
        *(view.kept, view.n1, view.n2, *view.kept_strides),
        *(view.outer, view.inner, *view.reduced_strides),
        *(plan.tiles, ceil_div(view.inner, plan.block_inner), plan.parts, plan.part_tiles),
    )


def _merge_block(parts: int) -> int:
    """Kept elements of a program that merges: tiles of about 2048."""
    return max(1, 2048 // pow2_at_least(parts))


def constants_of(
    fold: Fold,
    view: View,
    plan: Plan,
    dtype: torch.dtype,
    read: torch.dtype,
    types: tuple[tl.dtype, tl.dtype],
) -> dict[str, Any]:
    """The kernel's constants: what is accumulated, and how it is cut."""
    whole = plan.tiles == 1 and plan.parts == 1
    first = (fold.first or fold.step) if whole else None
    return {
        "START": fold.start, "FIRST": first, "STEP": fold.step, "MERGE": fold.merge,
        "FINISH": fold.finish, "STATES": fold.states, "PLACES": fold.places,
        "IDENTITY": _identity(fold, dtype), "CAST": TYPES[read], "LOADED": types[0],
        "ACC": types[1], "PARTIAL": plan.parts > 1, "KEPT_RANK": view.kept_rank,
        "TWO_AXES": view.outer != 1, "ALIGN": plan.align, "EVEN": plan.even, "WIDE": view.wide,
        "BLOCK_K": plan.block_k, "BLOCK_R": plan.block_r, "BLOCK_INNER": plan.block_inner,
        "num_warps": plan.warps,
    }  # fmt: skip


def _identity(fold: Fold, dtype: torch.dtype) -> int | float:
    """What a missing element reads as."""
    if isinstance(fold.identity, int):
        return float(fold.identity) if dtype.is_floating_point else fold.identity
    low = fold.identity == "lowest"
    if dtype.is_floating_point:
        return float("-inf") if low else float("inf")
    if dtype == torch.bool:
        return 0 if low else 1
    info = torch.iinfo(dtype)
    return info.min if low else info.max


def loaded_as(fold: Fold, read: torch.dtype, out_dtype: torch.dtype) -> tl.dtype:
    """What elements are computed in."""
    double = fold.kind == "float" and out_dtype == torch.float64
    if read == torch.float64 or double or fold.kind == "double":
        return tl.float64
    if read.is_floating_point or fold.kind == "float":
        return tl.float32
    return tl.int64 if read.itemsize == 8 else tl.int32


def accumulated(fold: Fold, loaded: tl.dtype, read: torch.dtype, elements: int) -> tl.dtype:
    """What a lane keeps of so many elements of a program; torch sums integers in 64 bits."""
    if fold.kind == "truth":
        return tl.int32
    if fold.kind in ("sum", "count") and (loaded.is_int() or fold.kind == "count"):
        size = 0 if fold.kind == "count" or read == torch.bool else read.itemsize
        return tl.int32 if elements <= _NARROW.get(size, 0) else tl.int64
    return tl.int64 if fold.kind == "product" and loaded.is_int() else loaded
