"""The code of an entry, found without guessing: its family's package and its class."""

from __future__ import annotations

import importlib
from types import ModuleType

from tileops.validator.model import Subject


def register_operators() -> None:
    """Has the shipped operators registered, also in a process that is static."""
    from tileops.runtime import registry, shipped

    if not registry.has_default():
        shipped.register()


class NoCode(Exception):
    """An implemented entry whose code cannot be had, with the reason."""


def family_module(family: str) -> ModuleType:
    """The package `tileops.<family>`. Raises `NoCode`."""
    name = f"tileops.{family}"
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise NoCode(f"{name} cannot be imported: {type(error).__name__}: {error}") from None


def op_class(subject: Subject) -> type:
    """The class of the entry. Raises `NoCode`."""
    module = family_module(subject.family)
    found = getattr(module, subject.entry.op, None)
    if not isinstance(found, type):
        raise NoCode(f"{module.__name__} has no class {subject.entry.op}")
    return found


def class_or_none(subject: Subject) -> type | None:
    """The class, or None where another rule has said why there is none."""
    try:
        found = op_class(subject)
    except NoCode:
        return None
    return found if found.__name__ == subject.entry.op else None
