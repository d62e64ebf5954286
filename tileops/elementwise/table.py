"""The elementwise operators that are one PyTorch function each, as a table.

In: a line per operator. Out: its class, with docstring, reference and kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import torch

from tileops.elementwise import reference
from tileops.runtime.op import Kernel, Op

__all__ = ["TABLE", "UNARY", "Pointwise", "classes"]

_FLOATS = "Half precision is computed in float32 and rounded once, float64 in float64."
_PROMOTED = f"Integers and booleans are computed in, and give, float32. {_FLOATS}"
_WHOLE = "Integers come back as they are. Exact for every dtype."
_TEST = "Integers and booleans are finite numbers."


@dataclass(frozen=True, slots=True)
class Pointwise:
    """An operator that is one PyTorch function of its inputs, element by element."""

    op: str
    function: Callable[..., torch.Tensor]
    api: str
    kernel: str
    summary: str
    result: str = "of input's dtype"
    notes: str = ""
    errors: str = "CallError when input's dtype is not one that the entry declares."
    launchers: str = "unary"
    shapes: tuple[tuple[str, str], ...] = (("input", "[*S]"),)
    output: str = "[*S]"

    def docstring(self) -> str:
        """What `help` shows of the class."""
        shapes = "".join(f"\n    {name}: {shape}" for name, shape in self.shapes)
        parts = [
            self.summary,
            f"Shapes:{shapes}\n    output: {self.output}, {self.result}",
            fill(self.notes, 92),
            fill(f"Errors: {self.errors}", 92),
            f"Reference: {self.api}",
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def reference(self) -> Callable[..., torch.Tensor]:
        """The function as a reference: a fresh contiguous tensor, in place or not."""
        function = self.function

        def fresh(*tensors: torch.Tensor, **params: Any) -> torch.Tensor:
            params.pop("inplace", None)
            return function(*tensors, **params).contiguous()

        fresh.__doc__ = self.summary
        fresh.__name__ = self.kernel
        return fresh

    def kernels(self) -> dict[str, Kernel]:
        """Dense tensors, then any strides."""
        module = f"tileops.elementwise.{self.launchers}"
        return {
            "flat": Kernel(f"{module}:launch_flat", self.kernel),
            "tile": Kernel(f"{module}:launch_tile", self.kernel),
        }


def classes(module: str, table: tuple[Pointwise, ...]) -> Iterator[tuple[str, type[Op]]]:
    """The operator classes of a table, by name, as if `module` held their class statements."""
    for row in table:
        body = {
            "__doc__": row.docstring(),
            "__module__": module,
            "reference": staticmethod(row.reference()),
            "kernel_types": row.kernels(),
        }
        yield row.op, type(row.op, (Op,), body)


def _unary(name: str, summary: str, result: str = "of input's dtype", notes: str = "") -> Pointwise:
    """A unary operator named as PyTorch names its function, words capitalised."""
    op = "".join(word.capitalize() for word in name.split("_")) + "FwdOp"
    return Pointwise(op, getattr(torch, name), f"torch.{name}", name, summary, result, notes)


def _promoted(name: str, summary: str) -> Pointwise:
    return _unary(name, summary, "float32 for integers, else of input's dtype", _PROMOTED)


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
    _unary("isnan", "Whether an element is NaN.", "bool", _TEST),
    _unary("isinf", "Whether an element is an infinity of either sign.", "bool", _TEST),
    _unary("isfinite", "Whether an element is neither NaN nor infinite.", "bool", _TEST),
)

TABLE = UNARY
