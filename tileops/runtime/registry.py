"""A registry: the operators of one manifest in one namespace.

In: headers, and how to load what a header leaves out. Out: `torch.ops.<namespace>.*`, and what the
command line and the tests list. A registry is an object: a test builds a second one from another
folder in another namespace. The shipped one is the default, by which a class finds its operator.
"""

from __future__ import annotations

import gc
import importlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from tileops.codegen.model import Header, Operator
from tileops.runtime import cache_tag, library
from tileops.runtime.bound import Bound
from tileops.runtime.errors import CallError

_default: Registry | None = None
_registries: list[Registry] = []


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """One entry: `operators` are the qualified names of its overloads."""

    name: str
    family: str
    status: str
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """An entry or a file without an operator, and why."""

    name: str
    reason: str


class Registry:
    """Operators by entry name.

    `load_operator` gives the operator of an entry on its first call; `classes` maps entry names to
    their classes, which are otherwise imported from `tileops.<family>`; `fingerprint` is what the
    manifest's content is known by, for torch's compile caches.
    """

    def __init__(
        self,
        headers: Iterable[Header],
        load_operator: Callable[[str], Operator],
        namespace: str = "tileops",
        classes: Mapping[str, type] | None = None,
        *,
        skipped: Iterable[tuple[str, str]] = (),
        compile_operator: Callable[[Operator], Mapping[str, Any]] | None = None,
        fingerprint: str = "",
    ) -> None:
        self.namespace = namespace
        self.skipped: tuple[Skipped, ...] = tuple(Skipped(*item) for item in skipped)
        self._classes = classes
        self.fingerprint = fingerprint
        self._lock = threading.RLock()
        self._found: dict[str, type | None] = {}
        self._bound = {
            header.op: Bound(
                header,
                namespace,
                partial(load_operator, header.op),
                compile_operator,
                partial(self._class, header),
            )
            for header in headers
        }
        self._registered = False

    def register(self) -> None:
        """Defines every operator; a schema that torch refuses skips its entry, with the reason."""
        with self._lock, uncollected():
            if self._registered:
                return
            for name, bound in list(self._bound.items()):
                try:
                    self._register(bound)
                except (RuntimeError, ValueError) as error:
                    reason = str(error).partition("\n")[0]
                    self.skipped = (*self.skipped, Skipped(name, reason))
                    del self._bound[name]
            self._registered = True
            _registries.append(self)
            schemas = (o.schema for b in self._bound.values() for o in b.header.overloads)
            classes = () if self._classes is None else self._classes.values()
            cache_tag.tag_caches(self.namespace, schemas, self.fingerprint, classes)

    def _register(self, bound: Bound) -> None:
        slots = {
            overload.name: library.Slot(partial(_build, bound, overload.name))
            for overload in bound.header.overloads
        }
        library.register(self.namespace, bound.header, slots)

    @property
    def entries(self) -> tuple[RegistryEntry, ...]:
        """Every registered entry, in manifest order."""
        return tuple(
            RegistryEntry(
                bound.header.op,
                bound.header.family,
                bound.header.status,
                tuple(
                    f"{self.namespace}::{bound.header.operator}"
                    + ("" if overload.name == "default" else f".{overload.name}")
                    for overload in bound.header.overloads
                ),
            )
            for bound in self._bound.values()
        )

    def __contains__(self, name: str) -> bool:
        return name in self._bound

    def bound(self, name: str) -> Bound:
        """The operator of an entry; CallError says why there is none."""
        bound = self._bound.get(name)
        if bound is not None:
            return bound
        for skipped in self.skipped:
            if skipped.name == name:
                raise CallError(f"{name}: its entry was skipped: {skipped.reason}")
        raise CallError(f"{name}: there is no such entry in the manifest")

    def _class(self, header: Header) -> type | None:
        if self._classes is not None:
            return self._classes.get(header.op)
        if header.op not in self._found:
            self._found[header.op] = _import_class(header)
        return self._found[header.op]


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection meanwhile: what loading and registration make stays, and a collection
    walks torch's whole heap (0.1 s of the 0.16 s that 200 operators took)."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _import_class(header: Header) -> type | None:
    module = f"tileops.{header.family}"
    try:
        return getattr(importlib.import_module(module), header.op, None)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None


def _build(bound: Bound, overload: str) -> library.Functions:
    """Imported here, so that registration reads headers and nothing else."""
    from tileops.runtime import adapters

    found = next(item for item in bound.header.overloads if item.name == overload)
    return adapters.build(bound, found)


def registries() -> tuple[Registry, ...]:
    """Every registry of this process, in the order of registration."""
    return tuple(_registries)


def set_default(registry: Registry) -> None:
    """Makes `registry` the one in which classes find their operators."""
    global _default
    _default = registry


def has_default() -> bool:
    """Whether the shipped manifest is registered in this process."""
    return _default is not None


def default() -> Registry:
    """The registry of the shipped manifest."""
    if _default is None:
        importlib.import_module("tileops")
    if _default is None:
        raise CallError("tileops has no operators: its manifest is not registered")
    return _default
