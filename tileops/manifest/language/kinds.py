"""Kinds of expressions, and how a parameter's type text and a forall kind map to them.

In: type text from the manifest. Out: frozen kinds with the subtype relation `fits` and `join`.
`str(kind)` prints what messages show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tileops.manifest.dtypes import DTYPE_NAMES


@dataclass(frozen=True, slots=True)
class DimKind:
    """A non-negative integer: the length of an axis."""

    def __str__(self) -> str:
        return "Dim"


@dataclass(frozen=True, slots=True)
class IntKind:
    def __str__(self) -> str:
        return "Int"


@dataclass(frozen=True, slots=True)
class FloatKind:
    def __str__(self) -> str:
        return "Float"


@dataclass(frozen=True, slots=True)
class NumberKind:
    """Any Python number: bool, int, float or complex; outside of types."""

    def __str__(self) -> str:
        return "Number"


@dataclass(frozen=True, slots=True)
class BoolKind:
    """`literal` is set where a comparison has narrowed the value to one."""

    literal: bool | None = None

    def __str__(self) -> str:
        return "Bool"


@dataclass(frozen=True, slots=True)
class NoneKind:
    def __str__(self) -> str:
        return "None"


@dataclass(frozen=True, slots=True)
class EnumKind:
    """A string out of a finite set."""

    values: tuple[str, ...]

    def __str__(self) -> str:
        return " | ".join(f"'{value}'" for value in self.values) or "no value"


@dataclass(frozen=True, slots=True)
class DTypeKind:
    """A dtype out of a finite set."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        if self.names == DTYPE_NAMES:
            return "DType"
        return f"DType[{' | '.join(self.names)}]"


@dataclass(frozen=True, slots=True)
class ShapeKind:
    """A sequence of axis lengths."""

    def __str__(self) -> str:
        return "Shape"


@dataclass(frozen=True, slots=True)
class SeqKind:
    """A list or tuple; `length` where the type fixes it."""

    item: Kind
    length: int | None = None

    def __str__(self) -> str:
        fixed = "" if self.length is None else f" of length {self.length}"
        return f"Seq[{self.item}]{fixed}"


@dataclass(frozen=True, slots=True)
class MaybeKind:
    """A value that may be None."""

    item: Kind

    def __str__(self) -> str:
        return f"Maybe[{self.item}]"


@dataclass(frozen=True, slots=True)
class UnionKind:
    """One of several kinds, as of a parameter `int | tuple[int, int]`."""

    members: tuple[Kind, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.members))


@dataclass(frozen=True, slots=True)
class ADTKind:
    """A value of an algebraic data type, narrowed to the constructors still possible."""

    name: str
    constructors: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class TensorKind:
    """A tensor, named where a predicate or `bytes` reads one."""

    def __str__(self) -> str:
        return "Tensor"


@dataclass(frozen=True, slots=True)
class OpaqueKind:
    """A value that takes no part in types: open str, dict, device, other objects."""

    text: str

    def __str__(self) -> str:
        return self.text


Kind: TypeAlias = (
    DimKind
    | IntKind
    | FloatKind
    | NumberKind
    | BoolKind
    | NoneKind
    | EnumKind
    | DTypeKind
    | ShapeKind
    | SeqKind
    | MaybeKind
    | UnionKind
    | ADTKind
    | TensorKind
    | OpaqueKind
)

DIM = DimKind()
INT = IntKind()
FLOAT = FloatKind()
NUMBER = NumberKind()
BOOL = BoolKind()
NONE = NoneKind()
SHAPE = ShapeKind()
TENSOR = TensorKind()
SEQ_INT = SeqKind(INT)
SEQ_BOOL = SeqKind(BOOL)
SEQ_MAYBE_INT = SeqKind(MaybeKind(INT))
MAYBE_INT = MaybeKind(INT)
ANY_DTYPE = DTypeKind(DTYPE_NAMES)
AXES = UnionKind((INT, SEQ_INT, NONE))


