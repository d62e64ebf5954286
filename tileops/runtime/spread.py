"""Parameters that no single argument carries: ADTs, unions with literals, and objects.

In: an operator, and the arguments of a call. Out: the parameter as reference and launchers take it:
an ADT as an object of the class that types.yaml names, a union as its one value, an object as the
class holds it.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tileops.codegen.model import Argument, Operator
from tileops.manifest.adt import ADT, ADTValue, Constructor
from tileops.manifest.signature.model import MISSING, Param

Gather = Callable[..., Any]

#: The objects that a class holds while its operator runs, by entry and parameter.
_given: ContextVar[Mapping[tuple[str, str], Any] | None] = ContextVar(
    "tileops_objects", default=None
)


def gatherers(operator: Operator) -> dict[str, tuple[tuple[str, ...], Gather]]:
    """By parameter: the arguments that it is made of, and the function that makes it."""
    parts: dict[str, list[Argument]] = {}
    for argument in operator.arguments:
        if argument.part:
            parts.setdefault(argument.param, []).append(argument)
    found = {
        name: (tuple(item.name for item in arguments), _gather(operator, name, arguments))
        for name, arguments in parts.items()
    }
    for name, default in objects(operator).items():
        found[name] = ((), functools.partial(_object, (operator.header.op, name), default))
    return found


def objects(operator: Operator) -> dict[str, Any]:
    """The parameters that the operator leaves out, with their defaults."""
    carried = {argument.param for argument in operator.arguments}
    params = () if operator.signature is None else operator.signature.params
    return {param.name: param.default for param in params if param.name not in carried}


@contextmanager
def giving(held: Mapping[tuple[str, str], Any]) -> Iterator[None]:
    """Calls inside find these objects."""
    token = _given.set({**given(), **held})
    try:
        yield
    finally:
        _given.reset(token)


def given() -> Mapping[tuple[str, str], Any]:
    """The objects that calls find here, for a backward that runs elsewhere."""
    return _given.get() or {}


def _object(key: tuple[str, str], default: Any) -> Any:
    return given().get(key, default)


def _gather(operator: Operator, name: str, arguments: list[Argument]) -> Gather:
    param = operator.signature.param(name)
    assert param is not None
    if arguments[0].part == "plain":
        return functools.partial(_one_of, _default(param))
    kind = getattr(param.kind, "item", param.kind)
    adt = operator.signature.adts[kind.name]
    return functools.partial(_adt_object, adt, tuple(item.part[1:] for item in arguments[1:]))


def _default(param: Param) -> Any:
    """The default in the form in which the class passes a value."""
    value = None if param.default is MISSING else param.default
    return (value,) if type(value) is int and "[" in str(param.type) else value


def _one_of(default: Any, plain: Any, word: str | None) -> Any:
    if word is not None:
        return word
    return default if plain is None else plain


def _adt_object(adt: ADT, names: tuple[str, ...], kind: str | None, *values: Any) -> Any:
    if kind is None:
        return None
    constructor = adt.constructor(kind)
    assert constructor is not None
    own = {
        name: value for name, value in zip(names, values, strict=True) if name in constructor.fields
    }
    return python_value(constructor, own)


def python_value(constructor: Constructor, fields: Mapping[str, Any]) -> Any:
    """An object of the class that the constructor names; an ADTValue where it is not importable."""
    found = _imported(constructor.python)
    if found is None:
        return ADTValue(constructor.name, fields)
    made = {}
    for name, value in fields.items():
        enum = _imported(constructor.enums[name]) if name in constructor.enums else None
        made[name] = value if enum is None else enum(value)
    return found(**made)


@functools.cache
def _imported(path: str) -> Any:
    """A class by its dotted path, None when nothing is there."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        # A module that is there and fails to import something else is its author's to see.
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        return None
