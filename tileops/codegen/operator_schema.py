"""Signature -> the arguments of its operator, in the order of torch's schema.

In: a checked signature. Out: arguments, `out` and `target` among them; an ADT spread out, a union
that no one argument carries as two. Types and defaults are spelled in `schema_types`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileops.codegen.model import Argument, Role
from tileops.codegen.schema_types import (
    WORDS,
    Unschematic,
    base_type,
    member_type,
    schema_default,
    schema_type,
)
from tileops.manifest.adt import ADTValue
from tileops.manifest.language.kinds import (
    ADTKind,
    BoolKind,
    DimKind,
    EnumKind,
    IntKind,
    Kind,
    MaybeKind,
)
from tileops.manifest.language.types import LiteralType, WordType, alternatives
from tileops.manifest.signature.model import MISSING, Param, Signature, Tensor


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
    known = (*WORDS, "None")
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
    base = base_type([member_type(item) for item in members], param, signature)
    if base is None:
        raise Unschematic(f"{param.name} has type {param.type}, which no operator schema carries")
    word = word_argument(param, signature)
    return (
        Argument(param.name, Role.PARAM, f"{base}?", "None", "None", True, param.name, "plain"),
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


def infer_argument_names(arguments: tuple[Argument, ...]) -> tuple[str, ...]:
    """The arguments of `infer`: all of the schema's but `target`."""
    return tuple(item.name for item in arguments if item.role is not Role.TARGET)
