"""The code of an entry, found without guessing: the module of its family and its class.

In: an entry, and the package that the caller named, else `tileops.<family>`. Out: modules and
classes, or `NoCode`. A package of one's own holds its classes itself or in `package.<family>`.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from tileops.manifest.fingerprint import content_fingerprint
from tileops.validator.model import Subject

#: The namespace of a manifest that no package has registered.
NAMESPACE = "tileops_validated"


def register_operators() -> None:
    """Has the shipped operators registered, also in a process that is static."""
    from tileops.runtime.shipped import registered

    registered()


class NoCode(Exception):
    """An implemented entry whose code cannot be had, with the reason."""


def family_module(family: str, package: str = "") -> ModuleType:
    """The module that holds the classes of a family. Raises `NoCode`."""
    name = f"{package or 'tileops'}.{family}"
    try:
        if package:
            found = importlib.import_module(package)
            if not family or not _is_package(found) or importlib.util.find_spec(name) is None:
                return found
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise NoCode(f"{name} cannot be imported: {reason}") from None


def _is_package(module: ModuleType) -> bool:
    return hasattr(module, "__path__")


def op_class(subject: Subject) -> type:
    """The class of the entry, with operators to call. Raises `NoCode`."""
    module = family_module(subject.family, subject.options.package)
    found: type = _class_of(module, subject.entry.op, subject.manifest.folder)
    return found


def _class_of(module: ModuleType, op: str, folder: Path) -> Any:
    from tileops.runtime.op import Op

    found = getattr(module, op, None)
    if not isinstance(found, type):
        raise NoCode(f"{module.__name__} has no class {op}")
    if not issubclass(found, Op):
        raise NoCode(f"{module.__name__}.{op} is no tileops.runtime.op.Op")
    if found.registry is None and not found.has_entry():
        _adopt(found, op, folder)
    return found


def _adopt(found: Any, op: str, folder: Path) -> None:
    """Gives a class the operators that the folder declares."""
    registry, classes = _registered(folder)
    classes[op] = found
    found.registry = registry


def class_or_none(subject: Subject) -> type | None:
    """The class, or None where another rule has said why there is none."""
    try:
        found = op_class(subject)
    except NoCode:
        return None
    return found if found.__name__ == subject.entry.op else None


def class_in(folder: Path, package: str, op: str) -> Any:
    """The class of an entry of a folder, its operators those that the folder declares."""
    header = next(item for item in _headers(folder) if item.op == op)
    found = _class_of(family_module(header.family, package), op, folder)
    if found.registry is None or found.registry.fingerprint != content_fingerprint(folder):
        _adopt(found, op, folder)
    return found


@functools.cache
def _registered(folder: Path) -> tuple[Any, dict[str, type]]:
    """The folder's operators, and the classes of its entries, which are found one by one."""
    from tileops.runtime import shipped

    classes: dict[str, type] = {}
    return shipped.registry_of(folder, NAMESPACE, classes), classes


@functools.cache
def _headers(folder: Path) -> Any:
    from tileops.codegen.catalog import load_catalog

    return load_catalog(folder).headers
