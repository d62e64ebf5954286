"""A manifest folder as headers to register, and as operators built one at a time.

In: a folder. Out: a `Catalog`. Headers and the lines of every entry are kept in the import cache,
so that a process parses only the entries it calls; `build_catalog` makes them. The manifest
language is imported where it is needed and not before: a warm import does without it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tileops.codegen.model import Header, Operator, OverloadHeader
from tileops.manifest.cache import Json, read_cache, write_cache
from tileops.manifest.fingerprint import fingerprint

if TYPE_CHECKING:
    from tileops.manifest.adt import ADT
    from tileops.manifest.signature.model import Signature
    from tileops.manifest.signature.steps import Plan


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
    adts: dict[str, ADT] | None = field(default=None, repr=False)

    def signature(self, op: str) -> tuple[Signature, Plan]:
        """The checked and planned entry. Raises `EntryError`."""
        from tileops.codegen.build_catalog import read_signature

        return read_signature(self, op)

    def operator(self, op: str) -> Operator:
        """The operator of an entry. Raises `EntryError`."""
        from tileops.codegen.build_catalog import read_operator

        return read_operator(self, op)


def load_catalog(folder: Path) -> Catalog:
    """The catalog of a folder, from the cache when nothing has changed."""
    key = f"catalog-{fingerprint(folder)}"
    found = _from_json(folder, read_cache(key))
    if found is not None:
        return found
    from tileops.codegen.build_catalog import build_catalog

    catalog = build_catalog(folder)
    write_cache(key, _to_json(catalog))
    return catalog


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
