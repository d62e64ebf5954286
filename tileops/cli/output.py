"""How verbs write: to standard output, in tables, and with colour where that shows."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TextIO


def write(text: str) -> None:
    """Writes to standard output, a line at a time.

    Under PYTHONUNBUFFERED a write that a pipe takes only in part loses the rest without an error
    (seen with Python 3.11 and a reader that left); a line fits.
    """
    for line in text.splitlines(keepends=True):
        sys.stdout.write(line)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Left-aligned columns, two spaces apart, one row a line."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    text = ""
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        text += "  ".join(cells).rstrip() + "\n"
    return text


def shows_color(stream: TextIO) -> bool:
    """Whether to colour what goes to `stream`; NO_COLOR (no-color.org) is heeded."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def progress(verb: str, what: str) -> Callable[[int, int, str], None]:
    """A line on stderr, once a run takes more than a second, rewritten on a terminal."""
    start = last = time.monotonic()
    terminal = sys.stderr.isatty()
    pause = 0.2 if terminal else 10.0

    def show(done: int, total: int, at: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - start < 1.0 or now - last < pause:
            return
        last = now
        end = "\r" if terminal else "\n"
        sys.stderr.write(f"{verb}: {done} of {total} {what}, at {at:40}{end}")
        sys.stderr.flush()

    return show