def fits(kind: Kind, expected: Kind) -> bool:
    """Whether every value of `kind` may stand where `expected` is asked for."""
    if kind == expected:
        return True
    if isinstance(kind, UnionKind):
        return all(fits(member, expected) for member in kind.members)
    if isinstance(kind, MaybeKind):
        return fits(NONE, expected) and fits(kind.item, expected)
    match expected:
        case UnionKind(members=members):
            return any(fits(kind, member) for member in members)
        case MaybeKind(item=item):
            return isinstance(kind, NoneKind) or fits(kind, item)
        case IntKind():
            return isinstance(kind, DimKind)
        case BoolKind():
            return isinstance(kind, BoolKind)
        case FloatKind():
            return isinstance(kind, DimKind | IntKind)
        case NumberKind():
            return isinstance(kind, DimKind | IntKind | FloatKind | BoolKind)
        case SeqKind(item=item, length=length):
            if isinstance(kind, ShapeKind):
                return length is None and fits(DIM, item)
            return (
                isinstance(kind, SeqKind)
                and fits(kind.item, item)
                and (length is None or length == kind.length)
            )
        case ShapeKind():
            return isinstance(kind, SeqKind) and isinstance(kind.item, DimKind)
        case EnumKind(values=values):
            return isinstance(kind, EnumKind) and set(kind.values) <= set(values)
        case DTypeKind(names=names):
            return isinstance(kind, DTypeKind) and set(kind.names) <= set(names)
        case ADTKind(name=name):
            return isinstance(kind, ADTKind) and kind.name == name
        case _:
            return False


def join(a: Kind, b: Kind) -> Kind | None:
    """The common kind of two arms, or None when they have none."""
    if fits(a, b):
        return b
    if fits(b, a):
        return a
    match a, b:
        case EnumKind(values=left), EnumKind(values=right):
            return EnumKind(tuple(dict.fromkeys((*left, *right))))
        case DTypeKind(names=left), DTypeKind(names=right):
            return DTypeKind(tuple(name for name in DTYPE_NAMES if name in {*left, *right}))
        case (NoneKind(), other) | (other, NoneKind()):
            return MaybeKind(other)
        case (MaybeKind(item=item), other) | (other, MaybeKind(item=item)):
            inner = join(item, other)
            return None if inner is None else MaybeKind(inner)
        case ((SeqKind() | ShapeKind()), (SeqKind() | ShapeKind())):
            inner = join(item_kind(a), item_kind(b))
            return None if inner is None else SeqKind(inner)
    return None


def item_kind(kind: Kind) -> Kind:
    """The kind of a sequence's items. Only for sequences."""
    if isinstance(kind, ShapeKind):
        return DIM
    assert isinstance(kind, SeqKind)
    return kind.item


def is_number(kind: Kind) -> bool:
    return isinstance(kind, DimKind | IntKind | FloatKind)


def is_sequence(kind: Kind) -> bool:
    return isinstance(kind, ShapeKind | SeqKind)


def members_of(kind: Kind) -> tuple[Kind, ...]:
    """The alternatives of a kind, None included for a Maybe."""
    match kind:
        case UnionKind(members=members):
            return tuple(inner for member in members for inner in members_of(member))
        case MaybeKind(item=item):
            return (*members_of(item), NONE)
        case _:
            return (kind,)


def union_of(kinds: tuple[Kind, ...]) -> Kind:
    """The kind whose values are those of `kinds`; enums and dtypes merge, None makes a Maybe."""
    optional = any(isinstance(kind, NoneKind) for kind in kinds)
    rest: list[Kind] = []
    for kind in kinds:
        if isinstance(kind, NoneKind) or kind in rest:
            continue
        for at, other in enumerate(rest):
            same = type(kind) is type(other) and isinstance(kind, EnumKind | DTypeKind)
            merged = join(other, kind) if same else None
            if merged is not None:
                rest[at] = merged
                break
        else:
            rest.append(kind)
    inner = rest[0] if len(rest) == 1 else UnionKind(tuple(rest))
    if not rest:
        return NONE
    return MaybeKind(inner) if optional else inner


def comparable(a: Kind, b: Kind) -> bool:
    """Whether some value of one kind may equal some value of the other."""
    for left in members_of(a):
        for right in members_of(b):
            numbers = all(
                isinstance(k, DimKind | IntKind | FloatKind | NumberKind) for k in (left, right)
            )
            if numbers or (is_sequence(left) and is_sequence(right)):
                return True
            match left, right:
                case EnumKind(values=x), EnumKind(values=y):
                    if set(x) & set(y):
                        return True
                case DTypeKind(names=x), DTypeKind(names=y):
                    if set(x) & set(y):
                        return True
                case (DTypeKind(names=x), EnumKind(values=y)) | (
                    EnumKind(values=y),
                    DTypeKind(names=x),
                ):
                    if set(x) & set(y):
                        return True
                case _ if type(left) is type(right) and not isinstance(left, TensorKind):
                    return True
    return False
