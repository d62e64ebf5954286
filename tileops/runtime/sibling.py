"""Gradients through a Bwd sibling: the operator that the manifest declares for a backward.

In: a class whose `backward` calls another entry, and that entry, implemented. Out: the gradients of
a call. How the forward's tensors map to the sibling's is the class's to say: outputs that it saved,
and inputs that it leaves out, differ from pair to pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from tileops.runtime.bound import Bound, Layout
from tileops.runtime.reference import ImplementationError

#: Arguments in schema order, outputs as returned, their gradients, and the positions wanted; the
#: gradients of those, or None where the class leaves the call to the reference.
Gradient: TypeAlias = Callable[
    [Sequence[Any], Sequence[Any], Sequence[Any], Sequence[int]], "list[Any] | None"
]


def gradient(bound: Bound, layout: Layout) -> Gradient | None:
    """The function that asks the sibling, or None where there is none with an implementation."""
    function = getattr(bound.op_class, "backward", None)
    if function is None or not _is_implemented(bound):
        return None
    split = layout.split()
    names = [argument.name for argument in layout.arguments]
    count = len(bound.operator.outputs)

    def ask(
        args: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any], wanted: Sequence[int]
    ) -> list[Any] | None:
        found = function(
            _placed(layout, grads, count),
            _placed(layout, outputs, count),
            *(args[i] for i in split.positional),
            **{item.name: item.of(args) for item in split.keywords},
        )
        if found is None:
            return None
        return [_checked(bound, found, names[i], args[i]) for i in wanted]

    return ask


def sibling_of(op: str) -> str:
    """The name of the entry that an entry's backward would be."""
    return f"{op.removesuffix('FwdOp')}BwdOp" if op.endswith("FwdOp") else ""


def _is_implemented(bound: Bound) -> bool:
    registry = bound.op_class._registry()  # type: ignore[union-attr]
    name = getattr(bound.op_class, "backward_op", None) or sibling_of(bound.header.op)
    if name not in registry:
        return False
    other: Bound = registry.bound(name)
    return other.header.status == "implemented" and other.op_class is not None


def _placed(layout: Layout, values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """One value per declared output; None where the overload returns none."""
    places = dict(zip(layout.returned, values, strict=True))
    return tuple(places.get(position) for position in range(count))


def _checked(bound: Bound, found: Any, name: str, value: torch.Tensor) -> Any:
    """One gradient: autograd itself checks only its shape."""
    subject = bound.header.operator
    if not isinstance(found, dict) or name not in found:
        raise ImplementationError(
            f"{subject}: backward must return the gradient of {name} by name, got "
            f"{sorted(found) if isinstance(found, dict) else type(found).__name__}"
        )
    item = found[name]
    if item is None:
        return torch.zeros_like(value)
    if item.dim() != value.dim() or item.dtype is not value.dtype or item.device != value.device:
        raise ImplementationError(
            f"{subject}: backward must give {value.dtype} of {value.dim()} axes on {value.device} "
            f"for {name}, got {item.dtype} of {item.dim()} axes on {item.device}"
        )
    return item
