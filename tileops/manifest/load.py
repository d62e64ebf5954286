"""A folder of manifest files, loaded: whole for the validator, entry by entry for a process.

In: a folder. Out: a `Manifest` of decoded entries with their ADTs, findings and source texts, and
`Located.load` for one entry of a file that nothing else of is read. Loading is lenient: what cannot
be read is a finding, and everything else is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings, Label
from tileops.manifest.adt import ADT, ADTTable, decode_adts
from tileops.manifest.decode import decode_entry
from tileops.manifest.entry import Entry
from tileops.manifest.files import TYPES_FILE, ManifestFile, display_name, family_files
from tileops.manifest.naming import operator_name
from tileops.manifest.source import parse_entry, parse_text, read_text


@dataclass(slots=True)
class Manifest:
    """Entries in the order of file and line; `sources` is the text of every file by its name."""

    folder: Path
    adts: dict[str, ADT] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)
    sources: dict[str, str] = field(default_factory=dict)
    by_name: dict[str, Entry] = field(default_factory=dict)
    by_family: dict[str, list[Entry]] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.by_name.setdefault(entry.op, entry)
        family = "" if entry.family is None else entry.family.text
        self.by_family.setdefault(family, []).append(entry)

    def entry(self, op: str) -> Entry | None:
        """The entry of that name, the first where there are several."""
        return self.by_name.get(op)


def load_manifest(folder: Path) -> Manifest:
    """Everything in `folder` that can be read."""
    manifest = Manifest(folder)
    manifest.adts = load_adts(folder, manifest.findings, manifest.sources)
    for file in family_files(folder, manifest.findings):
        for entry in _entries(file, manifest):
            manifest.add(entry)
    _check_distinct(manifest)
    return manifest


def load_adts(
    folder: Path, findings: Findings, sources: dict[str, str] | None = None
) -> dict[str, ADT]:
    """The algebraic data types of `types.yaml`, none when there is no such file."""
    path = folder / TYPES_FILE
    if not path.exists():
        return ADTTable()
    shown = display_name(path)
    text = read_text(path, shown, findings)
    if text is None:
        return ADTTable(unread=True)
    if sources is not None:
        sources[shown] = text
    before = findings.errors
    tree = parse_text(text, shown, findings)
    if tree is None:
        return ADTTable(unread=True)
    if findings.errors > before:
        # A key that stands twice, say: which of the types it spoiled, the tree no longer tells.
        decode_adts(tree, findings)
        return ADTTable(unread=True)
    return decode_adts(tree, findings)


def _entries(file: ManifestFile, manifest: Manifest) -> Iterator[Entry]:
    shown = display_name(file.path)
    text = read_text(file.path, shown, manifest.findings)
    if text is None:
        return
    manifest.sources[shown] = text
    tree = parse_text(text, shown, manifest.findings)
    for key, node in () if tree is None else tree.entries:
        entry = decode_entry(key, node, manifest.findings)
        if entry is not None:
            check_family(entry, file, manifest.findings)
            yield entry


def check_family(entry: Entry, file: ManifestFile, findings: Findings) -> None:
    """Reports an entry that does not belong to its file."""
    if entry.family is not None and not file.admits(entry.family.text):
        findings.add(
            codes.WRONG_FAMILY,
            entry.family.span,
            f"family must be what the name of {file.path.name} gives, got {entry.family}",
            op=entry.op,
            field="family",
        )


def _check_distinct(manifest: Manifest) -> None:
    ops: dict[str, Entry] = {}
    operators: dict[str, Entry] = {}
    for entry in manifest.entries:
        first = ops.setdefault(entry.op, entry)
        if first is not entry:
            manifest.findings.add(
                codes.DUPLICATE_OP,
                entry.name.span,
                f"{entry.op} must be declared once, got a second entry",
                op=entry.op,
                labels=(Label(first.name.span, "first declared here"),),
            )
            continue
        if entry.family is None:
            continue
        operator = operator_name(entry.op, entry.family.text)
        first = operators.setdefault(operator, entry)
        if first is not entry:
            manifest.findings.add(
                codes.SAME_OPERATOR,
                entry.name.span,
                f"{entry.op} must have an operator of its own, got {operator} of {first.op}",
                op=entry.op,
                labels=(Label(first.name.span, "declared here"),),
            )


@dataclass(frozen=True, slots=True)
class Located:
    """Where one entry stands: a file, and the lines it covers there."""

    op: str
    file: ManifestFile
    lines: tuple[int, int]

    def load(self, adts: Mapping[str, ADT], findings: Findings) -> Entry | None:
        """The entry, its part of the file being all that is parsed."""
        shown = display_name(self.file.path)
        text = read_text(self.file.path, shown, findings)
        found = None if text is None else parse_entry(text, shown, self.op, self.lines, findings)
        if found is None:
            return None
        entry = decode_entry(*found, findings)
        if entry is not None:
            check_family(entry, self.file, findings)
        return entry
