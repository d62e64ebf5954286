"""The elementwise operators that choose, hold or mix elements, as a table; see table.py."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tileops.elementwise import reference
from tileops.elementwise.row import Pointwise

__all__ = ["SELECTIONS"]

_REFUSED = "CallError when the shapes do not broadcast or the dtypes or devices differ."
_COMMON = "of the inputs' common dtype"
_ONCE = "Half precision is computed in float32 and rounded once."
_MOVED = "Elements are moved, bit by bit."
_BOUNDS = (
    "NaN where the element or a bound of it is NaN; max where the bounds cross. Exact for every"
    " dtype."
)

SELECTIONS = (
    Pointwise(
        "WhereFwdOp",
        reference.where,
        "torch.where",
        "where",
        "input where condition is true, other elsewhere.",
        _COMMON,
        _MOVED,
        f"{_REFUSED[:-1]}, or condition is not bool.",
        shapes=(("condition", "[*C]"), ("input", "[*A]"), ("other", "[*B]")),
        output="[*broadcast(C, A, B)]",
    ),
    Pointwise(
        "MaskedFillTensorFwdOp",
        torch.Tensor.masked_fill,
        "torch.Tensor.masked_fill",
        "masked_fill",
        "input, or value where mask is true.",
        notes=_MOVED,
        errors=f"{_REFUSED[:-1]}, mask is not bool, or value is not 0-d.",
        shapes=(("input", "[*A]"), ("mask", "[*M]"), ("value", "[]")),
        output="[*broadcast(A, M)]",
    ),
    Pointwise(
        "MaskedFillScalarFwdOp",
        torch.Tensor.masked_fill,
        "torch.Tensor.masked_fill",
        "masked_fill_scalar",
        "input, or value where mask is true.",
        notes=_MOVED,
        errors=f"{_REFUSED[:-1]}, mask is not bool, or value does not fit input's dtype.",
        shapes=(("input", "[*A]"), ("mask", "[*M]")),
        output="[*broadcast(A, M)]",
    ),
    Pointwise(
        "ClampTensorFwdOp",
        torch.clamp,
        "torch.clamp",
        "clamp_tensor",
        "input, held between min and max where they are given.",
        _COMMON,
        _BOUNDS,
        f"{_REFUSED[:-1]}, or there is neither min nor max.",
        shapes=(("input", "[*A]"), ("min (optional)", "[*L]"), ("max (optional)", "[*U]")),
        output="[*broadcast(A, L, U)], of those that are given",
    ),
    Pointwise(
        "ClampScalarFwdOp",
        reference.clamp_scalar,
        "torch.clamp",
        "clamp_scalar",
        "input, held between min and max where they are given.",
        notes=_BOUNDS,
        errors="CallError when there is neither min nor max, or a bound is none of input's dtype.",
    ),
    Pointwise(
        "LerpScalarFwdOp",
        torch.lerp,
        "torch.lerp",
        "lerp_scalar",
        "input + weight * (end - input).",
        _COMMON,
        f"From end where weight is 0.5 or more, so that both ends are exact. {_ONCE}",
        _REFUSED,
        shapes=(("input", "[*A]"), ("end", "[*B]")),
        output="[*broadcast(A, B)]",
    ),
    Pointwise(
        "LerpTensorFwdOp",
        torch.lerp,
        "torch.lerp",
        "lerp_tensor",
        "input + weight * (end - input).",
        _COMMON,
        f"From end where weight is 0.5 or more, so that both ends are exact. {_ONCE}",
        _REFUSED,
        shapes=(("input", "[*A]"), ("end", "[*E]"), ("weight", "[*W]")),
        output="[*broadcast(A, E, W)]",
    ),
    Pointwise(
        "PReLUFwdOp",
        F.prelu,
        "torch.nn.functional.prelu",
        "prelu",
        "input, or weight * input where input is not above zero.",
        notes=f"One slope, or one for each channel, which axis 1 counts. {_ONCE}",
        errors="CallError when weight has more than an axis, or neither one element nor one for"
        " each channel, or the dtypes or devices differ.",
        shapes=(("input", "[*S]"), ("weight", "[*W]")),
    ),
    Pointwise(
        "NanToNumFwdOp",
        torch.nan_to_num,
        "torch.nan_to_num",
        "nan_to_num",
        "input with numbers in place of NaN and the infinities.",
        notes="Infinities become the dtype's largest and lowest numbers unless posinf and neginf"
        " say otherwise. Integers and booleans come back as they are; complex numbers part by"
        " part.",
    ),
)
