"""Manifest folder -> catalog, and one entry of it -> operator.

In: a folder, or a catalog and the name of an entry. Out: `Catalog`, `Signature` and `Plan`,
`Operator`. Loading is lenient: an entry that does not hold up is skipped with a reason, and hides
nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tileops.codegen.catalog import Catalog, EntryError, Place
from tileops.codegen.generate import generate, generate_header
from tileops.codegen.model import Header, Operator
from tileops.codegen.schema_types import Unschematic
from tileops.diagnostics.codes import NO_TORCH_DTYPE
from tileops.diagnostics.model import Diagnostic, Findings, Severity
from tileops.manifest.adt import ADT
from tileops.manifest.entry import Entry
from tileops.manifest.files import ManifestFile
from tileops.manifest.load import Located, Manifest, load_adts, load_manifest
from tileops.manifest.signature.check import check_entry
from tileops.manifest.signature.model import Signature
from tileops.manifest.signature.plan import build_plan
from tileops.manifest.signature.steps import Plan
from tileops.manifest.source import split_entries


def read_signature(catalog: Catalog, op: str) -> tuple[Signature, Plan]:
    """The checked and planned entry. Raises `EntryError`."""
    findings = Findings()
    if catalog.adts is None:
        catalog.adts = load_adts(catalog.folder, findings)
    place = catalog.places.get(op)
    if place is None:
        raise EntryError(f"{op} is not in the manifest")
    file = ManifestFile(place.stem, catalog.folder / f"{place.stem}.yaml")
    entry = Located(op, file, place.lines).load(catalog.adts, findings)
    return planned(entry, catalog.adts, findings)


def read_operator(catalog: Catalog, op: str) -> Operator:
    """The operator of an entry. Raises `EntryError`."""
    signature, plan = read_signature(catalog, op)
    try:
        return generate(signature, plan)
    except Unschematic as error:
        raise EntryError(str(error)) from None


def planned(
    entry: Entry | None, adts: dict[str, ADT], findings: Findings
) -> tuple[Signature, Plan]:
    """The signature and plan of an entry. Raises `EntryError` with the first finding."""
    signature = checked(entry, adts, findings)
    plan = build_plan(signature, findings)
    if plan is None:
        raise EntryError(reason(findings))
    return signature, plan


def checked(entry: Entry | None, adts: dict[str, ADT], findings: Findings) -> Signature:
    """The signature of an entry. Raises `EntryError` with the first finding."""
    signature = None if entry is None else check_entry(entry, adts, findings)
    if signature is None:
        raise EntryError(reason(findings))
    return signature


def reason(findings: Findings) -> str:
    """The first error, with its place."""
    for finding in findings:
        if finding.code.severity is Severity.ERROR:
            span = finding.span
            return f"{span.file}:{span.line}: {finding.message}"
    return "the entry could not be read"


def build_catalog(folder: Path) -> Catalog:
    """The catalog of a folder, read from its files.

    Entries are checked and not planned: a header needs no plan, and plans are almost half of the
    work. An entry without one is registered, and its first call gives the reason.
    """
    manifest = load_manifest(folder)
    skipped: list[tuple[str, str]] = []
    headers: list[Header] = []
    names = Counter(entry.op for entry in manifest.entries)
    found: dict[str, list[Diagnostic]] = {}
    for finding in manifest.findings.items:
        found.setdefault(finding.op, []).append(finding)
    operators: dict[str, list[str]] = {}
    for entry in manifest.entries:
        if names[entry.op] > 1:
            if entry.op not in {name for name, _ in skipped}:
                skipped.append((entry.op, "its name is declared more than once"))
            continue
        findings = Findings()
        findings.items += found.get(entry.op, [])
        try:
            if findings.errors:
                raise EntryError(reason(findings))
            signature = checked(entry, manifest.adts, findings)
            headers.append(_header(signature, findings))
        except EntryError as error:
            skipped.append((entry.op, str(error)))
            continue
        operators.setdefault(headers[-1].operator, []).append(entry.op)
    shared = {op for ops in operators.values() if len(ops) > 1 for op in ops}
    skipped += [(op, "another entry has the same operator") for op in sorted(shared)]
    skipped += list(_unread(manifest))
    kept = tuple(header for header in headers if header.op not in shared)
    return Catalog(folder, kept, tuple(skipped), _places(manifest, {header.op for header in kept}))


def _header(signature: Signature, findings: Findings) -> Header:
    for finding in findings:
        if finding.code is NO_TORCH_DTYPE:
            raise EntryError(finding.message)
    try:
        return generate_header(signature)
    except Unschematic as error:
        raise EntryError(str(error)) from None


def _unread(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Files and parts of files that gave no entry."""
    for finding in manifest.findings:
        if finding.code.severity is Severity.ERROR and not finding.op:
            yield f"{finding.span.file}:{finding.span.line}", finding.message


def _places(manifest: Manifest, kept: set[str]) -> dict[str, Place]:
    lines = {name: split_entries(text) or {} for name, text in manifest.sources.items()}
    places = {}
    for entry in manifest.entries:
        if entry.op in kept:
            file = entry.name.span.file
            places[entry.op] = Place(Path(file).stem, lines[file].get(entry.op, (0, 0)))
    return places
