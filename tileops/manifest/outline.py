"""What a manifest declares, read no further than the names: for listing and looking up.

In: a folder. Out: one `OutlineEntry` per entry, in the order of files and lines, and the findings
of what could not be read that far. Whether an entry holds up is not asked here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tileops.diagnostics.model import Findings, Span
from tileops.manifest.files import ManifestFile, display_name, family_files
from tileops.manifest.naming import operator_name
from tileops.manifest.nodes import MappingNode, Node, ScalarNode
from tileops.manifest.source import parse_text, read_text


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """One entry; `family`, `status` and `operator` are empty where the entry does not give them."""

    op: str
    family: str
    status: str
    operator: str
    path: Path
    span: Span


def outline(folder: Path, findings: Findings) -> tuple[OutlineEntry, ...]:
    """Every entry under a name in the files of `folder`."""
    files = family_files(folder, findings)
    return tuple(entry for file in files for entry in _entries(file, findings))


def _entries(file: ManifestFile, findings: Findings) -> Iterator[OutlineEntry]:
    shown = display_name(file.path)
    text = read_text(file.path, shown, findings)
    tree = None if text is None else parse_text(text, shown, findings)
    for key, node in () if tree is None else tree.entries:
        if not isinstance(key.value, str):
            continue
        family, status = _text(node, "family"), _text(node, "status")
        operator = operator_name(key.value, family) if family else ""
        yield OutlineEntry(key.value, family, status, operator, file.path, key.span)


def _text(node: Node, field: str) -> str:
    value = node.get(field) if isinstance(node, MappingNode) else None
    return value.value if isinstance(value, ScalarNode) and isinstance(value.value, str) else ""
