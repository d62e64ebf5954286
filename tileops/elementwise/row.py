"""An operator that is one PyTorch function of its tensors, and the class that it becomes.

In: a `Pointwise`, a line of one of the tables. Out: its class, with docstring, reference and
kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import torch

from tileops.runtime.op import Kernel, Op, Policy

__all__ = ["FUSED", "Pointwise", "classes"]

#: Inductor fuses the definition of an elementwise operator with its neighbours.
FUSED = Policy(cuda="reference", cpu="reference")


@dataclass(frozen=True, slots=True)
class Pointwise:
    """An operator that is one PyTorch function of its inputs, element by element.

    `eight`: PyTorch lacks the function for eight-bit floats on a device; their float32 is exact.
    """

    op: str
    function: Callable[..., torch.Tensor]
    api: str
    kernel: str
    summary: str
    result: str = "of input's dtype"
    notes: str = ""
    errors: str = "CallError when input's dtype is not one that the entry declares."
    shapes: tuple[tuple[str, str], ...] = (("input", "[*S]"),)
    output: str = "[*S]"
    unchecked: str = ""
    divisors: tuple[str, ...] = ()
    eight: bool = False

    def docstring(self) -> str:
        """What `help` shows of the class."""
        shapes = "".join(f"\n    {name}: {shape}" for name, shape in self.shapes)
        parts = [
            self.summary,
            f"Shapes:{shapes}\n    output: {self.output}, {self.result}",
            fill(self.notes, 92),
            fill(f"Errors: {self.errors}", 92),
            fill(f"Unchecked: {self.unchecked}", 92) if self.unchecked else "",
            f"Reference: {self.api}",
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def reference(self) -> Callable[..., Any]:
        """The function as a reference: a fresh contiguous tensor, in place or not."""
        function, eight = self.function, self.eight

        def fresh(*tensors: torch.Tensor | None, **params: Any) -> torch.Tensor:
            params.pop("inplace", None)
            given = map(_widened, tensors) if eight else tensors
            return function(*given, **params).contiguous()

        fresh.__doc__ = self.summary
        fresh.__name__ = self.kernel
        return fresh

    def kernels(self) -> dict[str, Kernel]:
        """Dense tensors, then any strides."""
        module = "tileops.elementwise.pointwise"
        return {
            "flat": Kernel(f"{module}:launch_flat", self.kernel),
            "tile": Kernel(f"{module}:launch_tile", self.kernel),
        }


def _widened(x: torch.Tensor | None) -> torch.Tensor | None:
    narrow = x is not None and x.is_floating_point() and x.element_size() == 1
    return x.float() if narrow and x is not None else x


def classes(module: str, table: Iterable[Pointwise]) -> Iterator[tuple[str, type[Op]]]:
    """The operator classes of a table, by name, as if `module` held their class statements."""
    for row in table:
        body = {
            "__doc__": row.docstring(),
            "__module__": module,
            "reference": staticmethod(row.reference()),
            "kernel_types": row.kernels(),
            "divisors": row.divisors,
            "policy": FUSED,
        }
        yield row.op, type(row.op, (Op,), body)
