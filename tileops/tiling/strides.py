"""Arbitrary strides, seen as a few axes that a kernel can walk.

In: shapes and strides of tensors that share a shape. Out: the fewest axes that address them all,
or the rows and columns of a tile kernel. Integers only; no triton.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

__all__ = ["MAX_ROW_AXES", "Rows", "as_vector", "collapse", "is_wide", "rows_of"]

MAX_ROW_AXES = 3


@dataclass(frozen=True, slots=True)
class Rows:
    """Tensors of one shape as rows of `length` elements.

    Row `r` of tensor `t` starts at `i * s0 + j * s1 + k * s2`, where `(i, j, k)` are the digits of
    `r` in the sizes `(.., n1, n2)` and `(s0, s1, s2) = row_strides[t]`; only the last `rank` digits
    count. Its elements are `inner[t]` apart.
    """

    count: int
    length: int
    rank: int
    n1: int
    n2: int
    row_strides: tuple[tuple[int, int, int], ...]
    inner: tuple[int, ...]
    wide: bool
    """Whether an offset may pass 2**31 - 1, the row number times its length included."""


def collapse(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[list[int], list[list[int]]]:
    """Drops axes of size 1 and merges neighbours that every tensor walks in one stride."""
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        here = [stride[axis] for stride in strides]
        if sizes and all(s[-1] == size * h for s, h in zip(steps, here, strict=True)):
            sizes[-1] = sizes[-1] * size
            for s, h in zip(steps, here, strict=True):
                s[-1] = h
            continue
        sizes.append(size)
        for s, h in zip(steps, here, strict=True):
            s.append(h)
    return sizes, steps


def rows_of(
    shape: Sequence[int], strides: Sequence[Sequence[int]], trailing: int | None = None
) -> Rows | None:
    """Rows over the last `trailing` axes of `shape`, or over its last collapsed axis for None.

    None when that takes more than three row axes, or when the trailing axes are not one stride:
    a kernel for that would read memory badly in any order, and a copy is the better plan.
    """
    if trailing is None:
        lead, lead_steps = collapse(shape, strides)
        tail, tail_steps = lead[-1:], [s[-1:] for s in lead_steps]
        lead, lead_steps = lead[:-1], [s[:-1] for s in lead_steps]
    else:
        split = len(shape) - trailing
        lead, lead_steps = collapse(shape[:split], [s[:split] for s in strides])
        tail, tail_steps = collapse(shape[split:], [s[split:] for s in strides])
    if len(lead) > MAX_ROW_AXES or len(tail) > 1:
        return None
    count, length = 1, tail[0] if tail else 1
    for size in lead:
        count = count * size
    padded = [1] * (MAX_ROW_AXES - len(lead)) + lead
    return Rows(
        count=count,
        length=length,
        rank=max(1, len(lead)),
        n1=padded[1],
        n2=padded[2],
        row_strides=tuple(_pad(s) for s in lead_steps),
        inner=tuple(s[0] if s else 1 for s in tail_steps),
        wide=is_wide(shape, strides),
    )


def is_wide(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> bool:
    """Whether an offset into a tensor, or into a contiguous one of that shape, needs int64.

    A symbolic size may be anything, so that it does.
    """
    if not all(isinstance(n, int) for n in (*shape, *(step for s in strides for step in s))):
        return True
    # Tiles reach past the last row and column before they are masked: keep a tile's worth of room.
    limit = 2**31 - 2**20
    count = 1
    for size in shape:
        count = count * size
    if count > limit:
        return True
    return any(
        sum((n - 1) * s for n, s in zip(shape, stride, strict=True)) > limit for stride in strides
    )


def as_vector(tensor: torch.Tensor | None) -> tuple[torch.Tensor | None, int]:
    """A tensor and the one stride that walks it; copied where there is none.

    For weights, which are small beside what they scale.
    """
    if tensor is None:
        return None, 1
    sizes, (steps,) = collapse(tensor.shape, [tensor.stride()])
    if len(sizes) > 1:
        return tensor.contiguous(), 1
    return tensor, steps[0] if steps else 1


def _pad(steps: list[int]) -> tuple[int, int, int]:
    s0, s1, s2 = [0] * (MAX_ROW_AXES - len(steps)) + steps
    return s0, s1, s2
