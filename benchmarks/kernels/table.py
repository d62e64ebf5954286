"""The table of kernel rows: worst first, and the geometric mean of each family.

In: values of measure.py by row. Out: text. A ratio above 1 says that ours is faster; judge.py
makes the ratios.
"""

from __future__ import annotations

from collections import Counter

from benchmarks.case import Shown, Table, Values
from benchmarks.kernels import judge
from benchmarks.noise import Figure
from benchmarks.profile.store import Ceiling


def shown(values: dict[str, Values]) -> Shown:
    """Rows, worst first, then families."""
    lines: list[Table | str] = [row_table(values), ""]
    lines += ["geometric means, a tie within the band as 1; above 1 tileops is faster"]
    lines += [family_table(values), "ceilings: " + ", ".join(map(str, ceilings(values)))]
    lines += verdicts(values)
    for name, item in values.items():
        lines += [f"failed: {name}, {what}: {why}" for what, why in item["failures"].items()]
    lines.append(where_time_goes(values))
    return lines


def row_table(values: dict[str, Values]) -> Table:
    """One line for each row."""
    table = Table(
        ("row, worst first", "kernel", "error", "us", "kernel us", "best other", "its us",
         "ratio", "band", "TB/s", "TFLOP/s", "of ceiling", "ceiling")
    )  # fmt: skip
    for name, item in sorted(values.items(), key=lambda pair: judge.order(pair[1])):
        best = judge.best_baseline(item) or ("-", None)
        ratio = judge.against(item)
        error = "WRONG" if item["wrong"] else item["error"]
        table.add(
            name, item["served"], error, item["us"]["tileops"], item["us"].get("kernel"),
            best[0], best[1], None if ratio is None else ratio.median, band(ratio),
            item["bytes_per_s"] / 1e12, item["flops_per_s"] / 1e12,
            f"{item['of_ceiling']:.0%}", item["ceiling"]["name"],
        )  # fmt: skip
    return table


def family_table(values: dict[str, Values]) -> Table:
    """One line for each family, the lowest mean first."""
    table = Table(
        ("family", "rows", "to best other", "band", "to torch.compile", "to eager", "of ceiling",
         f"under {judge.FLAGGED}", f"under {judge.COPY_SHARE:.0%} of copy")
    )  # fmt: skip
    for item in judge.families(values):
        table.add(
            item.name, item.rows, None if item.best is None else item.best.median, band(item.best),
            item.compile, item.eager, item.of_ceiling, item.flagged,
            f"{item.short_of_copy} of {item.large}",
        )  # fmt: skip
    return table


def band(figure: Figure | None) -> str | None:
    """As plus or minus per cent."""
    return None if figure is None else f"{figure.band:.1%}"


def ceilings(values: dict[str, Values]) -> list[Ceiling]:
    """Every ceiling that a fraction here is of."""
    found = {c["name"]: c for item in values.values() for c in item["ceilings"]}
    return [Ceiling(c["name"], c["rate"], c["unit"]) for c in found.values()]


def verdicts(values: dict[str, Values]) -> list[str]:
    """Which rows fall short, by name."""
    lines = []
    wrong = [name for name, item in values.items() if item["wrong"]]
    if wrong:
        lines.append(f"WRONG VALUES: {', '.join(wrong)}")
    slow = {name: item for name, item in values.items() if judge.flagged(item)}
    for name, item in sorted(slow.items(), key=lambda pair: judge.order(pair[1])):
        lines.append(f"under {judge.FLAGGED} of the best other: {name}, {judge.order(item):.2f}")
    for name, item in values.items():
        share = judge.of_copy(item)
        if share is not None and share < judge.COPY_SHARE:
            lines.append(f"under {judge.COPY_SHARE:.0%} of the copy rate: {name}, {share:.0%}")
    return lines


def where_time_goes(values: dict[str, Values]) -> str:
    """Seconds of measuring, by what they went into: the next run's estimate."""
    spent: Counter[str] = Counter()
    for item in values.values():
        spent.update(item.get("seconds", {}))
    total = sum(spent.values())
    if not total:
        return "the measurement's own seconds are not recorded"
    parts = ", ".join(f"{name} {seconds:.0f}" for name, seconds in spent.most_common())
    return f"{total / len(values):.1f} s a row: {parts} s in all"
