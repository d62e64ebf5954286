"""Parameter types and forall kinds: their text, parsed, and the kind each maps to (table 3).

In: text such as "list[int] | tuple[int, ...]" or "DType[float16 | bfloat16]". Out: `ParamType`, a
frozen tree that prints back to equal text, or `ExprError`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TypeAlias

from tileops.manifest.dtypes import DTYPE_NAMES, DTYPES
from tileops.manifest.language.kinds import (
    ANY_DTYPE,
    BOOL,
    DIM,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    SHAPE,
    ADTKind,
    DTypeKind,
    EnumKind,
    Kind,
    OpaqueKind,
    SeqKind,
    union_of,
)
from tileops.manifest.language.parse import ExprError, python_tree


@dataclass(frozen=True, slots=True)
class WordType:
    """int, bool, float, complex, Number, str, dict, None, torch.dtype, torch.device, an object."""

    word: str

    def __str__(self) -> str:
        return self.word


@dataclass(frozen=True, slots=True)
class LiteralType:
    """One string of an enum."""

    value: str

    def __str__(self) -> str:
        return f"'{self.value}'"


@dataclass(frozen=True, slots=True)
class DTypeType:
    """One dtype name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ListType:
    item: ParamType

    def __str__(self) -> str:
        return f"list[{self.item}]"


@dataclass(frozen=True, slots=True)
class TupleType:
    """`tuple[X, ...]` when `variadic`, otherwise one item type per place."""

    items: tuple[ParamType, ...]
    variadic: bool

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.items))
        return f"tuple[{inner}, ...]" if self.variadic else f"tuple[{inner}]"


@dataclass(frozen=True, slots=True)
class ADTType:
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class UnionType:
    members: tuple[ParamType, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.members))


ParamType: TypeAlias = (
    WordType | LiteralType | DTypeType | ListType | TupleType | ADTType | UnionType
)

_WORDS = ("int", "bool", "float", "complex", "Number", "str", "dict")


def parse_type(text: str, adts: dict[str, tuple[str, ...]]) -> ParamType:
    """The type that `text` writes; `adts` maps ADT names to their constructors."""
    return _type(python_tree(text), adts)


def _type(node: ast.expr, adts: dict[str, tuple[str, ...]]) -> ParamType:
    at = node.col_offset
    match node:
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            parts: list[ParamType] = []
            for side in (_type(left, adts), _type(right, adts)):
                parts += side.members if isinstance(side, UnionType) else (side,)
            if len(set(parts)) != len(parts):
                raise ExprError("a union must not name a member twice", at)
            return UnionType(tuple(parts))
        case ast.Constant(value=None):
            return WordType("None")
        case ast.Constant(value=str(value)):
            return LiteralType(value)
        case ast.Name(id=word):
            return _word(word, at, adts)
        case ast.Attribute():
            dotted = ast.unparse(node)
            if all(part.isidentifier() for part in dotted.split(".")):
                return WordType(dotted)
        case ast.Subscript(value=ast.Name(id="list"), slice=item):
            return ListType(_type(item, adts))
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=elts)):
            if len(elts) == 2 and isinstance(elts[1], ast.Constant) and elts[1].value is ...:
                return TupleType((_type(elts[0], adts),), variadic=True)
            return TupleType(tuple(_type(item, adts) for item in elts), variadic=False)
        case ast.Subscript(value=ast.Name(id="tuple"), slice=item):
            return TupleType((_type(item, adts),), variadic=False)
    raise ExprError(f"{ast.unparse(node)} must be a parameter type", at)


def _word(word: str, at: int, adts: dict[str, tuple[str, ...]]) -> ParamType:
    if word in _WORDS:
        return WordType(word)
    if word in DTYPES:
        return DTypeType(word)
    if word in adts:
        return ADTType(word)
    if word[:1].isupper():
        return WordType(word)
    raise ExprError(
        f"{word} must be a parameter type",
        at,
        "known are int, bool, float, complex, Number, str, dict, list[X], tuple[X, ...],"
        " dtype names, 'literals', torch.dtype, torch.device, ADT names and PascalCase types",
    )


def alternatives(type_: ParamType) -> tuple[ParamType, ...]:
    """The members of a union, or the type itself."""
    return type_.members if isinstance(type_, UnionType) else (type_,)


def kind_of_type(type_: ParamType, adts: dict[str, tuple[str, ...]]) -> Kind:
    """The kind that table 3 gives a type."""
    match type_:
        case UnionType(members=members):
            return union_of(tuple(kind_of_type(member, adts) for member in members))
        case LiteralType(value=value):
            return EnumKind((value,))
        case DTypeType(name=name):
            return DTypeKind((name,))
        case ListType(item=item):
            return SeqKind(kind_of_type(item, adts))
        case TupleType(items=items, variadic=variadic):
            inner = union_of(tuple(kind_of_type(part, adts) for part in items))
            return SeqKind(inner, None if variadic else len(items))
        case ADTType(name=name):
            return ADTKind(name, adts.get(name, ()))
        case WordType(word=word):
            simple: dict[str, Kind] = {
                "int": INT,
                "bool": BOOL,
                "float": FLOAT,
                "complex": NUMBER,
                "Number": NUMBER,
                "None": NONE,
                "torch.dtype": ANY_DTYPE,
            }
            return simple.get(word, OpaqueKind(word))


def parse_forall_kind(text: str) -> Kind:
    """The kind that a forall declaration writes (table 2). Raises `ExprError`."""
    fixed: dict[str, Kind] = {"Dim": DIM, "Shape": SHAPE, "Seq[Int]": SeqKind(INT)}
    if text.strip() in fixed:
        return fixed[text.strip()]
    node = python_tree(text)
    match node:
        case ast.Subscript(value=ast.Name(id="DType"), slice=inner):
            names = _dtype_union(inner)
            return DTypeKind(tuple(name for name in DTYPE_NAMES if name in names))
    raise ExprError(
        f"a forall kind must be Dim, Shape, DType[a | b] or Seq[Int], got {text.strip()}",
        node.col_offset,
    )


def _dtype_union(node: ast.expr) -> tuple[str, ...]:
    match node:
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            both = (*_dtype_union(left), *_dtype_union(right))
            if len(set(both)) != len(both):
                raise ExprError("a dtype set must not name a dtype twice", node.col_offset)
            return both
        case ast.Name(id=name) if name in DTYPES:
            return (name,)
    raise ExprError(f"{ast.unparse(node)} must be a dtype name", node.col_offset)
