"""The table of kernel rows: worst first, and the geometric mean of each family.

In: values of measure.py by row. Out: text. A ratio above 1 says that ours is faster.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from benchmarks.case import Table, Values

OURS = ("tileops", "kernel")


def best_baseline(item: Values) -> tuple[str, float] | None:
    """The fastest of what a user would take instead."""
    others = {name: us for name, us in item["us"].items() if name not in OURS}
    return min(others.items(), key=lambda pair: pair[1]) if others else None


def ratio(item: Values, name: str | None = None) -> float | None:
    """Time of a baseline, by default the fastest, over ours."""
    if name is None:
        best = best_baseline(item)
        return None if best is None else best[1] / item["us"]["tileops"]
    return item["us"][name] / item["us"]["tileops"] if name in item["us"] else None


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Of those that are there."""
    logs = [math.log(value) for value in values if value]
    return math.exp(sum(logs) / len(logs)) if logs else None


def shown(values: dict[str, Values]) -> str:
    """Rows, worst first, then families."""
    rows = Table(
        ("row, worst first", "kernel", "error", "us", "kernel us", "best other", "its us",
         "ratio", "TB/s", "TFLOP/s", "of ceiling", "bound")
    )  # fmt: skip
    for name, item in sorted(values.items(), key=lambda pair: ratio(pair[1]) or math.inf):
        best = best_baseline(item) or ("-", None)
        error = "WRONG" if item["wrong"] else item["error"]
        rows.add(
            name, item["served"], error, item["us"]["tileops"], item["us"].get("kernel"),
            best[0], best[1], ratio(item), item["bytes_per_s"] / 1e12, item["flops_per_s"] / 1e12,
            f"{item['of_ceiling']:.0%}", item["bound"],
        )  # fmt: skip
    families = Table(
        ("family", "rows", "to best other", "to torch.compile", "to eager", "of ceiling")
    )
    for family in dict.fromkeys(item["family"] for item in values.values()):
        items = [item for item in values.values() if item["family"] == family]
        families.add(
            family,
            len(items),
            geometric_mean(map(ratio, items)),
            geometric_mean(ratio(item, "compile") for item in items),
            geometric_mean(ratio(item, "eager") for item in items),
            geometric_mean(item["of_ceiling"] for item in items),
        )
    some = next(iter(values.values()))
    ceilings = [f"copy {some['copy_bytes_per_s'] / 1e12:.2f} TB/s"]
    rates = {item["matmul_dtype"]: item["matmul_flops_per_s"] for item in values.values()}
    ceilings += [f"{name} matmul {rate / 1e12:.0f} TFLOP/s" for name, rate in rates.items()]
    lines = [str(rows), "", "geometric means; a ratio above 1 says that tileops is faster"]
    lines += [str(families), "ceilings: " + ", ".join(ceilings)]
    wrong = [name for name, item in values.items() if item["wrong"]]
    if wrong:
        lines.append(f"WRONG VALUES: {', '.join(wrong)}")
    for name, item in values.items():
        lines += [f"failed: {name}, {what}: {why}" for what, why in item["failures"].items()]
    return "\n".join(lines)
