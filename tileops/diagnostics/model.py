"""What a finding is: where it stands, which rule it breaks, and one sentence that says so.

In: nothing. Out: `Span`, `Code`, `Diagnostic` and the `Findings` collector that every stage writes
to. Renderers live beside this file; the one table of codes is `codes.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum


class Severity(Enum):
    ERROR = "error"
    ADVISORY = "advisory"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A place in a text file; `line` and `column` count from 1, `length` is in characters."""

    file: str
    line: int
    column: int
    length: int = 1

    def shifted(self, offset: int, length: int = 1) -> Span:
        """The place `offset` characters further on the same line."""
        return Span(self.file, self.line, self.column + offset, length)


@dataclass(frozen=True, slots=True)
class Code:
    """One row of the table of codes; `id` is never reused."""

    id: str
    name: str
    severity: Severity
    summary: str


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that explains the first."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `op` and `field` are empty where a finding belongs to none."""

    code: Code
    span: Span
    message: str
    op: str = ""
    field: str = ""
    labels: tuple[Label, ...] = ()
    help: str = ""

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """The published order: file, line, column, code (the message settles what is left)."""
        return (self.span.file, self.span.line, self.span.column, self.code.id, self.message)


#: What a manifest writes may be long; what is said of it is not.
MAX_MESSAGE = 1000


@dataclass(slots=True)
class Findings:
    """Collects diagnostics, so that one bad entry never hides another."""

    items: list[Diagnostic] = field(default_factory=list)

    def add(
        self,
        code: Code,
        span: Span,
        message: str,
        *,
        op: str = "",
        field: str = "",
        labels: tuple[Label, ...] = (),
        help: str = "",
    ) -> None:
        if len(message) > MAX_MESSAGE:
            message = message[: MAX_MESSAGE - 3] + "..."
        self.items.append(Diagnostic(code, span, message, op, field, labels, help))

    @property
    def errors(self) -> int:
        return sum(item.code.severity is Severity.ERROR for item in self.items)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(sorted(self.items, key=lambda item: item.sort_key))

    def __len__(self) -> int:
        return len(self.items)
