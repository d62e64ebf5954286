"""The elementwise operators that are one PyTorch function each, as a table: those of one tensor.

In: a line per operator. Out: `TABLE`, every line, those of the tables beside this one too.
"""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F

from tileops.elementwise import reference
from tileops.elementwise.row import Pointwise
from tileops.elementwise.table_binary import BINARY
from tileops.elementwise.table_selection import SELECTIONS

__all__ = ["ACTIVATIONS", "BINARY", "SELECTIONS", "TABLE", "UNARY"]

_FLOATS = "Half precision is computed in float32 and rounded once, float64 in float64."
_PROMOTED = f"Integers and booleans are computed in, and give, float32. {_FLOATS}"
_WHOLE = "Integers come back as they are. Exact for every dtype."


def _unary(name: str, summary: str, result: str = "of input's dtype", notes: str = "") -> Pointwise:
    """A unary operator named as PyTorch names its function, words capitalised."""
    op = "".join(word.capitalize() for word in name.split("_")) + "FwdOp"
    return Pointwise(op, getattr(torch, name), f"torch.{name}", name, summary, result, notes)


def _promoted(name: str, summary: str) -> Pointwise:
    return _unary(name, summary, "float32 for integers, else of input's dtype", _PROMOTED)


def _test(name: str, summary: str) -> Pointwise:
    return replace(
        _unary(name, summary, "bool", "Integers and booleans are finite numbers."), eight=True
    )


UNARY = (
    _promoted("exp", "e to the power of every element."),
    _promoted("log", "Natural logarithm: -inf at zero, NaN below it."),
    _promoted("sqrt", "Square root: NaN below zero, and -0 at -0."),
    _promoted("rsqrt", "One over the square root: infinite at zero, NaN below it."),
    _unary(
        "abs",
        "Absolute value; the modulus of complex numbers.",
        "of input's dtype, or the real dtype of a complex one",
        "The lowest integer of a signed dtype is its own absolute value, as in torch.",
    ),
    _unary("neg", "The negative of every element.", notes="Integers wrap around."),
    _promoted("reciprocal", "One over every element: an infinity of its sign at a zero."),
    _unary("sign", "-1, 0 or 1 with the sign of every element.", notes="NaN gives 0, as in torch."),
    _promoted("sin", "Sine of an angle in radians."),
    _promoted("cos", "Cosine of an angle in radians."),
    _unary("floor", "The largest whole number that is not above an element.", notes=_WHOLE),
    _unary("ceil", "The smallest whole number that is not below an element.", notes=_WHOLE),
    Pointwise(
        "RoundFwdOp",
        reference.round_decimals,
        "torch.round",
        "round",
        "The nearest multiple of 10 ** -decimals, ties to even.",
        notes="Integers come back as they are.",
        errors="CallError for decimals of integers, and for a dtype that the entry leaves out.",
    ),
    _unary("trunc", "The whole part of an element, towards zero.", notes=_WHOLE),
    _promoted("erf", "Error function."),
    _promoted("log1p", "log(1 + x), without losing x where it is small."),
    _promoted("expm1", "exp(x) - 1, without losing x where it is small."),
    _promoted("sigmoid", "1 / (1 + exp(-x))."),
    _promoted("tanh", "Hyperbolic tangent."),
    _unary("logical_not", "Whether an element is zero.", "bool", "NaN is not zero."),
    _unary(
        "bitwise_not",
        "Every bit of an integer turned over.",
        notes="Booleans are negated.",
    ),
    _test("isnan", "Whether an element is NaN."),
    _test("isinf", "Whether an element is an infinity of either sign."),
    _test("isfinite", "Whether an element is neither NaN nor infinite."),
)


def _activation(
    op: str, name: str, summary: str, notes: str = "", inplace: bool = True
) -> Pointwise:
    """An activation named as in torch.nn.functional."""
    written = "With `inplace` the input is written and is the result."
    return Pointwise(
        f"{op}FwdOp",
        getattr(F, name),
        f"torch.nn.functional.{name}",
        name,
        summary,
        notes=" ".join([notes or _FLOATS] + [written] * inplace),
    )


_NAN = "NaN stays NaN."

ACTIVATIONS = (
    _activation("ReLU", "relu", "The element, or 0 where it is negative.", f"Exact. {_NAN}"),
    _activation("SiLU", "silu", "x / (1 + exp(-x))."),
    _activation("Hardswish", "hardswish", "x * min(max(x + 3, 0), 6) / 6."),
    _activation("Hardsigmoid", "hardsigmoid", "min(max(x + 3, 0), 6) / 6."),
    _activation("Mish", "mish", "x * tanh(log(1 + exp(x)))."),
    _activation("SELU", "selu", "1.0507 * (x, or 1.6733 * (exp(x) - 1) where x is negative)."),
    _activation("ELU", "elu", "x, or alpha * (exp(x) - 1) where x is negative."),
    _activation("LeakyReLU", "leaky_relu", "x, or negative_slope * x where x is negative."),
    replace(
        _activation(
            "Hardtanh", "hardtanh", "x, held between min_val and max_val.", f"Exact. {_NAN}"
        ),
        errors="CallError when min_val is above max_val, or a bound is none of input's dtype.",
    ),
    _activation(
        "Softplus",
        "softplus",
        "log(1 + exp(beta * x)) / beta, or x where beta * x is above threshold.",
        inplace=False,
    ),
)

TABLE = (*UNARY, *ACTIVATIONS, *BINARY, *SELECTIONS)
