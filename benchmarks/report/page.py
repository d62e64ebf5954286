"""The Markdown page: one section for each benchmark, kernels first and their worst rows first.

In: measured benchmarks (read.py) and a folder. Out: report.md there, and its path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.case import Shown, Table, Values
from benchmarks.catalog import benchmarks
from benchmarks.kernels import judge, table
from benchmarks.report import plots, reasons
from benchmarks.report.read import Measured

_FIRST = ("kernels", "end_to_end", "dispatch")
NO_PLOTS = (
    "There are no plots: matplotlib is not installed (`pip install -e .[bench]` installs it)."
)


def write(found: Mapping[str, Measured], folder: Path) -> Path:
    """Writes page and plots."""
    folder.mkdir(parents=True, exist_ok=True)
    names = sorted(found, key=lambda n: (_FIRST.index(n) if n in _FIRST else len(_FIRST), n))
    parts = ["# Benchmark report"]
    if not plots.available():
        parts.append(NO_PLOTS)
    for name in names:
        parts += _section(found[name], folder)
    path = folder / "report.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def _section(measured: Measured, folder: Path) -> Iterator[str]:
    benchmark = benchmarks().get(measured.benchmark)
    yield f"## {measured.benchmark}"
    if benchmark is not None:
        yield benchmark.summary[0].upper() + benchmark.summary[1:] + "."
    yield f"{measured.where}."
    if measured.left_out:
        yield f"{measured.left_out} lines of other code or machines are left out."
    if measured.benchmark == "kernels" and measured.lines:
        yield from _kernels(measured, folder)
    elif benchmark is not None and measured.lines:
        if (picture := plots.of_benchmark(measured, folder)) is not None:
            yield _picture(*picture)
        yield from _shown(benchmark.shown(measured.values))
    for case, reason in measured.failed.items():
        yield f"Failed: {case}: {reason}"


def _shown(shown: Shown) -> Iterator[str]:
    if isinstance(shown, str):
        yield f"```text\n{shown}\n```"
        return
    for part in shown:
        if isinstance(part, Table):
            yield part.markdown()
        elif part:
            yield part[0].upper() + part[1:] + "."


def _picture(path: Path, text: str) -> str:
    return f"![{text}]({path.name})"


def _kernels(measured: Measured, folder: Path) -> Iterator[str]:
    values = measured.values
    yield (
        "A ratio is the time of the fastest baseline over ours, so that above 1 ours is faster; "
        "means are geometric, and a ratio within its band of 1 counts as 1."
    )
    yield "### Families"
    yield table.family_table(values).markdown()
    yield f"Ceilings, measured on this device: {', '.join(map(str, table.ceilings(values)))}."
    yield "### Losses"
    yield from _losses(values)
    for family in judge.families(values):
        rows = {name: item for name, item in values.items() if item["family"] == family.name}
        yield f"### {family.name}"
        for picture in plots.of_family(family.name, rows, folder):
            yield _picture(*picture)
        yield table.row_table(rows).markdown()
    for line in [*table.verdicts(values), table.where_time_goes(values)]:
        yield line[0].upper() + line[1:] + "."


def _losses(values: Mapping[str, Values]) -> Iterator[str]:
    """Rows that a baseline wins beyond the noise."""
    lost = {name: item for name, item in values.items() if judge.loses(item)}
    if not lost:
        yield "None beyond the noise."
        return
    rows = Table(("row", "us", "won by", "its us", "ratio", "band", "reason"))
    for name, item in sorted(lost.items(), key=lambda pair: judge.order(pair[1])):
        best, ratio = judge.best_baseline(item), judge.against(item)
        assert best is not None and ratio is not None
        rows.add(name, item["us"]["tileops"], best[0], best[1], ratio.median,
                 table.band(ratio), reasons.reason_of(name, item))  # fmt: skip
    yield f"{len(lost)} of {len(values)} rows."
    yield rows.markdown()
