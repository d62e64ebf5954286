"""What the figures of a kernel row say: against the fastest baseline, and against the ceiling.

In: values of measure.py. Out: ratios with bands, and which rows fall short. Above 1 ours is faster.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.case import Values
from benchmarks.noise import LEAST_BAND, Figure, figure, geometric_mean, ratio

OURS = ("tileops", "kernel")
#: Below this ratio to the best baseline a row is flagged.
FLAGGED = 0.8
#: Memory-bound rows that move at least so much are held against that share of the copy rate.
LARGE_BYTES = 64e6
COPY_SHARE = 0.9


def repeats(item: Values, name: str) -> list[float]:
    """The times of a form; a line of one measurement has one."""
    return list(item.get("repeats", {}).get(name) or [item["us"][name]])


def best_baseline(item: Values) -> tuple[str, float] | None:
    """The fastest of what a user would take instead."""
    others = {name: us for name, us in item["us"].items() if name not in OURS}
    return min(others.items(), key=lambda pair: pair[1]) if others else None


def against(item: Values, name: str | None = None) -> Figure | None:
    """Time of a baseline, by default the fastest, over ours."""
    best = best_baseline(item)
    name = name or (None if best is None else best[0])
    if name is None or name not in item["us"]:
        return None
    return ratio(repeats(item, name), repeats(item, "tileops"))


def order(item: Values) -> float:
    """For sorting: the worst first, rows without a baseline last."""
    found = against(item)
    return float("inf") if found is None else found.median


def flagged(item: Values) -> bool:
    """Slower than the best baseline by more than is let pass."""
    found = against(item)
    return found is not None and not found.tie and found.median < FLAGGED


def loses(item: Values) -> bool:
    """Slower than the best baseline, beyond the noise."""
    found = against(item)
    return found is not None and found.counted < 1.0


def of_copy(item: Values) -> float | None:
    """The row's bytes a second by the measured copy's, for large memory-bound rows."""
    ceiling = item.get("ceiling") or {}
    if item["bound"] != "memory" or item["bytes"] < LARGE_BYTES or ceiling.get("name") != "copy":
        return None
    return float(item["bytes_per_s"] / ceiling["rate"])


@dataclass(frozen=True, slots=True)
class Family:
    """The rows of a family in one line; ratios are geometric means over rows with a baseline."""

    name: str
    rows: int
    best: Figure | None
    compile: float | None
    eager: float | None
    of_ceiling: float | None
    flagged: int
    large: int
    short_of_copy: int


def family_of(name: str, items: Sequence[Values]) -> Family:
    """What the rows of a family have in common."""
    shares = [share for share in map(of_copy, items) if share is not None]
    return Family(
        name,
        len(items),
        mean_against(items),
        _mean(against(item, "compile") for item in items),
        _mean(against(item, "eager") for item in items),
        geometric_mean(item["of_ceiling"] for item in items),
        sum(map(flagged, items)),
        len(shares),
        sum(share < COPY_SHARE for share in shares),
    )


def families(values: Mapping[str, Values]) -> list[Family]:
    """Every family, the lowest mean first."""
    names = dict.fromkeys(item["family"] for item in values.values())
    found = [family_of(n, [v for v in values.values() if v["family"] == n]) for n in names]
    return sorted(found, key=lambda item: item.best.median if item.best else float("inf"))


def _mean(ratios: Iterable[Figure | None]) -> float | None:
    return geometric_mean(None if item is None else item.counted for item in ratios)


def mean_against(items: Sequence[Values]) -> Figure | None:
    """The geometric mean over rows against each row's best baseline, a tie counted as 1.

    Its band is what the mean spans when it is taken repeat by repeat.
    """
    ratios = [(item, found) for item in items if (found := against(item)) is not None]
    middle = geometric_mean(found.counted for _, found in ratios)
    if middle is None:
        return None
    least = min(len(repeats(item, "tileops")) for item, _ in ratios)
    if least < 2:
        return Figure(middle, max(found.band for _, found in ratios))
    means = [_mean_of_repeat([item for item, _ in ratios], at) for at in range(least)]
    return Figure(middle, max(LEAST_BAND, figure(means).band))


def _mean_of_repeat(items: Sequence[Values], at: int) -> float:
    found = []
    for item in items:
        best = best_baseline(item)
        assert best is not None
        others = repeats(item, best[0])
        other = others[at] if at < len(others) else statistics.median(others)
        found.append(other / repeats(item, "tileops")[at])
    return geometric_mean(found) or 1.0
