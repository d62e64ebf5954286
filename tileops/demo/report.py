"""What the demo says: a line when each step begins, and the tables at the end.

In: steps and measurements. Out: text, handed to a function that writes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tileops.demo.compare import Record

__all__ = ["Measured", "Progress", "Speed", "operator_table", "speed_table"]


class Progress:
    """Lines under the time since the beginning."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._start = time.perf_counter()

    def __call__(self, text: str) -> None:
        self._write(f"[{self.seconds:6.1f} s] {text}\n")

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._start


@dataclass(slots=True)
class Measured:
    """One operator's row: nodes in the two graphs, who served it, and the comparison."""

    record: Record
    prefill_nodes: int = 0
    decode_nodes: int = 0
    served: list[str] = field(default_factory=list)


def operator_table(rows: Sequence[Measured]) -> str:
    """Each operator: its implementation, its nodes, its maximum error against plain PyTorch."""
    header = ("operator", "served by", "nodes (prompt + step)", "calls compared", "maximum error")
    cells = [
        (
            row.record.operator,
            ", ".join(row.served) or "inlined by the compiler",
            f"{row.prefill_nodes} + {row.decode_nodes}",
            str(row.record.calls),
            f"{row.record.error:.2g}" + (" !" if row.record.faults else ""),
        )
        for row in rows
    ]
    return _table(header, cells)


@dataclass(frozen=True, slots=True)
class Speed:
    """One model's row; sizes and times of the compiled one's graphs stay empty for the other."""

    name: str
    nodes: str
    compile_seconds: str
    tokens_per_second: float


def speed_table(rows: Sequence[Speed]) -> str:
    """Both models: nodes in the graphs, compile seconds, tokens per second."""
    header = ("model", "graph nodes (prompt + step)", "compile seconds", "tokens per second")
    cells = [
        (row.name, row.nodes, row.compile_seconds, f"{row.tokens_per_second:.1f}") for row in rows
    ]
    return _table(header, cells)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    text = ""
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        text += "  ".join(cells).rstrip() + "\n"
    return text
