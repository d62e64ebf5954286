"""Values of parameter types: read from the manifest, and checked when a caller passes them.

In: a type and a node, or a type and a Python value. Out: the value that the type denotes, or
`ValueError` with what it must be. A list type gives a list, a tuple type a tuple, a dtype its name,
an ADT type an `ADTValue`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tileops.diagnostics.text import shorten
from tileops.manifest.adt import ADT, ADTValue
from tileops.manifest.dtypes import DTYPES
from tileops.manifest.language.evaluate import evaluate
from tileops.manifest.language.functions import adt_field
from tileops.manifest.language.kinds import INT, BoolKind, DimKind, EnumKind, IntKind, Kind
from tileops.manifest.language.symbolic import DomainError
from tileops.manifest.language.types import (
    ADTType,
    DTypeType,
    ListType,
    LiteralType,
    ParamType,
    TupleType,
    UnionType,
    WordType,
)
from tileops.manifest.nodes import MappingNode, Node, ScalarNode, SequenceNode

#: A float that YAML 1.1 reads as text because it has no point.
_EXPONENT = re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+")


def plain(node: Node) -> Any:
    """The Python value of a node: scalars, lists and dicts."""
    match node:
        case ScalarNode(value=str(text), plain=True) if _EXPONENT.fullmatch(text):
            return float(text)
        case ScalarNode(value=value):
            return value
        case SequenceNode(items=items):
            return [plain(item) for item in items]
        case MappingNode(entries=entries):
            return {key.value: plain(value) for key, value in entries}


def read_value(node: Node, type_: ParamType, adts: Mapping[str, ADT]) -> Any:
    """The value of `type_` that a node writes. Raises ValueError."""
    return convert(plain(node), type_, adts)


def convert(value: Any, type_: ParamType, adts: Mapping[str, ADT]) -> Any:
    """A manifest value as the value its type declares. Raises ValueError."""
    match type_:
        case UnionType(members=members):
            for member in members:
                try:
                    return convert(value, member, adts)
                except ValueError:
                    continue
        case LiteralType(value=literal):
            if isinstance(value, str) and value == literal:
                return value
        case DTypeType(name=name):
            if value == name:
                return name
        case ListType(item=item):
            if isinstance(value, list | tuple):
                return [convert(part, item, adts) for part in value]
        case TupleType(items=items, variadic=variadic):
            if isinstance(value, list | tuple) and (variadic or len(value) == len(items)):
                kinds = items * len(value) if variadic else items
                return tuple(
                    convert(part, kind, adts) for part, kind in zip(value, kinds, strict=True)
                )
        case ADTType(name=name):
            return _convert_adt(value, adts[name])
        case WordType(word=word):
            if _is_word(value, word):
                return float(value) if word == "float" and isinstance(value, int) else value
    if isinstance(value, int) and not fits_64(value):
        raise ValueError(f"must fit 64 bits, got {shorten(repr(value))}")
    raise ValueError(f"must be {type_}, got {shorten(repr(value), 200)}")


def fits_64(value: int) -> bool:
    """Whether an integer can be an argument of an operator, or a size."""
    return -(1 << 63) <= value < 1 << 63


def _is_word(value: Any, word: str) -> bool:
    number = isinstance(value, int | float | complex) and not isinstance(value, bool)
    match word:
        case "int":
            return isinstance(value, int) and not isinstance(value, bool) and fits_64(value)
        case "bool":
            return isinstance(value, bool)
        case "float":
            return number and not isinstance(value, complex)
        case "complex":
            return number
        case "Number":
            return number or isinstance(value, bool)
        case "str" | "torch.device":
            return isinstance(value, str)
        case "dict":
            return isinstance(value, dict)
        case "None":
            return value is None
        case "torch.dtype":
            return isinstance(value, str) and value in DTYPES
        case _:
            return False


def _convert_adt(value: Any, adt: ADT) -> ADTValue:
    if isinstance(value, ADTValue):
        return value
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError(f"must be {{constructor: {{field: value}}}} of {adt.name}, got {value!r}")
    ((name, fields),) = value.items()
    constructor = adt.constructor(name) if isinstance(name, str) else None
    if constructor is None:
        known = ", ".join(item.name for item in adt.constructors)
        raise ValueError(f"must be a constructor of {adt.name} ({known}), got {name!r}")
    fields = {} if fields is None else fields
    if not isinstance(fields, dict) or set(fields) != set(constructor.fields):
        raise ValueError(
            f"must give {name} the fields {', '.join(constructor.fields) or 'none'}, got {fields!r}"
        )
    for field, kind in constructor.fields.items():
        if not _in_kind(fields[field], kind):
            raise ValueError(f"must have a {kind} as {name}.{field}, got {fields[field]!r}")
    if constructor.invariant is not None and not _holds(constructor.invariant, fields):
        raise ValueError(f"must satisfy {constructor.invariant} of {name}, got {fields!r}")
    return ADTValue(name, {field: fields[field] for field in constructor.fields})


def _holds(invariant: Any, fields: Mapping[str, Any]) -> bool:
    try:
        return bool(evaluate(invariant, fields))
    except DomainError:
        return False


def _in_kind(value: Any, kind: Kind) -> bool:
    match kind:
        case BoolKind():
            return isinstance(value, bool)
        case EnumKind(values=values):
            return isinstance(value, str) and value in values
        case DimKind():
            return _in_kind(value, INT) and value >= 0
        case IntKind():
            return isinstance(value, int) and not isinstance(value, bool) and fits_64(value)
    return False


def adt_value(value: Any, adt: ADT) -> ADTValue:
    """An ADT value, or the Python object that stands for one, checked. Raises ValueError."""
    if isinstance(value, ADTValue | dict):
        return _convert_adt(value, adt)
    kind = getattr(value, "kind", None)
    constructor = adt.constructor(kind) if isinstance(kind, str) else None
    if constructor is None or not all(hasattr(value, field) for field in constructor.fields):
        raise ValueError(f"must be a value of {adt.name}, got {value!r}")
    fields = {field: adt_field(value, field) for field in constructor.fields}
    return _convert_adt({constructor.name: fields}, adt)
