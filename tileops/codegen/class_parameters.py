"""Signature -> the `__init__` parameters of its class, with annotations and Python defaults."""

from __future__ import annotations

import math
from typing import Any

from tileops.codegen.model import Parameter
from tileops.codegen.schema_types import WORDS
from tileops.manifest.adt import ADTValue
from tileops.manifest.language.kinds import DTypeKind, members_of
from tileops.manifest.language.types import (
    ADTType,
    DTypeType,
    ListType,
    LiteralType,
    ParamType,
    TupleType,
    WordType,
    alternatives,
)
from tileops.manifest.signature.model import MISSING, Param, Signature


def parameters_of(signature: Signature) -> tuple[Parameter, ...]:
    """The `__init__` parameters of the class, in manifest order."""
    params = {param.name: param for param in signature.params}
    tensors = {tensor.name: tensor for tensor in signature.construction}
    result = []
    for decl in signature.entry.params:
        name = decl.name.text
        if name in tensors:
            optional = tensors[name].presence is not None
            annotation = "torch.Tensor | None" if optional else "torch.Tensor"
            result.append(
                Parameter(name, "tensor", annotation, "None" if optional else None, False)
            )
            continue
        param = params[name]
        default = None if param.default is MISSING else _python_default(param.default, param)
        result.append(
            Parameter(name, str(param.type), annotation_of(param.type), default, param.kw_only)
        )
    return tuple(result)


def _python_default(value: Any, param: Param) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    dtype = any(isinstance(kind, DTypeKind) for kind in members_of(param.kind))
    if dtype and isinstance(value, str):
        return f"torch.{value}"
    return repr(_literal(tuple(value) if isinstance(value, list) else value))


def _literal(value: Any) -> Any:
    """The value with every ADT value as the mapping that denotes it, whose `repr` is Python."""
    match value:
        case ADTValue():
            return {value.kind: dict(value.fields)}
        case list() | tuple():
            return type(value)(_literal(item) for item in value)
        case _:
            return value


def annotation_of(type_: ParamType) -> str:
    """The Python annotation of a parameter type."""
    literals: list[str] = []
    parts: list[str] = []
    for member in alternatives(type_):
        match member:
            case LiteralType(value=value):
                if not literals:
                    parts.append("?")
                literals.append(repr(value))
            case DTypeType():
                if "torch.dtype" not in parts:
                    parts.append("torch.dtype")
            case WordType(word="Number"):
                parts += ["int", "float", "complex"]
            case WordType(word=word):
                parts.append(word if word in WORDS or word in ("None", "dict") else "object")
            case ListType(item=item):
                parts.append(f"list[{annotation_of(item)}]")
            case TupleType(items=items, variadic=variadic):
                inner = ", ".join(annotation_of(item) for item in items)
                parts.append(f"tuple[{inner}, ...]" if variadic else f"tuple[{inner}]")
            case ADTType(name=name):
                parts.append(name)
    text = " | ".join(dict.fromkeys(parts))
    return text.replace("?", f"Literal[{', '.join(literals)}]") if literals else text
