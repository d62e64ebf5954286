"""How far a figure may move without meaning anything, from the repeats of its measurement.

In: repeated times of one or two forms; the less the better. Out: medians, bands, and whether a
difference is one. A band is relative: 0.02 stands for two per cent up or down.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: How often everything is measured, the forms in turn.
REPEATS = 5
#: Below this nothing counts: clocks and placement in memory move a figure as much from day to day.
LEAST_BAND = 0.01
#: The band of a figure that was measured once, which says nothing about its spread.
ASSUMED_BAND = 0.10


@dataclass(frozen=True, slots=True)
class Figure:
    """A median with its band."""

    median: float
    band: float

    @property
    def tie(self) -> bool:
        """Whether a ratio is 1 as far as one can tell."""
        return abs(self.median - 1.0) <= self.band

    @property
    def counted(self) -> float:
        """The ratio as it enters a mean: a tie is 1."""
        return 1.0 if self.tie else self.median


def figure(repeats: Sequence[float]) -> Figure:
    """The median of repeats, and half of what they span as the band."""
    middle = statistics.median(repeats)
    if len(repeats) < 2:
        return Figure(middle, ASSUMED_BAND)
    span = (max(repeats) - min(repeats)) / (2 * middle) if middle else 0.0
    return Figure(middle, max(LEAST_BAND, span))


def ratio(over: Sequence[float], under: Sequence[float]) -> Figure:
    """`over` to `under`, repeat by repeat where both have as many: what slows one slows the other.

    Without pairs the bands add up.
    """
    if len(over) == len(under) > 1:
        return figure([a / b for a, b in zip(over, under, strict=True)])
    above, below = figure(over), figure(under)
    return Figure(above.median / below.median, above.band + below.band)


def change(before: Sequence[float], after: Sequence[float]) -> Figure:
    """After to before, of two runs: never paired, so that the bands add up."""
    old, new = figure(before), figure(after)
    return Figure(new.median / old.median, old.band + new.band)


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Of those that are there."""
    logs = [math.log(value) for value in values if value]
    return math.exp(sum(logs) / len(logs)) if logs else None
