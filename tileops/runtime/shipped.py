"""The operators of a manifest folder, registered with torch.library.

In: a folder and a namespace. Out: a `Registry`. The manifest that ships becomes the default one,
in which the operator classes find their operators.
"""

from __future__ import annotations

from pathlib import Path

from tileops.codegen.catalog import Catalog, EntryError, load_catalog
from tileops.codegen.model import Operator
from tileops.manifest.fingerprint import spec_folder
from tileops.runtime import registry
from tileops.runtime.errors import CallError


def registry_of(folder: Path, namespace: str) -> registry.Registry:
    """The operators of `folder` as `torch.ops.<namespace>.*`, registered."""
    catalog = load_catalog(folder)
    found = registry.Registry(catalog.headers, _Loader(catalog), namespace, skipped=catalog.skipped)
    found.register()
    return found


def register() -> registry.Registry:
    """Registers the manifest that ships, once."""
    found = registry_of(spec_folder(), "tileops")
    registry.set_default(found)
    return found


class _Loader:
    """Builds operators on their first call."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def __call__(self, op: str) -> Operator:
        try:
            return self._catalog.operator(op)
        except EntryError as error:
            raise CallError(f"{op}: its entry gives no operator: {error}") from None
