"""Written tensors that share memory with a source of the same call.

Inductor itself turns `op(x.clone(), x)` into `op(x, x)`; a kernel would then read what it has just
written. In: a call about to be launched. Out: the same call with such sources cloned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tileops.codegen.model import Role
from tileops.runtime.bound import Layout


def separate(
    layout: Layout,
    tensors: tuple[Any, ...],
    keywords: dict[str, Any],
    outputs: Sequence[torch.Tensor | None],
    bound: Sequence[torch.Tensor | None],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Clones every source that overlaps a tensor which the launcher writes in place."""
    written = set(layout.overload.written)
    names = [a.name for a in layout.arguments if a.role is Role.INPUT and not a.keyword_only]
    destinations = [
        output
        for output, given in zip(outputs, bound, strict=False)
        if output is not None and output is given
    ]
    destinations += [t for n, t in zip(names, tensors, strict=True) if n in layout.unbound]
    destinations += [t for n, t in keywords.items() if n in layout.unbound]

    def source(name: str, value: Any) -> Any:
        if name in written or not isinstance(value, torch.Tensor):
            return value
        if any(overlaps(value, destination) for destination in destinations):
            return value.clone()
        return value

    separated = tuple(source(n, t) for n, t in zip(names, tensors, strict=True))
    return separated, {n: source(n, v) for n, v in keywords.items()}


def overlaps(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether the byte spans of two tensors meet; views that interleave count as overlapping."""
    if a.numel() == 0 or b.numel() == 0:
        return False
    a_start, b_start = a.data_ptr(), b.data_ptr()
    return bool(a_start < b_start + _span(b) and b_start < a_start + _span(a))


def _span(tensor: torch.Tensor) -> int:
    if tensor.is_contiguous():
        return int(tensor.numel() * tensor.element_size())
    extent = sum(
        (size - 1) * abs(stride) for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    )
    return int((extent + 1) * tensor.element_size())
