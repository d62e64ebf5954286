"""Findings as text for people: one line each, then the source line with a caret.

In: diagnostics and the texts they point into. Out: a string. Both may come from a stranger's
manifest, so control characters are escaped before they reach a terminal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from tileops.diagnostics.model import Diagnostic, Severity, Span

# The line breaks of YAML 1.1, so that line numbers are the parser's.
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_WIDTH = 100
_COLORS = {Severity.ERROR: "\033[1;31m", Severity.ADVISORY: "\033[1;33m"}
_BOLD, _DIM, _RESET = "\033[1m", "\033[36m", "\033[0m"


def split_lines(text: str) -> list[str]:
    """The lines of `text`, without their ends; an empty text has one empty line."""
    return _BREAK.split(text)


def shorten(text: str, limit: int = 60) -> str:
    """`text`, cut where it is too long for a sentence."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def printable(text: str) -> str:
    """`text` with everything a terminal might obey written as an escape."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def render(findings: Iterable[Diagnostic], sources: Mapping[str, str], color: bool = False) -> str:
    """All findings, in the order given; `sources` maps a file of a span to its text."""
    lines = {file: split_lines(text) for file, text in sources.items()}
    return "".join(_render_one(finding, lines, color) for finding in findings)


def _render_one(finding: Diagnostic, sources: Mapping[str, list[str]], color: bool) -> str:
    severity = finding.code.severity
    head = f"{severity.value}[{finding.code.id}]"
    place = _place(finding.span)
    message = printable(finding.message)
    if color:
        head = f"{_COLORS[severity]}{head}{_RESET}"
        place = f"{_BOLD}{place}{_RESET}"
    margin = len(str(max([finding.span.line] + [label.span.line for label in finding.labels])))
    out = [f"{place}: {head} {message}"]
    out += _excerpt(finding.span, sources, margin, "^", color)
    for label in finding.labels:
        out.append(f"{' ' * margin} = {_place(label.span)}: {printable(label.text)}")
        out += _excerpt(label.span, sources, margin, "-", color)
    if finding.help:
        out.append(f"{' ' * margin} = help: {printable(finding.help)}")
    return "\n".join(out) + "\n"


def _place(span: Span) -> str:
    return f"{printable(span.file)}:{span.line}:{span.column}"


def _excerpt(
    span: Span, sources: Mapping[str, list[str]], margin: int, mark: str, color: bool
) -> list[str]:
    """The line of the span and its marks; nothing when the text is not at hand."""
    lines = sources.get(span.file, [])
    if not 1 <= span.line <= len(lines):
        return []
    line, start = lines[span.line - 1], span.column - 1
    first = 0
    if len(line) > _WIDTH:
        first = max(0, min(start - _WIDTH // 4, len(line) - _WIDTH))
    shown, before = line[first : first + _WIDTH].rstrip(), line[first:start]
    marked = line[start : min(start + span.length, first + _WIDTH)]
    carets = mark * max(_columns(marked), 1)
    gutter, empty = f"{span.line:>{margin}} |", " " * margin + " |"
    if color:
        gutter, empty = f"{_DIM}{gutter}{_RESET}", f"{_DIM}{empty}{_RESET}"
        carets = f"{_BOLD}{carets}{_RESET}"
    body = "".join(_cell(char) for char in shown)
    return [f"{gutter} {body}".rstrip(), f"{empty} {' ' * _columns(before)}{carets}"]


def _cell(char: str) -> str:
    return " " if char == "\t" else printable(char)


def _columns(text: str) -> int:
    """How many columns of a terminal `text` takes, as `_excerpt` shows it."""
    return sum(_char_columns(char) for char in text)


def _char_columns(char: str) -> int:
    if char == "\t":
        return 1
    if not char.isprintable():
        return len(_escape(char))
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
