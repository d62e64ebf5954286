"""A manifest folder as headers to register, and as operators built one at a time.

In: a folder. Out: a `Catalog`. The headers and the lines of every entry are kept in the import
cache, so that a process parses only the entries it calls. Loading is lenient: an entry that does
not hold up is skipped with a reason, and hides nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tileops.codegen.generate import generate, generate_header
from tileops.codegen.model import Header, Operator, OverloadHeader
from tileops.codegen.operator_schema import Unschematic
from tileops.diagnostics.codes import NO_TORCH_DTYPE
from tileops.diagnostics.model import Findings, Severity
from tileops.manifest.adt import ADT
from tileops.manifest.cache import Json, read_cache, write_cache
from tileops.manifest.entry import Entry
from tileops.manifest.files import ManifestFile, fingerprint
from tileops.manifest.load import Located, Manifest, load_adts, load_manifest
from tileops.manifest.signature.check import check_entry
from tileops.manifest.signature.model import Signature
from tileops.manifest.signature.plan import build_plan
from tileops.manifest.signature.steps import Plan
from tileops.manifest.source import split_entries


class EntryError(Exception):
    """An entry that gives no operator, with the first reason."""


@dataclass(frozen=True, slots=True)
class Place:
    """The file of an entry and its lines there; (0, 0) when only the whole file tells."""

    stem: str
    lines: tuple[int, int]


@dataclass(slots=True)
class Catalog:
    """Headers in manifest order, what was skipped and why, and where each entry stands."""

    folder: Path
    headers: tuple[Header, ...]
    skipped: tuple[tuple[str, str], ...]
    places: dict[str, Place]
    _adts: dict[str, ADT] | None = None

    def signature(self, op: str) -> tuple[Signature, Plan]:
        """The checked and planned entry. Raises `EntryError`."""
        findings = Findings()
        if self._adts is None:
            self._adts = load_adts(self.folder, findings)
        place = self.places.get(op)
        if place is None:
            raise EntryError(f"{op} is not in the manifest")
        file = ManifestFile(place.stem, self.folder / f"{place.stem}.yaml")
        entry = Located(op, file, place.lines).load(self._adts, findings)
        return planned(entry, self._adts, findings)

    def operator(self, op: str) -> Operator:
        """The operator of an entry. Raises `EntryError`."""
        signature, plan = self.signature(op)
        try:
            return generate(signature, plan)
        except Unschematic as error:
            raise EntryError(str(error)) from None


def planned(
    entry: Entry | None, adts: dict[str, ADT], findings: Findings
) -> tuple[Signature, Plan]:
    """The signature and plan of an entry. Raises `EntryError` with the first finding."""
    if entry is not None:
        signature = check_entry(entry, adts, findings)
        if signature is not None:
            plan = build_plan(signature, findings)
            if plan is not None:
                return signature, plan
    raise EntryError(reason(findings))


def reason(findings: Findings) -> str:
    """The first error, with its place."""
    for finding in findings:
        if finding.code.severity is Severity.ERROR:
            span = finding.span
            return f"{span.file}:{span.line}: {finding.message}"
    return "the entry could not be read"


def load_catalog(folder: Path) -> Catalog:
    """The catalog of a folder, from the cache when nothing has changed."""
    key = f"catalog-{fingerprint(folder)}"
    found = _from_json(folder, read_cache(key))
    if found is not None:
        return found
    catalog = build_catalog(folder)
    write_cache(key, _to_json(catalog))
    return catalog


def build_catalog(folder: Path) -> Catalog:
    """The catalog of a folder, read from its files."""
    manifest = load_manifest(folder)
    skipped: list[tuple[str, str]] = []
    headers: list[Header] = []
    names = [entry.op for entry in manifest.entries]
    operators: dict[str, list[str]] = {}
    for entry in manifest.entries:
        if names.count(entry.op) > 1:
            if entry.op not in {name for name, _ in skipped}:
                skipped.append((entry.op, "its name is declared more than once"))
            continue
        findings = Findings()
        findings.items += [item for item in manifest.findings.items if item.op == entry.op]
        try:
            if findings.errors:
                raise EntryError(reason(findings))
            signature, _ = planned(entry, manifest.adts, findings)
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


# --- the cache ------------------------------------------------------------------------------------


def _to_json(catalog: Catalog) -> Json:
    return {
        "headers": [_plain(asdict(header)) for header in catalog.headers],
        "skipped": [list(item) for item in catalog.skipped],
        "places": {op: [item.stem, *item.lines] for op, item in catalog.places.items()},
    }


def _plain(value: Any) -> Json:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    assert value is None or isinstance(value, bool | int | str)
    return value


def _from_json(folder: Path, value: Any) -> Catalog | None:
    """A cached catalog; None when the value is not one."""
    try:
        headers = tuple(_header_from(item) for item in value["headers"])
        skipped = tuple((str(name), str(why)) for name, why in value["skipped"])
        places = {
            str(op): Place(str(stem), (int(first), int(last)))
            for op, (stem, first, last) in value["places"].items()
        }
    except (TypeError, KeyError, ValueError, AttributeError):
        return None
    return Catalog(folder, headers, skipped, places)


def _header_from(item: dict[str, Any]) -> Header:
    overloads = tuple(
        OverloadHeader(o["name"], o["schema"], tuple(o["written"]), tuple(o["returns"]))
        for o in item["overloads"]
    )
    rest = {**item, "overloads": overloads, "contiguous": tuple(item["contiguous"])}
    return Header(**rest)
