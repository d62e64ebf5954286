"""Reductions, scans, and what is made of them along one axis."""

from __future__ import annotations

from tileops.reduction import reference, table
from tileops.runtime.op import Kernel, Op

_TABLE = dict(table.classes(__name__, table.TABLE))
globals().update(_TABLE)

__all__ = ["SoftmaxFwdOp"]
__all__ += sorted(_TABLE)


class SoftmaxFwdOp(Op):
    """Softmax along one axis, in float32 (float64 for float64), rounded once.

    Shapes:
        x: [*S]
        output: [*S], of `dtype` when given, else of x's dtype

    `dim=None` is the last axis, which is where quack normalises. `dtype` casts x before anything
    else, as in PyTorch. A row of all -inf, or with a NaN or +inf in it, is NaN.

    Errors: CallError when dim is outside x's rank.

    Reference: quack.softmax; torch.nn.functional.softmax for dim and dtype
    """

    reference = staticmethod(reference.softmax)
    kernel_types = {
        "row": Kernel("tileops.reduction.softmax:launch_row"),
        "split_row": Kernel("tileops.reduction.softmax:launch_split_row"),
        "long_row": Kernel("tileops.reduction.softmax:launch_long_row"),
        "column": Kernel("tileops.reduction.softmax_column:launch_column"),
    }
