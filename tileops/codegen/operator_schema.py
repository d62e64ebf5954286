"""Signature -> operator schemas: one per effect branch, in torch's schema language.

In: a checked signature and its effect branches. Out: arguments in schema order, overload headers,
class parameters. How a parameter type becomes a schema type is `schema_type`, and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tileops.codegen.model import Argument, Header, Output, OverloadHeader, Parameter, Role
from tileops.manifest.adt import ADTValue
from tileops.manifest.dtypes import DTYPES
from tileops.manifest.language.kinds import (
    ADTKind,
    BoolKind,
    DimKind,
    DTypeKind,
    EnumKind,
    IntKind,
    Kind,
    MaybeKind,
    members_of,
)
from tileops.manifest.language.syntax import Call, Expr, Literal, Name, children, shape_exprs
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
from tileops.manifest.signature.effects import EffectBranch, condition_of
from tileops.manifest.signature.model import MISSING, Param, Signature, Tensor

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

_WORDS = {
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
    base = _base_type([_member_type(item) for item in members], param, signature)
    if base is None:
        raise Unschematic(f"{param.name} has type {param.type}, which no operator schema carries")
    infinite = isinstance(param.default, float) and not math.isfinite(param.default)
    return f"{base}?" if optional or infinite else base


def _member_type(type_: ParamType) -> str | None:
    match type_:
        case WordType(word=word):
            return _WORDS.get(word)
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
    types = {_member_type(part) for part in members}
    if len(types) != 1:
        return None
    inner = types.pop()
    optional = len(members) < len(alternatives(item))
    return None if inner is None else f"{inner}{'?' if optional else ''}[]"


def _base_type(types: list[str | None], param: Param, signature: Signature) -> str | None:
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


# --- defaults -------------------------------------------------------------------------------------


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


# --- arguments ------------------------------------------------------------------------------------


def arguments_of(signature: Signature) -> tuple[Argument, ...]:
    """Every argument of the operator, in schema order, `out` and `target` included."""
    inputs = signature.inputs
    result = [_tensor(tensor, Role.INPUT, False) for tensor in inputs if not tensor.kw_only]
    if signature.buffer is not None:
        result.append(Argument("out", Role.OUT, "Tensor?", "None", "None", True))
    result += [_tensor(tensor, Role.INPUT, True) for tensor in inputs if tensor.kw_only]
    result += [_tensor(tensor, Role.CONSTRUCTION_TENSOR, True) for tensor in signature.construction]
    for param in signature.params:
        result += _param_arguments(param, signature)
    takes_device = any(param.name == "device" for param in signature.params)
    if not inputs and not signature.construction and not takes_device:
        result.append(Argument("device", Role.DEVICE, "Device?", "None", "None", True))
    result.append(Argument("target", Role.TARGET, "str?", "None", "None", True))
    return tuple(result)


def _tensor(tensor: Tensor, role: Role, keyword_only: bool) -> Argument:
    if tensor.presence is None:
        return Argument(tensor.name, role, "Tensor", None, None, keyword_only)
    return Argument(tensor.name, role, "Tensor?", "None", "None", keyword_only)


def _param_arguments(param: Param, signature: Signature) -> Iterator[Argument]:
    kind = param.kind.item if isinstance(param.kind, MaybeKind) else param.kind
    if isinstance(kind, ADTKind):
        yield from _adt_arguments(param, kind, signature)
        return
    if is_object(param):
        return
    if is_word_union(param):
        plain, word = _union_arguments(param, signature)
        yield plain
        yield word
        return
    type_ = schema_type(param, signature)
    role = Role.DEVICE if param.name == "device" and type_ == "Device?" else Role.PARAM
    if param.default is MISSING:
        yield Argument(param.name, role, type_, None, None, True, param.name)
        return
    text, python = schema_default(param.default, type_)
    yield Argument(param.name, role, type_, text, python, True, param.name)


def is_object(param: Param) -> bool:
    """A parameter that may hold an object: the operator leaves it out and has its default."""
    known = (*_WORDS, "None")
    members = alternatives(param.type)
    opaque = any(isinstance(item, WordType) and item.word not in known for item in members)
    return opaque and param.default is not MISSING


def is_word_union(param: Param) -> bool:
    """A type like `int | tuple[int, int] | 'same'`: one argument cannot carry all of it."""
    members = [item for item in alternatives(param.type) if item != WordType("None")]
    literals = [item for item in members if isinstance(item, LiteralType)]
    return 0 < len(literals) < len(members) and WordType("str") not in members


def word_argument(param: Param, signature: Signature) -> str:
    """The argument that carries the literals of such a union."""
    taken = {item.name for item in signature.params} | {item.name for item in signature.tensors}
    name = f"{param.name}_name"
    while name in taken:
        name += "_"
    return name


def _union_arguments(param: Param, signature: Signature) -> tuple[Argument, Argument]:
    """Both absent means the default."""
    members = [
        item
        for item in alternatives(param.type)
        if item != WordType("None") and not isinstance(item, LiteralType)
    ]
    base = _base_type([_member_type(item) for item in members], param, signature)
    if base is None:
        raise Unschematic(f"{param.name} has type {param.type}, which no operator schema carries")
    word = word_argument(param, signature)
    return (
        Argument(
            param.name, Role.PARAM, f"{base}?", "None", "None", True, param.name, "plain"
        ),
        Argument(word, Role.PARAM, "str?", "None", "None", True, param.name, "word"),
    )


def left_out(signature: Signature) -> tuple[Param, ...]:
    """The parameters that only the class takes."""
    return tuple(param for param in signature.params if is_object(param))


def _adt_arguments(param: Param, kind: ADTKind, signature: Signature) -> Iterator[Argument]:
    """An ADT parameter spread out: its constructor, then one nullable argument per field."""
    adt = signature.adts[kind.name]
    default = param.default
    optional = isinstance(param.kind, MaybeKind)
    text = None if default is MISSING else "None"
    if isinstance(default, ADTValue):
        text = f'"{default.kind}"'
    yield Argument(
        param.name,
        Role.PARAM,
        "str?" if optional else "str",
        text,
        None if text is None else text.replace('"', "'"),
        True,
        param.name,
        ".kind",
    )
    fields: dict[str, Kind] = {}
    for constructor in adt.constructors:
        fields.update(constructor.fields)
    for name, field in fields.items():
        value = default.fields.get(name) if isinstance(default, ADTValue) else None
        type_ = {DimKind: "SymInt?", IntKind: "SymInt?", BoolKind: "bool?", EnumKind: "str?"}
        shown, python = schema_default(value, type_[type(field)])
        yield Argument(
            f"{param.name}_{name}",
            Role.PARAM,
            type_[type(field)],
            shown,
            python,
            True,
            param.name,
            f".{name}",
        )


# --- overloads ------------------------------------------------------------------------------------


def overload(
    signature: Signature, arguments: tuple[Argument, ...], branch: EffectBranch
) -> OverloadHeader:
    """The schema of one effect branch."""
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    conditional = {
        tensor.name for tensor in signature.inputs if not isinstance(condition_of(tensor), bool)
    }
    shown = [item for item in arguments if item.role is not Role.OUT or branch.out]
    required = [
        at
        for at, item in enumerate(shown)
        if not item.keyword_only and item.name in branch.written and item.name in conditional
    ]
    parts: list[str] = []
    keyword = False
    for at, item in enumerate(shown):
        if item.keyword_only and not keyword:
            parts.append("*")
            keyword = True
        type_, default = item.type, item.default
        if item.name in branch.written or item.role is Role.OUT:
            type_ = f"Tensor({next(letters)}!)"
            default = None
        elif required and at < required[-1]:
            # A schema has no default before an argument without one.
            default = None
        parts.append(f"{type_} {item.name}" + ("" if default is None else f"={default}"))
    returns = ["Tensor?" if name in branch.nullable else "Tensor" for name in branch.returns]
    result = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
    suffix = "" if branch.name == "default" else f".{branch.name}"
    written = (*branch.written, *(("out",) if branch.out else ()))
    return OverloadHeader(
        branch.name,
        f"{signature.operator}{suffix}({', '.join(parts)}) -> {result}",
        written,
        branch.returns,
    )


def header_of(
    signature: Signature, arguments: tuple[Argument, ...], branches: tuple[EffectBranch, ...]
) -> Header:
    """What registration needs to know."""
    entry = signature.entry
    return Header(
        op=signature.op,
        family=signature.family,
        status="" if entry.status is None else entry.status.text,
        operator=signature.operator,
        overloads=tuple(overload(signature, arguments, branch) for branch in branches),
        takes_tensors=bool(signature.inputs or signature.construction),
        composite=entry.composition is not None,
        contiguous=tuple(tensor.name for tensor in signature.inputs if tensor.decl.contiguous),
        differentiable=any(_may_float(tensor, signature) for tensor in signature.outputs),
    )


def _may_float(tensor: Tensor, signature: Signature) -> bool:
    names: tuple[str, ...] = ()
    match tensor.dtype:
        case Literal(value=str(name)):
            names = (name,)
        case Name(id=name):
            names = tuple(
                item
                for kind in members_of(signature.kinds[name])
                if isinstance(kind, DTypeKind)
                for item in kind.names
            )
        case _:
            return True
    return any(DTYPES[name].category in ("float", "complex") for name in names)


def outputs_of(signature: Signature) -> tuple[Output, ...]:
    return tuple(
        Output(
            tensor.name,
            tensor.presence is not None,
            "" if tensor.decl.alias is None else tensor.decl.alias.text,
            tensor.decl.buffer is not None,
        )
        for tensor in signature.outputs
    )


# --- class parameters -----------------------------------------------------------------------------


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
                parts.append(word if word in _WORDS or word in ("None", "dict") else "object")
            case ListType(item=item):
                parts.append(f"list[{annotation_of(item)}]")
            case TupleType(items=items, variadic=variadic):
                inner = ", ".join(annotation_of(item) for item in items)
                parts.append(f"tuple[{inner}, ...]" if variadic else f"tuple[{inner}]")
            case ADTType(name=name):
                parts.append(name)
    text = " | ".join(dict.fromkeys(parts))
    return text.replace("?", f"Literal[{', '.join(literals)}]") if literals else text


def infer_argument_names(arguments: tuple[Argument, ...]) -> tuple[str, ...]:
    """The arguments of `infer`: all of the schema's but `target`."""
    return tuple(item.name for item in arguments if item.role is not Role.TARGET)


__all__ = [
    "Unschematic",
    "arguments_of",
    "header_of",
    "infer_argument_names",
    "is_object",
    "is_word_union",
    "left_out",
    "outputs_of",
    "parameters_of",
    "schema_type",
]
