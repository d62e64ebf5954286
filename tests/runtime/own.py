"""Manifests of a test's own: text in, registered operators and classes out."""

import itertools
import tempfile
from pathlib import Path

import tileops
from tileops.runtime.op import Op

_counter = itertools.count()


def load(text, *, types="", **references):
    """A registry of the entries in `text`; `references` and classes by entry name."""
    folder = Path(tempfile.mkdtemp())
    (folder / "own.yaml").write_text(text)
    if types:
        (folder / "types.yaml").write_text(types)
    made = [
        item
        if isinstance(item, type)
        else type(name, (Op,), {"reference": staticmethod(item), "__module__": __name__})
        for name, item in references.items()
    ]
    namespace = f"tileops_own_{next(_counter)}"
    return tileops.load_manifest(folder, namespace, made)


def classes(text, *, types="", **references):
    """The classes of the entries in `text`."""
    registry = load(text, types=types, **references)
    return {name: registry.bound(name).op_class for name in references}
