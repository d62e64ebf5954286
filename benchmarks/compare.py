"""Two sets of result files held against each other: `python -m benchmarks compare A B`.

In: result lines before and after. Out: the figures of ours that moved beyond the bands of both
runs, the worst first; status 1 when one got slower or a case fails now, 2 when nothing can be
compared. `python -m benchmarks baseline` stores what later runs are held against.

Host times are compared as ratios to the form that the lines name, since a loaded machine slows
both; others as times, which only one and the same machine has.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.case import Table, Values
from benchmarks.noise import Figure, change
from benchmarks.report.read import Measured, read

FOLDER = Path(__file__).resolve().parent / "baseline"
_UNITS = re.compile(r"(^|_)(us|ms|s|seconds)$")


@dataclass(frozen=True, slots=True)
class Change:
    """A figure of a case: `figure` is after over before, above 1 slower."""

    benchmark: str
    case: str
    name: str
    figure: Figure

    @property
    def slower(self) -> bool:
        return self.figure.median > 1 + self.figure.band

    @property
    def faster(self) -> bool:
        return self.figure.median < 1 / (1 + self.figure.band)


def figures(values: Values) -> dict[str, list[float]]:
    """The figures of ours, the less the better, with their repeats."""
    repeats = values.get("repeats")
    if not repeats:
        return {
            name: [float(value)]
            for name, value in values.items()
            if _UNITS.search(name) and isinstance(value, int | float) and value > 0
        }
    # Without the word every form is ours; with it maybe none.
    ours = [name for name in values.get("ours", repeats) if name in repeats]
    against = repeats.get(values.get("against"))
    if against is None:
        return {name: list(repeats[name]) for name in ours}
    return {
        f"{name} to {values['against']}": [
            a / b for a, b in zip(repeats[name], against, strict=True)
        ]
        for name in ours
    }


def changes(before: Measured, after: Measured) -> Iterator[Change]:
    """Every figure that both have."""
    same_machine = before.machine == after.machine
    for case in before.lines.keys() & after.lines.keys():
        old, new = before.values[case], after.values[case]
        if not same_machine and "against" not in old:
            continue
        olds, news = figures(old), figures(new)
        for name in olds.keys() & news.keys():
            yield Change(after.benchmark, case, name, change(olds[name], news[name]))


def compare(before: dict[str, Measured], after: dict[str, Measured]) -> tuple[str, int]:
    """What to print, and the exit status."""
    found: list[Change] = []
    notes: list[str] = []
    broken: list[str] = []
    for name in before.keys() & after.keys():
        some = list(changes(before[name], after[name]))
        if not some and before[name].machine != after[name].machine:
            notes.append(f"{name}: times of two machines are not compared")
        found += some
        lost = before[name].lines.keys() - after[name].lines.keys()
        failing = sorted(lost & after[name].failed.keys())
        broken += [f"{name} {case}: {after[name].failed[case]}" for case in failing]
        if left := len(lost) - len(failing):
            notes.append(f"{name}: {left} cases are only in the first")
    if not found and not broken:
        return "\n".join([*notes, "there is nothing that both have"]), 2
    slower = sorted((c for c in found if c.slower), key=lambda c: -c.figure.median)
    faster = sorted((c for c in found if c.faster), key=lambda c: c.figure.median)
    lines = [_table("slower", slower), _table("faster", faster)]
    lines += [f"fails now: {line}" for line in broken]
    lines += notes
    lines.append(
        f"{len(found)} figures compared: {len(slower)} slower, {len(faster)} faster, "
        f"{len(found) - len(slower) - len(faster)} within the band, {len(broken)} cases fail now"
    )
    return "\n".join(line for line in lines if line), 1 if slower or broken else 0


def _table(heading: str, found: Sequence[Change]) -> str:
    if not found:
        return ""
    table = Table((heading, "figure", "after / before", "band"))
    for item in found:
        table.add(f"{item.benchmark} {item.case}", item.name, item.figure.median,
                  f"{item.figure.band:.1%}")  # fmt: skip
    return f"{table}\n"


def main(arguments: list[str]) -> int:
    """`compare [A [B]]`: by default the stored baseline against the results."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks compare",
        description="Shows what got slower from A to B, beyond the noise of both. "
        "Exit status 1 when something did, 2 when there is nothing to compare.",
    )
    for name, letter, default, text in (
        ("before", "A", FOLDER, "a result file or a folder; the stored baseline by default"),
        ("after", "B", results.FOLDER, "another one; the results by default"),
    ):
        parser.add_argument(name, nargs="?", type=Path, default=default, metavar=letter, help=text)
    given = parser.parse_args(arguments)
    try:
        text, status = compare(read([given.before]), read([given.after]))
    except FileNotFoundError as error:
        parser.error(str(error))
    print(text)
    return status


def store(arguments: list[str]) -> int:
    """`baseline [FILES]`: keeps the figures of the newest lines for later comparisons."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks baseline",
        description="Stores the newest results as what `compare` starts from.",
    )
    parser.add_argument("files", nargs="*", type=Path, help="result files or folders")
    parser.add_argument("--to", type=Path, default=FOLDER, metavar="DIR", help="where to")
    given = parser.parse_args(arguments)
    try:
        found = read(given.files or [results.FOLDER])
    except FileNotFoundError as error:
        parser.error(str(error))
    given.to.mkdir(parents=True, exist_ok=True)
    for name, measured in found.items():
        lines = [
            json.dumps({**line, "values": slim(line["values"])}, sort_keys=True)
            for line in measured.lines.values()
        ]
        (given.to / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        print(f"{name}: {len(lines)} cases stored in {given.to}")
    return 0


def slim(values: Values) -> Values:
    """What `figures` reads, in five digits."""
    if "repeats" not in values:
        return {name: _short(items[0]) for name, items in figures(values).items()}
    kept: dict[str, Any] = {key: values[key] for key in ("ours", "against") if key in values}
    wanted = {*values.get("ours", values["repeats"]), values.get("against")}
    kept["repeats"] = {
        name: [_short(item) for item in items]
        for name, items in values["repeats"].items()
        if name in wanted
    }
    return kept


def _short(value: float) -> float:
    return value if value == 0 or not math.isfinite(value) else float(f"{value:.5g}")
