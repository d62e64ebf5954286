"""The reductions and scans that are one PyTorch function each, as a table.

In: a line per operator. Out: its class, with docstring, reference and kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import fill

from tileops.reduction import reference
from tileops.runtime.op import Kernel, Op, Policy

__all__ = ["REDUCTIONS", "SCANS", "TABLE", "Axiswise", "classes"]

_KEPT = "of the axes that `dim` leaves"
_AXES = (
    "`dim` is an axis, several, or all of them for None and for an empty list; with `keepdim` they "
    "stay as sizes of 1."
)
_FLOATS = "Half precision is accumulated in float32 and rounded once, float64 in float64."
_DTYPE = "`dtype` casts the input first."
_INTEGERS = "Integers and booleans are accumulated in int64, which wraps around."
_AXIS_ERRORS = "CallError when an axis is outside input's rank or named twice"
_REDUCE = "tileops.reduction.reduce"
_SCAN = "tileops.reduction.scan"
_SOFTMAX = "tileops.reduction.softmax"


@dataclass(frozen=True, slots=True)
class Axiswise:
    """An operator that is one PyTorch function along axes of its only input."""

    op: str
    name: str
    api: str
    summary: str
    result: str
    notes: str
    errors: str = f"{_AXIS_ERRORS}."
    kernels: tuple[tuple[str, str], ...] = (
        ("direct", f"{_REDUCE}:launch_direct"),
        ("split", f"{_REDUCE}:launch_split"),
    )
    input: str = "input"
    outputs: tuple[str, ...] = ("output",)
    shape: str = _KEPT
    fusible: bool = True
    """Whether Inductor may take the reference to pieces: for sizes that it does not know too, and
    with the same results."""

    def docstring(self) -> str:
        """What `help` shows of the class."""
        shapes = [
            fill(f"{name}: {self.shape}, {self.result}", 84, subsequent_indent=" " * 8)
            for name in self.outputs
        ]
        parts = [
            fill(self.summary, 92),
            "\n    ".join(["Shapes:", f"{self.input}: [*S]", *shapes]),
            fill(self.notes, 92),
            fill(f"Errors: {self.errors}", 92),
            f"Reference: {self.api}",
        ]
        return "\n\n".join(part for part in parts if part) + "\n"


def classes(module: str, table: tuple[Axiswise, ...]) -> Iterator[tuple[str, type[Op]]]:
    """The operator classes of a table, by name, as if `module` held their class statements."""
    for row in table:
        body = {
            "__doc__": row.docstring(),
            "__module__": module,
            "reference": staticmethod(getattr(reference, row.name)),
            "policy": Policy(cpu="reference" if row.fusible else "opaque"),
            "kernel_types": {name: Kernel(path, row.name) for name, path in row.kernels},
        }
        yield row.op, type(row.op, (Op,), body)


_OWN = "of input's dtype"
_GIVEN = "of `dtype` when given, else int64 for integers and booleans, else of input's dtype"
_EMPTY = f"{_AXIS_ERRORS}, or there is nothing to reduce for an element of the output."
_PLACE = (
    "The first place among equals; NaN counts as the extremum, and the first NaN is the place. "
    "`dim=None` counts through the flattened input."
)
_CORRECTION = (
    "Divided by max(0, n - correction), `correction=None` being 1; NaN where that gives 0 / 0. "
    "Deviations are taken from the mean, not from squares, so large means lose nothing."
)

REDUCTIONS = (
    Axiswise(
        "SumFwdOp", "sum", "torch.sum", "Sum along axes.", _GIVEN,
        f"{_AXES} {_DTYPE} {_INTEGERS} {_FLOATS} The sum of nothing is 0.",
    ),
    Axiswise(
        "MeanFwdOp", "mean", "torch.mean", "Mean along axes.", "of `dtype` when given, else of "
        "input's dtype",
        f"{_AXES} {_DTYPE} {_FLOATS} The mean of nothing is NaN.",
        f"{_AXIS_ERRORS}, or input holds integers or booleans and no dtype is given.",
    ),
    Axiswise(
        "AmaxFwdOp", "amax", "torch.amax", "The largest element along axes.", _OWN,
        f"{_AXES} NaN where there is one.", _EMPTY,
    ),
    Axiswise(
        "AminFwdOp", "amin", "torch.amin", "The smallest element along axes.", _OWN,
        f"{_AXES} NaN where there is one.", _EMPTY,
    ),
    Axiswise(
        "ProdFwdOp", "prod", "torch.prod", "Product along one axis.", _GIVEN,
        f"{_DTYPE} {_INTEGERS} {_FLOATS} On the CPU torch rounds a product of half precision at "
        "every step. The product of nothing is 1.",
        "CallError when dim is outside input's rank.",
        # Compiled it would be rounded once, and so be another number.
        fusible=False,
    ),
    Axiswise(
        "VarFwdOp", "var", "torch.var", "Variance along axes.", "real, of input's precision",
        f"{_AXES} {_CORRECTION} {_FLOATS}",
    ),
    Axiswise(
        "StdFwdOp", "std", "torch.std", "Standard deviation along axes.",
        "real, of input's precision", f"{_AXES} {_CORRECTION} {_FLOATS}",
    ),
    Axiswise(
        "VarMeanFwdOp", "var_mean", "torch.var_mean", "Variance and mean along axes, in one pass.",
        "of input's precision; the variance of complex numbers is real",
        f"{_AXES} {_CORRECTION} {_FLOATS}", outputs=("var", "mean"),
    ),
    Axiswise(
        "ArgmaxFwdOp", "argmax", "torch.argmax", "Where the largest element is, along one axis.",
        "int64", _PLACE, "CallError when dim is outside input's rank, or there is no element.",
    ),
    Axiswise(
        "ArgminFwdOp", "argmin", "torch.argmin", "Where the smallest element is, along one axis.",
        "int64", _PLACE, "CallError when dim is outside input's rank, or there is no element.",
    ),
    Axiswise(
        "AllFwdOp", "all", "torch.all", "Whether every element along axes is true.", "bool",
        "`dim` is an axis, several, none of them for an empty list, or all for None. NaN is true, "
        "and so is nothing.",
    ),
    Axiswise(
        "AnyFwdOp", "any", "torch.any", "Whether some element along axes is true.", "bool",
        "`dim` is an axis, several, none of them for an empty list, or all for None. NaN is true; "
        "nothing is not.",
    ),
    Axiswise(
        "CountNonzeroFwdOp", "count_nonzero", "torch.count_nonzero",
        "How many elements along axes are not zero.", "int64",
        "`dim` is an axis, several, or all of them for None and for an empty list. NaN counts.",
    ),
    Axiswise(
        "VectorNormFwdOp", "norm", "torch.linalg.vector_norm",
        "The norm of order `ord` along axes: (sum of |x| ** ord) ** (1 / ord).",
        "real, of the precision of `dtype` when given, else of x's",
        f"Order 0 counts what is not zero; inf and -inf are the largest and smallest |x|. {_AXES} "
        f"{_DTYPE} {_FLOATS}",
        f"{_AXIS_ERRORS}, dtype is narrower than x's or of another kind, or the order has no "
        "answer for nothing.",
        input="x",
        # torch 2.13 takes a size of vector_norm as a number, and compiles it anew for another.
        fusible=False,
    ),
    Axiswise(
        "LogSumExpFwdOp", "logsumexp", "torch.logsumexp",
        "Logarithm of the sum of exponentials along axes, without overflow.",
        "float32 for integers and booleans, else of input's dtype",
        "`dim` is an axis or several. -inf for nothing and for elements that all are -inf; +inf "
        f"where there is one, NaN where there is one. {_FLOATS}",
        f"{_AXIS_ERRORS}, or dim is an empty list.",
    ),
)  # fmt: skip

LOG_SOFTMAX = Axiswise(
    "LogSoftmaxFwdOp", "log_softmax", "torch.nn.functional.log_softmax",
    "Logarithm of the softmax along one axis.", "of `dtype` when given, else of input's dtype",
    f"`dim=None` is torch's implicit axis: 0 at rank 0, 1 and 3, else 1. {_DTYPE} {_FLOATS} "
    "A row of all -inf, or with a NaN or +inf in it, is NaN.",
    "CallError when dim is outside input's rank, or input holds no floats of 16 bits or more and "
    "no dtype is given.",
    kernels=(
        ("row", f"{_SOFTMAX}:launch_row"),
        ("split_row", f"{_SOFTMAX}:launch_split_row"),
        ("long_row", f"{_SOFTMAX}:launch_long_row"),
        ("column", "tileops.reduction.softmax_column:launch_column"),
    ),
    shape="[*S]",
)  # fmt: skip


def _scan(name: str, what: str) -> Axiswise:
    return Axiswise(
        f"{name.capitalize()}FwdOp", name, f"torch.{name}",
        f"The {what} of every element and those before it along one axis.", _GIVEN,
        f"{_DTYPE} {_INTEGERS} {_FLOATS}",
        "CallError when dim is outside input's rank.",
        kernels=(("direct", f"{_SCAN}:launch_direct"), ("split", f"{_SCAN}:launch_split")),
        shape="[*S]",
    )  # fmt: skip


SCANS = (_scan("cumsum", "sum"), _scan("cumprod", "product"))

TABLE = (*REDUCTIONS, LOG_SOFTMAX, *SCANS)
