"""A tensor and the axes to reduce, as the few numbers that a kernel walks it by.

In: shape, strides, axes. Out: kept elements by up to three digits, reduced ones by up to two; or
None, when there are more, and a copy is the better plan. Integers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tileops.tiling.strides import MAX_ROW_AXES, collapse, is_wide

__all__ = ["View", "axes_of", "view_of"]


@dataclass(frozen=True, slots=True)
class View:
    """Kept element `k` of the output reduces `outer * inner` elements of the input.

    `k` has digits in the sizes `(.., n1, n2)` and strides `kept_strides`, of which `kept_rank`
    count; see `tileops.tiling.strides.Rows`. Its elements are `outer` times `inner`, and
    `reduced_strides` apart; `outer` is 1 where one stride reaches all of them.
    """

    kept: int
    kept_rank: int
    n1: int
    n2: int
    kept_strides: tuple[int, int, int]
    outer: int
    inner: int
    reduced_strides: tuple[int, int]
    columns: bool
    """Whether neighbours in memory are neighbours in the output, and not reduced."""
    run: int
    """How many kept elements follow one another in memory where `columns`."""
    wide: bool

    @property
    def length(self) -> int:
        """Elements reduced to one."""
        return self.outer * self.inner


def axes_of(dim: int | Sequence[int] | None, rank: int, empty_is_all: bool = True) -> list[int]:
    """The axes to reduce, from the front and in order; `dim` has been checked."""
    if dim is None or (not isinstance(dim, int) and not len(dim) and empty_is_all):
        return list(range(rank))
    listed = [dim] if isinstance(dim, int) else dim
    return sorted(axis % rank for axis in listed) if rank else []


def view_of(
    shape: Sequence[int], strides: Sequence[int], axes: Sequence[int], ordered: bool
) -> View | None:
    """The view, or None where it takes too many digits.

    Reduced axes may be walked in any order, by which more of them merge, unless `ordered`.
    """
    kept = [at for at in range(len(shape)) if at not in axes]
    reduced = list(axes) if ordered else sorted(axes, key=lambda at: -strides[at])
    sizes, (steps,) = collapse([shape[at] for at in kept], [[strides[at] for at in kept]])
    lengths, (walks,) = collapse([shape[at] for at in reduced], [[strides[at] for at in reduced]])
    if len(sizes) > MAX_ROW_AXES or len(lengths) > 2:
        return None
    count = 1
    for size in sizes:
        count *= size
    missing = MAX_ROW_AXES - len(sizes)
    padded = [1] * missing + sizes
    outer, inner = ([1] * (2 - len(lengths)) + lengths)[-2:]
    r0, r1 = ([0] * (2 - len(walks)) + walks)[-2:] if walks else (0, 1)
    s0, s1, s2 = [0] * missing + steps
    # Strides of 0 read one address, whichever way they are walked.
    nearest_kept = min((step for step in steps if step > 0), default=2**62)
    nearest_reduced = min((walk for walk in walks if walk > 0), default=2**62)
    return View(
        count, max(1, len(sizes)), padded[1], padded[2], (s0, s1, s2), outer, inner, (r0, r1),
        columns=nearest_kept < nearest_reduced,
        run=padded[2],
        wide=is_wide(shape, [strides]),
    )  # fmt: skip
