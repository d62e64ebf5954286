"""Metadata of a grouped row layout: generated for evenly split rows, and judged.

In: a layout (an ADT value or the Python object it stands for), rows, experts. Out: the metadata of
that layout, or whether given metadata are valid for it. `contiguous` rows follow each other,
`tight` or `aligned` to tiles; `masked` rows have `max_m` places for each expert.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from itertools import accumulate, chain, islice
from operator import le
from typing import Any

from tileops.manifest.language.arrays import Builder
from tileops.manifest.language.functions import adt_field, balanced_sizes
from tileops.manifest.language.symbolic import DomainError


def metadata_shape(layout: Any, rows: int, experts: int) -> tuple[int, ...]:
    """The shape of the metadata; raises where the rows do not fit the layout."""
    if experts <= 0 or rows < 0:
        raise DomainError(
            f"a layout must have experts and no negative number of rows, got {experts} and {rows}"
        )
    if adt_field(layout, "kind") == "masked":
        max_m = adt_field(layout, "max_m")
        if rows != experts * max_m:
            raise DomainError(f"masked rows must be {experts} * {max_m}, got {rows}")
        return (experts,)
    alignment = adt_field(layout, "alignment")
    if adt_field(layout, "packing") == "aligned" and (alignment < 1 or rows % alignment):
        raise DomainError(f"aligned rows must come in tiles of {alignment}, got {rows}")
    return (rows,) if adt_field(layout, "metadata_kind") == "per_row" else (experts,)


def metadata(build: Builder, layout: Any, rows: int, experts: int) -> array[int]:
    """Metadata for rows split as evenly as the layout allows."""
    if adt_field(layout, "kind") == "masked":
        max_m = adt_field(layout, "max_m")
        return build.of(max_m if expert % 2 == 0 else max_m // 2 for expert in range(experts))
    aligned = adt_field(layout, "packing") == "aligned"
    tile = adt_field(layout, "alignment") if aligned else 1
    sizes = [count * tile for count in balanced_sizes(rows // tile, experts)]
    if adt_field(layout, "metadata_kind") == "per_row":
        result = build.of()
        for expert, size in enumerate(sizes):
            result.extend(build.constant(expert, size))
        return result
    ends = accumulate(sizes)
    if not aligned:
        return build.of(ends)
    # The last tile of an expert is filled by half, so that padding is met.
    return build.of(end - tile // 2 if size else end for end, size in zip(ends, sizes, strict=True))


def routed_shape(layout: Any, experts: int, tokens: int) -> tuple[int, ...]:
    if adt_field(layout, "kind") != "masked":
        raise DomainError(f"the layout must be masked, got {adt_field(layout, 'kind')}")
    if experts <= 0 or tokens < 0:
        raise DomainError(
            f"routing needs experts and no negative number of tokens, got {experts} and {tokens}"
        )
    return (experts,)


def routed_metadata(build: Builder, layout: Any, experts: int, tokens: int) -> array[int]:
    """Valid rows of each expert when tokens have been routed: some idle, the busy ones uneven."""
    idle = round(experts * math.exp(-tokens / experts))
    resting = {at * experts // idle for at in range(idle)}
    busy = [expert for expert in range(experts) if expert not in resting]
    weights = [2 - at % 2 for at in range(len(busy))]
    whole = sum(weights)
    counts = [0] * experts
    remainders = []
    for expert, weight in zip(busy, weights, strict=True):
        counts[expert], rest = divmod(tokens * weight, whole)
        remainders.append((-rest, expert))
    for _, expert in islice(sorted(remainders), tokens - sum(counts)):
        counts[expert] += 1
    max_m = adt_field(layout, "max_m")
    if max(counts) > max_m:
        raise DomainError(f"an expert must have at most {max_m} rows, got {max(counts)}")
    return build.of(counts)


def valid(data: Sequence[int], layout: Any, rows: int, experts: int) -> bool:
    """Whether the metadata are valid for the layout."""
    if adt_field(layout, "kind") == "masked":
        max_m = adt_field(layout, "max_m")
        return len(data) == experts and rows == experts * max_m and _between(data, 0, max_m)
    aligned = adt_field(layout, "packing") == "aligned"
    tile = adt_field(layout, "alignment") if aligned else 1
    if tile < 1 or rows % tile:
        return False
    if adt_field(layout, "metadata_kind") == "per_row":
        return len(data) == rows and _valid_rows(data, tile, experts, padded=aligned)
    return len(data) == experts and _valid_ends(data, tile, rows, exact=not aligned)


def _between(data: Sequence[int], low: int, high: int) -> bool:
    return not len(data) or (min(data) >= low and max(data) <= high)


def _valid_rows(data: Sequence[int], tile: int, experts: int, *, padded: bool) -> bool:
    """Expert ids in order, one expert a tile; -1 marks padding at the end of a tile."""
    if not padded:
        return _between(data, 0, experts - 1) and all(map(le, data, islice(data, 1, None)))
    last = -1
    for start in range(0, len(data), tile):
        part = data[start : start + tile]
        used = len(part) - sum(map((-1).__eq__, part))
        if used and (set(part[:used]) != {part[0]} or not max(last, 0) <= part[0] < experts):
            return False
        last = part[0] if used else last
    return True


def _valid_ends(data: Sequence[int], tile: int, rows: int, *, exact: bool) -> bool:
    """Ends in order, each expert starting at the tile after the one before it."""
    starts = (-(-end // tile) * tile for end in chain((0,), data))
    last = data[-1] if len(data) else 0
    filled = last == rows if exact else last <= rows
    return filled and all(start <= end for start, end in zip(starts, data, strict=False))


__all__ = [
    "metadata",
    "metadata_shape",
    "routed_metadata",
    "routed_shape",
    "valid",
]
