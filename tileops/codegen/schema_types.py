"""Parameter type -> schema type, and default -> schema text: torch's schema language, nowhere else.

In: a parameter of a checked signature. Out: text of a schema, or `Unschematic` with the reason. To
carry another word: a row in `WORDS`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tileops.manifest.language.syntax import Call, Expr, Name, children, shape_exprs
from tileops.manifest.language.types import (
    DTypeType,
    ListType,
    LiteralType,
    ParamType,
    TupleType,
    WordType,
    alternatives,
)
from tileops.manifest.signature.model import Param, Signature

#: torch's numbers of the dtypes, which a schema writes as a default.
_SCALAR_TYPES = {
    "uint8": 0,
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "float16": 5,
    "float32": 6,
    "float64": 7,
    "complex64": 9,
    "complex128": 10,
    "bool": 11,
    "bfloat16": 15,
    "float8_e5m2": 23,
    "float8_e4m3fn": 24,
    "float8_e5m2fnuz": 25,
    "float8_e4m3fnuz": 26,
}

WORDS = {
    "int": "SymInt",
    "bool": "bool",
    "float": "float",
    "complex": "Scalar",
    "Number": "Scalar",
    "str": "str",
    "torch.dtype": "ScalarType",
    "torch.device": "Device",
}

#: Primitives with the place of their Axes formal, which takes a bare int as well as a list.
_AXES_PLACE = {"reduced": 1, "valid_axes": 0, "unique_axes": 0}


class Unschematic(Exception):
    """An entry that no operator schema can carry, with the reason."""


def schema_type(param: Param, signature: Signature) -> str:
    """The schema type of a parameter that is no ADT. Raises `Unschematic`."""
    members = [item for item in alternatives(param.type) if item != WordType("None")]
    optional = len(members) < len(alternatives(param.type))
    base = base_type([member_type(item) for item in members], param, signature)
    if base is None:
        raise Unschematic(f"{param.name} has type {param.type}, which no operator schema carries")
    infinite = isinstance(param.default, float) and not math.isfinite(param.default)
    return f"{base}?" if optional or infinite else base


def member_type(type_: ParamType) -> str | None:
    match type_:
        case WordType(word=word):
            return WORDS.get(word)
        case LiteralType():
            return "str"
        case DTypeType():
            return "ScalarType"
        case ListType(item=item):
            return _list_type(item)
        case TupleType(items=items):
            found = {_list_type(item) for item in items}
            return found.pop() if len(found) == 1 else None
        case _:
            return None


def _list_type(item: ParamType) -> str | None:
    members = [part for part in alternatives(item) if part != WordType("None")]
    types = {member_type(part) for part in members}
    if len(types) != 1:
        return None
    inner = types.pop()
    optional = len(members) < len(alternatives(item))
    return None if inner is None else f"{inner}{'?' if optional else ''}[]"


def base_type(types: list[str | None], param: Param, signature: Signature) -> str | None:
    found = {item for item in types if item is not None}
    if None in types and found != {"Device"}:
        return None
    if len(found) == 1:
        return found.pop()
    if found <= {"SymInt", "float", "bool", "Scalar"}:
        return "Scalar"
    if found == {"Device", "str"}:
        return "Device"
    if found == {"SymInt", "SymInt[]"}:
        return "int[1]" if only_axes(param.name, signature) else "SymInt[]"
    if found == {"SymInt", "SymInt?[]"}:
        return "SymInt?[]"
    return None


def only_axes(name: str, signature: Signature) -> bool:
    """Whether every use of a parameter is an Axes formal."""
    uses = [_axes_use(expr, name) for expr in all_expressions(signature)]
    return all(uses)


def _axes_use(node: Expr, name: str) -> bool:
    if isinstance(node, Name):
        return node.id != name
    if isinstance(node, Call) and node.function in _AXES_PLACE:
        place = _AXES_PLACE[node.function]
        rest = [arg for at, arg in enumerate(node.args) if at != place]
        return all(_axes_use(arg, name) for arg in rest)
    return all(_axes_use(child, name) for child in children(node))


def all_expressions(signature: Signature) -> Iterator[Expr]:
    """Every expression of the signature."""
    for tensor in signature.tensors:
        yield tensor.dtype
        yield from shape_exprs(tensor.shape)
        if tensor.presence is not None:
            yield tensor.presence
        if not isinstance(tensor.written, bool):
            yield tensor.written
    for family in signature.families.values():
        yield from family.match
        for case in family.cases:
            yield from shape_exprs(case.shape)
    for let in signature.lets:
        yield let.expr
    for rule in signature.rules:
        yield rule.expr


def schema_default(value: Any, type_: str) -> tuple[str, str]:
    """A default as schema text and as Python text."""
    if type_.startswith("ScalarType") and isinstance(value, str):
        return str(_SCALAR_TYPES[value]), f"torch.{value}"
    if isinstance(value, float) and not math.isfinite(value):
        return "None", "None"
    if isinstance(value, str):
        if '"' in value or "\\" in value:
            raise Unschematic(f"the default {value!r} has no form in a schema")
        return f'"{value}"', repr(value)
    if type_.rstrip("?") in ("SymInt[]", "SymInt?[]") and isinstance(value, int):
        value = [value]
    if isinstance(value, list | tuple):
        inner = ", ".join(map(repr, value))
        return f"[{inner}]", f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value), repr(value)
