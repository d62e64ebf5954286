"""YAML text -> located, frozen tree (`nodes`), for a whole file or for one entry of it.

In: text and the name to call it by. Out: a `MappingNode`, or findings. A manifest may come from a
stranger, so nothing here trusts it: size, depth, number of nodes and alias expansion are bounded,
tags build no objects, and whatever the text is, the answer is findings and never an exception.
"""

from __future__ import annotations

import re
from pathlib import Path

from yaml.reader import Reader

from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings, Span
from tileops.diagnostics.text import split_lines
from tileops.manifest.fingerprint import MAX_BYTES
from tileops.manifest.nodes import MappingNode, Node, Scalar, ScalarNode, SequenceNode
from tileops.manifest.tree import Stop, TreeBuilder

__all__ = [
    "MappingNode",
    "Node",
    "Scalar",
    "ScalarNode",
    "SequenceNode",
    "parse_entry",
    "parse_text",
    "read_text",
    "split_entries",
]

_KEY_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*) *:(?: |$)")


def read_text(path: Path, file: str, findings: Findings) -> str | None:
    """The text of the file at `path`, called `file` in findings; None when it cannot be had."""
    start = Span(file, 1, 1)
    try:
        if not path.is_file():
            # A pipe or a device may never end.
            findings.add(
                codes.UNREADABLE_FILE,
                start,
                "a manifest must be a regular file, got something else",
            )
            return None
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        findings.add(codes.UNREADABLE_FILE, start, f"the file must be readable, got: {reason}")
        return None
    if len(data) > MAX_BYTES:
        message = f"a manifest file must have at most {MAX_BYTES} bytes, got more"
        findings.add(codes.FILE_TOO_LARGE, start, message)
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = split_lines(data[: error.start].decode("utf-8", "replace"))
        span = Span(file, len(before), len(before[-1]) + 1)
        message = f"a manifest file must be UTF-8 text, got the byte 0x{data[error.start]:02x}"
        findings.add(codes.NOT_UTF8, span, message)
        return None


def parse_text(
    text: str, file: str, findings: Findings, *, first_line: int = 1
) -> MappingNode | None:
    """The mapping that `text` holds, or None with the reason among the findings.

    `first_line` is the number of the text's first line in `file`. A tree comes back although there
    are findings when those concern only parts of it (a duplicate key, an unknown tag).
    """
    start = Span(file, first_line, 1)
    if len(text) > MAX_BYTES:
        findings.add(
            codes.FILE_TOO_LARGE,
            start,
            f"the text must have at most {MAX_BYTES} bytes of YAML, got more",
        )
        return None
    text = text.removeprefix("\ufeff")
    builder = TreeBuilder(text, file, first_line, findings)
    if (odd := Reader.NON_PRINTABLE.search(text)) is not None:
        span = builder.offset_span(odd.start())
        findings.add(
            codes.YAML_SYNTAX,
            span,
            f"the text must consist of printable characters, got {odd.group()!r}",
        )
        return None
    try:
        root = builder.build()
    except Stop:
        return None
    if isinstance(root, MappingNode) and root.entries:
        return root
    if len(findings) == builder.findings_before:
        found = {ScalarNode: "a scalar", SequenceNode: "a sequence"}
        got = "nothing" if root is None else found.get(type(root), "an empty mapping")
        if isinstance(root, ScalarNode) and root.value is None:
            got = "nothing"
        span = start if root is None else root.span
        findings.add(codes.NOT_A_MAPPING, span, f"the file must hold a mapping, got {got}")
    return None


def split_entries(text: str) -> dict[str, tuple[int, int]] | None:
    """The lines of each top-level entry, name -> (first line, last line), without parsing YAML.

    None when the text is anything but a flat mapping of plainly written names; then only parsing
    it whole tells what it holds. A multi-line string can look like entries that are none: which
    names are entries is for `parse_text` to say, this finds the lines of one that is known.
    """
    starts: list[tuple[str, int]] = []
    lines = split_lines(text.removeprefix("\ufeff"))
    for number, line in enumerate(lines, start=1):
        if not line or line[0] in " #" or not line.strip():
            continue
        match = _KEY_LINE.match(line)
        if match is None:
            return None
        starts.append((match.group(1), number))
    ends = [number - 1 for _, number in starts[1:]] + [len(lines)]
    index = {name: (first, last) for (name, first), last in zip(starts, ends, strict=False)}
    return index if len(index) == len(starts) else None


def parse_entry(
    text: str, file: str, name: str, lines: tuple[int, int], findings: Findings
) -> tuple[ScalarNode, Node] | None:
    """One entry of a file, parsed alone at the lines that `split_entries` gave."""
    first, last = lines
    part = "\n".join(split_lines(text.removeprefix("\ufeff"))[first - 1 : last])
    alone = Findings()
    tree = parse_text(part, file, alone, first_line=first)
    if alone.errors:
        # The part may lean on the rest of the file, through an anchor or a multi-line string.
        whole = Findings()
        if (whole_tree := parse_text(text, file, whole)) is not None and not whole.errors:
            tree, alone = whole_tree, whole
    findings.items.extend(alone.items)
    if tree is None:
        return None
    return next((entry for entry in tree.entries if entry[0].value == name), None)
