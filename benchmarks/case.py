"""What a benchmark is: named cases, each measured by a call, and a table over their values.

In: options from the command line. Out: `Benchmark` objects; runner.py runs them, catalog.py lists
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

#: The values of one case, JSON-able; units end the names: "warm_ms", "ratio".
Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """What a run is asked for: `quick` a tiny subset, `compiling` baselines of torch.compile.

    `workers` processes compile ahead; 0 stands for as many as the machine is good for.
    """

    quick: bool = False
    compiling: bool = True
    workers: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """One measurement. `id` stays the same between runs, which is how a run resumes."""

    id: str
    measure: Callable[[], Values]


@dataclass(slots=True)
class Table:
    """Rows under headings: the first column to the left, numbers to the right."""

    headings: Sequence[str]
    rows: list[Sequence[Any]] = field(default_factory=list)

    def add(self, *cells: Any) -> None:
        self.rows.append(cells)

    def __str__(self) -> str:
        lines = [[str(item) for item in self.headings]]
        lines += [[shown_number(item) for item in row] for row in self.rows]
        widths = [max(len(line[at]) for line in lines) for at in range(len(self.headings))]
        text = []
        for line in lines:
            first, *rest = (
                cell.ljust(width) if at == 0 else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            text.append("  ".join([first, *rest]).rstrip())
        return "\n".join([text[0], "-" * len(text[0]), *text[1:]])

    def markdown(self) -> str:
        """The same as a Markdown table."""
        lines = [self.headings, [":---", *["---:"] * (len(self.headings) - 1)]]
        lines += [[shown_number(item).replace("|", "\\|") for item in row] for row in self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


#: What a benchmark shows: tables, and sentences between them.
Shown = str | Sequence[Table | str]


def text_of(shown: Shown) -> str:
    """For a terminal."""
    return shown if isinstance(shown, str) else "\n".join(map(str, shown))


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A named set of cases. `shown` turns the values of finished cases, by id, into text.

    `by_name_only` leaves it out of a run that names none. `prepare` is given the next `batch` cases
    before the first of them is measured, so that what is slow and measures nothing, compilation,
    may be done in several processes.
    """

    name: str
    summary: str
    cases: Callable[[Options], Iterable[Case]]
    shown: Callable[[dict[str, Values]], Shown]
    needs_gpu: bool = False
    by_name_only: bool = False
    prepare: Callable[[Sequence[Case], Options], None] | None = None
    batch: int = 0


class Unmeasurable(Exception):
    """A case that this machine cannot measure; one sentence."""


class DeviceLost(Exception):
    """A fault after which no case of this process can be measured; one sentence."""


def shown_number(value: Any) -> str:
    """A cell: three significant digits or so, nothing for None."""
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    if value != value:
        return "failed"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
