"""The operators of a manifest folder, registered with torch.library.

In: a folder and a namespace. Out: a `Registry`. The manifest that ships becomes the default one,
in which the operator classes find their operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tileops.codegen.catalog import Catalog, EntryError, load_catalog
from tileops.codegen.model import Operator
from tileops.manifest.fingerprint import content_fingerprint, spec_folder
from tileops.runtime import registry
from tileops.runtime.errors import CallError

if TYPE_CHECKING:
    from tileops.runtime.op import Op


def registry_of(
    folder: Path, namespace: str, classes: Mapping[str, type] | None = None
) -> registry.Registry:
    """The operators of `folder` as `torch.ops.<namespace>.*`, registered."""
    with registry.uncollected():
        catalog = load_catalog(folder)
        found = registry.Registry(
            catalog.headers,
            _Loader(catalog),
            namespace,
            classes,
            skipped=catalog.skipped,
            fingerprint=content_fingerprint(folder),
        )
        found.register()
    return found


def load_manifest(
    folder: str | Path, namespace: str, classes: Iterable[type[Op]] = ()
) -> registry.Registry:
    """Registers a manifest of your own beside the one that ships.

    Every entry of `folder` becomes `torch.ops.<namespace>.<operator>`, with schema, fake and
    checks. `classes` are `Op` subclasses named like their entries; they carry the implementations.
    An entry without one can be traced but not run. Loading the same manifest again changes nothing.

    Errors: ValueError when the namespace is tileops or no identifier, or a class has no entry.
    """
    if not namespace.isidentifier() or namespace == "tileops":
        raise ValueError(f"namespace must be an identifier other than tileops, got {namespace!r}")
    by_name = {cls.__name__: cls for cls in classes}
    found = registry_of(Path(folder), namespace, by_name)
    for name, cls in by_name.items():
        if name not in found:
            known = {item.name: item.reason for item in found.skipped}
            unread = "; ".join(f"{place}: {why}" for place, why in known.items() if ":" in place)
            reason = known.get(name) or unread or "no file of it names the entry"
            raise ValueError(f"{name} must have an entry in {folder}, got none: {reason}")
        cls.registry = found
    return found


def register() -> registry.Registry:
    """Registers the manifest that ships, once."""
    found = registry_of(spec_folder(), "tileops")
    registry.set_default(found)
    return found


def registered() -> registry.Registry:
    """The shipped registry, registered now if it is not: the console script's process is static."""
    return registry.default() if registry.has_default() else register()


class _Loader:
    """Builds operators on their first call."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def __call__(self, op: str) -> Operator:
        try:
            return self._catalog.operator(op)
        except EntryError as error:
            raise CallError(f"{op}: its entry gives no operator: {error}") from None
