"""The elementwise operators that are one PyTorch function of two tensors, broadcast, as a table."""

from __future__ import annotations

from dataclasses import replace

import torch

from tileops.elementwise.row import Pointwise

__all__ = ["BINARY"]

_REFUSED = "CallError when the shapes do not broadcast or the dtypes or devices differ."
_ALPHA = (
    f"{_REFUSED[:-1]}, or alpha does not fit the dtype; RuntimeError from PyTorch for an alpha that"
    " breaks its rules otherwise."
)
_ONCE = "Half precision is computed in float32 and rounded once."
_ZERO = (
    "integers divided by zero: on the CPU PyTorch raises, on a GPU the result has no meaning, as"
    " PyTorch's has none. The lowest integer divided by -1 is itself."
)
_COMMON = "of the inputs' common dtype"


def _binary(
    name: str,
    summary: str,
    notes: str,
    result: str = _COMMON,
    errors: str = _REFUSED,
    second: str = "other",
) -> Pointwise:
    """A binary operator named as PyTorch names its function, words capitalised."""
    return Pointwise(
        "".join(word.capitalize() for word in name.split("_")) + "FwdOp",
        getattr(torch, name),
        f"torch.{name}",
        name,
        summary,
        result,
        notes,
        errors,
        shapes=(("input", "[*A]"), (second, "[*B]")),
        output="[*broadcast(A, B)]",
    )


_EXACT = "Exact for every dtype."
_ORDER = "False where an element is NaN."

ARITHMETIC = (
    _binary(
        "add",
        "input + alpha * other.",
        "Integers wrap around; booleans are or-ed, other counting only when alpha is not 0. alpha"
        f" is an integer for integer tensors, and may be a bool only for booleans. {_ONCE}",
        errors=_ALPHA,
    ),
    _binary(
        "sub",
        "input - alpha * other.",
        f"Integers wrap around; alpha is an integer for them. {_ONCE}",
        errors=_ALPHA,
    ),
    _binary("mul", "input * other.", f"Integers wrap around, booleans are and-ed. {_ONCE}"),
    replace(
        _binary(
            "div",
            "input / other, rounded towards zero or down where rounding_mode says so.",
            f"Quotients are correctly rounded. {_ONCE} With a rounding mode the quotient is first"
            ' one of the inputs\' dtype, as in torch; "floor" goes by way of the remainder, as'
            " Python does.",
            "of the inputs' dtype; float32 for unrounded integers",
            errors=f'{_REFUSED[:-1]}, or rounding_mode is not None, "trunc" or "floor".',
        ),
        unchecked=f"with a rounding mode, {_ZERO}",
        divisors=("other",),
    ),
    replace(
        _binary(
            "remainder",
            "input - floor(input / other) * other: what is left has the sign of other.",
            "Exact but for one rounding; NaN where other is a zero of a float dtype.",
        ),
        unchecked=_ZERO,
        divisors=("other",),
    ),
    _binary(
        "pow",
        "input to the power of exponent.",
        "Integers wrap around; their negative powers are 0, but for bases of 1 and -1. NaN where"
        " input is negative and exponent not whole.",
        second="exponent",
    ),
    replace(
        _binary(
            "floor_divide",
            "The largest whole number that is not above input / other.",
            "By way of the remainder, as Python does. Half precision is computed in float32 on a"
            " GPU, and rounded at every step on the CPU, as in torch.",
        ),
        unchecked=_ZERO,
        divisors=("other",),
    ),
    _binary(
        "maximum", "The larger of two elements.", f"NaN where either is. {_EXACT}", errors=_REFUSED
    ),
    _binary("minimum", "The smaller of two elements.", f"NaN where either is. {_EXACT}"),
)

COMPARISONS = (
    replace(_binary("eq", "Whether elements are equal.", _ORDER, "bool"), eight=True),
    replace(
        _binary("ne", "Whether elements differ.", "True where an element is NaN.", "bool"),
        eight=True,
    ),
    _binary("gt", "Whether input is above other.", _ORDER, "bool"),
    _binary("lt", "Whether input is below other.", _ORDER, "bool"),
    _binary("ge", "Whether input is other or above it.", _ORDER, "bool"),
    _binary("le", "Whether input is other or below it.", _ORDER, "bool"),
)

_NONZERO = "A number other than zero is true, NaN as well."

LOGIC = (
    _binary("logical_and", "Whether both elements are true.", _NONZERO, "bool"),
    _binary("logical_or", "Whether an element of the two is true.", _NONZERO, "bool"),
    _binary("bitwise_and", "The bits that both integers have.", "Booleans are and-ed."),
    _binary("bitwise_or", "The bits that either integer has.", "Booleans are or-ed."),
    _binary("bitwise_xor", "The bits in which integers differ.", "True where booleans differ."),
)

BINARY = (*ARITHMETIC, *COMPARISONS, *LOGIC)
