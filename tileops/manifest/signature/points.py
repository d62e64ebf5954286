"""Discriminants: the finite facts that select branches, and what conditions are at one point.

A variable is a Bool, enum or ADT parameter, the presence of a Maybe parameter, of an optional
tensor or of `out`. A point gives every variable a value. In: kinds, presences, lets. Out: which
variables an expression reads, and its truth at a point (None where the point does not decide it).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from tileops.manifest.adt import ADT, ADTValue
from tileops.manifest.language.evaluate import call, compare, evaluate
from tileops.manifest.language.kinds import (
    ADTKind,
    BoolKind,
    EnumKind,
    Kind,
    MaybeKind,
    NoneKind,
    members_of,
)
from tileops.manifest.language.rewrite import map_children
from tileops.manifest.language.symbolic import DomainError
from tileops.manifest.language.syntax import (
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Expr,
    Field,
    Literal,
    Name,
    Not,
    Present,
    TupleExpr,
    children,
)


class Open(Enum):
    """A value that is there and that no point fixes."""

    OPEN = "..."


OPEN = Open.OPEN

Point: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Variable:
    """One discriminant: the name it belongs to and the values it may have."""

    name: str
    values: tuple[Any, ...]


class Unknown(Exception):
    """The point does not decide the expression."""


def variable_values(kind: Kind, adts: Mapping[str, ADT]) -> tuple[Any, ...]:
    """The values a parameter of that kind has as a discriminant; empty for none."""
    values: list[Any] = []
    for member in members_of(kind):
        match member:
            case BoolKind():
                values += [False, True]
            case EnumKind(values=names):
                values += names
            case NoneKind():
                values.append(None)
            case ADTKind(name=name):
                values += _adt_values(adts[name])
            case _ if OPEN not in values:
                values.append(OPEN)
    return () if values == [OPEN] else tuple(values)


def _adt_values(adt: ADT) -> list[ADTValue]:
    result = []
    for constructor in adt.constructors:
        names = constructor.finite_fields
        options = [
            (False, True) if isinstance(kind, BoolKind) else kind.values
            for kind in (constructor.fields[name] for name in names)
            if isinstance(kind, BoolKind | EnumKind)
        ]
        for choice in itertools.product(*options):
            result.append(ADTValue(constructor.name, dict(zip(names, choice, strict=True))))
    return result


@dataclass(slots=True)
class Discriminants:
    """The variables of a signature.

    `presences` maps every optional tensor to its condition; a tensor with a discriminant of its own
    maps to `Present(itself)`. `lets` are expanded where a condition reads one.
    """

    kinds: Mapping[str, Kind]
    presences: Mapping[str, Expr]
    lets: Mapping[str, Expr]
    adts: Mapping[str, ADT]
    variables: dict[str, Variable] = field(default_factory=dict)
    _lets_read: dict[str, tuple[frozenset[str], bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, kind in self.kinds.items():
            values = variable_values(kind, self.adts)
            if values and name not in self.lets:
                self.variables[name] = Variable(name, values)
        for name, presence in self.presences.items():
            if presence == Present(name):
                self.variables[name] = Variable(name, (None, OPEN))

    def reads(self, node: Expr) -> tuple[frozenset[str], bool]:
        """The variables an expression reads, and whether it reads nothing else."""
        match node:
            case Literal():
                return frozenset(), True
            case Present(name=name):
                presence = self.presences.get(name)
                if presence is not None and presence != node:
                    return self.reads(presence)
                return frozenset((name,)) & self.variables.keys(), name in self.variables
            case Name(id=name):
                if name in self.lets:
                    if name not in self._lets_read:
                        self._lets_read[name] = self.reads(self.lets[name])
                    return self._lets_read[name]
                variable = self.variables.get(name)
                if variable is None:
                    return frozenset(), False
                return frozenset((name,)), OPEN not in variable.values
            case Field(base=base, field=name):
                return self._reads_field(base, name)
            case Comprehension():
                found, _ = self._reads_all(children(node))
                return found, False
            case _:
                return self._reads_all(children(node))

    def _reads_field(self, base: str, name: str) -> tuple[frozenset[str], bool]:
        variable = self.variables.get(base)
        if variable is None:
            return frozenset(), False
        holders = [
            value
            for value in variable.values
            if isinstance(value, ADTValue) and (name == "kind" or name in value.fields)
        ]
        finite = bool(holders) or (name == "value" and OPEN not in variable.values)
        return frozenset((base,)), finite

    def _reads_all(self, nodes: tuple[Expr, ...]) -> tuple[frozenset[str], bool]:
        parts = [self.reads(node) for node in nodes]
        names: frozenset[str] = frozenset().union(*(names for names, _ in parts))
        return names, all(pure for _, pure in parts)

    def truth(self, node: Expr, point: Point) -> bool | None:
        """What a condition is at the point, or None."""
        if isinstance(node, Literal | Name | Present | Field | Not | Compare | BoolOp | Call):
            try:
                value = self.value(node, point)
            except (Unknown, DomainError):
                return None
            return value if isinstance(value, bool) else None
        return None

    def value(self, node: Expr, point: Point) -> Any:
        """The value of an expression at the point. Raises `Unknown`."""
        match node:
            case Literal(value=value):
                return value
            case TupleExpr(items=items):
                return tuple(self.value(item, point) for item in items)
            case Present(name=name):
                presence = self.presences.get(name)
                if presence is not None and presence != node:
                    return self.value(presence, point)
                if name not in point:
                    raise Unknown
                return point[name] is not None
            case Name(id=name):
                return self._name(name, point)
            case Field(base=base, field=name):
                value = self._name(base, point)
                if isinstance(value, ADTValue):
                    if name == "kind" or name in value.fields:
                        return getattr(value, name)
                    raise Unknown
                return value
            case Not(operand=operand):
                return not self.value(operand, point)
            case BoolOp(op=op, items=items):
                return self._bool_op(op, items, point)
            case Conditional(test=test, then=then, otherwise=otherwise):
                return self.value(then if self.value(test, point) else otherwise, point)
            case Compare():
                return self._compare(node, point)
            case Call() if not isinstance(node.args[0] if node.args else None, Comprehension):
                env = {f"${at}": self.value(arg, point) for at, arg in enumerate(node.args)}
                names = tuple(Name(key) for key in env)
                keywords = {f"%{key}": self.value(arg, point) for key, arg in node.keywords}
                named = tuple((key[1:], Name(key)) for key in keywords)
                return call(Call(node.function, names, named), {**env, **keywords})
            case Comprehension() | Call():
                raise Unknown
            case _:
                env = {
                    f"${at}": self.value(child, point) for at, child in enumerate(children(node))
                }
                return evaluate(_over(node, tuple(env)), env)

    def _name(self, name: str, point: Point) -> Any:
        if name in self.lets:
            return self.value(self.lets[name], point)
        value = point.get(name, OPEN)
        if value is OPEN:
            raise Unknown
        return value

    def _bool_op(self, op: str, items: tuple[Expr, ...], point: Point) -> bool:
        unknown = False
        for item in items:
            try:
                if bool(self.value(item, point)) is (op == "or"):
                    return op == "or"
            except (Unknown, DomainError):
                unknown = True
        if unknown:
            raise Unknown
        return op == "and"

    def _compare(self, node: Compare, point: Point) -> bool:
        operands = (node.first, *node.rest)
        for at, op in enumerate(node.ops):
            if not self._compare_pair(op, operands[at], operands[at + 1], point):
                return False
        return True

    def _compare_pair(self, op: str, left: Expr, right: Expr, point: Point) -> bool:
        # A value outside a union's literals never equals one of them.
        for side, other in ((left, right), (right, left)):
            if isinstance(side, Name) and point.get(side.id) is OPEN and self._is_enum(side.id):
                listed = other.items if isinstance(other, TupleExpr) else (other,)
                strings = all(
                    isinstance(item, Literal) and isinstance(item.value, str) for item in listed
                )
                if strings and op in ("==", "!=", "in", "not in"):
                    return op in ("!=", "not in")
        return bool(compare(op, self.value(left, point), self.value(right, point)))

    def _is_enum(self, name: str) -> bool:
        kind = self.kinds[name]
        inner = kind.item if isinstance(kind, MaybeKind) else kind
        return any(isinstance(member, EnumKind) for member in members_of(inner))


def _over(node: Expr, names: tuple[str, ...]) -> Expr:
    queue = iter(names)
    return map_children(node, lambda _: Name(next(queue)))


def all_points(variables: tuple[Variable, ...]) -> list[dict[str, Any]]:
    """Every combination of the variables' values."""
    names = [variable.name for variable in variables]
    options = [variable.values for variable in variables]
    return [dict(zip(names, choice, strict=True)) for choice in itertools.product(*options)]
