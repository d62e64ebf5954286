"""Result lines as what a page or a comparison is made of.

In: files of JSON lines, or folders of them. Out: for each benchmark the newest line of each case,
among those of one code, one set of versions and one machine: the ones of its last line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.case import Values
from benchmarks.results import ResultFile

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Measured:
    """One benchmark; `failed` says why cases without values have none, `left_out` counts lines of
    other code or machines."""

    benchmark: str
    lines: dict[str, Line]
    failed: dict[str, str]
    machine: dict[str, Any]
    versions: dict[str, str]
    dates: tuple[str, str]
    left_out: int

    @property
    def values(self) -> dict[str, Values]:
        return {case: line["values"] for case, line in self.lines.items()}

    @property
    def where(self) -> str:
        """Machine, versions and dates, as one sentence."""
        place = self.machine.get("gpu") or self.machine.get("cpu")
        code = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        first, last = (date[:10] for date in self.dates)
        days = first if first == last else f"{first} to {last}"
        return f"{place}, {self.machine.get('cores')} cores, {code}, {days}"


def files_in(paths: Iterable[Path]) -> list[Path]:
    """The files that the paths name; a folder stands for its JSON lines."""
    found: list[Path] = []
    for path in paths:
        found += sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    return found


def read(paths: Iterable[Path]) -> dict[str, Measured]:
    """Every benchmark in the files, by name. Raises FileNotFoundError for a file that is none."""
    lines: dict[str, list[Line]] = {}
    for path in files_in(paths):
        if not path.exists():
            raise FileNotFoundError(f"there is no file {path}")
        for line in ResultFile(path).lines():
            if line.keys() >= {"benchmark", "machine", "versions"}:
                lines.setdefault(line["benchmark"], []).append(line)
    return {name: _measured(name, items) for name, items in lines.items()}


def _measured(name: str, lines: Sequence[Line]) -> Measured:
    last = max(lines, key=lambda line: line.get("date", ""))
    same = [line for line in lines if _kind(line) == _kind(last)]
    chosen: dict[str, Line] = {}
    failed: dict[str, str] = {}
    for line in sorted(same, key=lambda item: item.get("date", "")):
        case = line["case"]
        if "values" in line:
            chosen[case] = line
            failed.pop(case, None)
        elif "failed" in line:
            failed[case] = line["failed"]
            chosen.pop(case, None)
    dates = [line.get("date", "") for line in same]
    return Measured(
        name, chosen, failed, last["machine"], last["versions"],
        (min(dates), max(dates)), len(lines) - len(same),
    )  # fmt: skip


def _kind(line: Line) -> tuple[Any, Any]:
    return line["machine"], line["versions"]
