"""What a guard makes of kinds in the arm that it selects.

In: a condition, a scope and the truth of the condition. Out: the scope of that arm.
"""

from __future__ import annotations

from tileops.manifest.language.kinds import (
    BOOL,
    ADTKind,
    BoolKind,
    DimKind,
    DTypeKind,
    EnumKind,
    FloatKind,
    IntKind,
    Kind,
    MaybeKind,
    NoneKind,
    NumberKind,
    UnionKind,
    members_of,
    union_of,
)
from tileops.manifest.language.scope import Scope, field_kind
from tileops.manifest.language.syntax import (
    BoolOp,
    Compare,
    Expr,
    Field,
    Literal,
    LiteralValue,
    Name,
    Not,
    Present,
    TupleExpr,
)


def narrow(test: Expr, scope: Scope, truth: bool) -> Scope:
    """The scope of the arm in which `test` has that truth."""
    match test:
        case Present(name=name):
            members = tuple(
                kind
                for kind in members_of(scope.kind(name))
                if isinstance(kind, NoneKind) is not truth
            )
            return scope.narrow(name, union_of(members)) if members else scope
        case Not(operand=operand):
            return narrow(operand, scope, not truth)
        case BoolOp(op=op, items=items) if (op == "and") is truth:
            for item in items:
                scope = narrow(item, scope, truth)
            return scope
        case BoolOp(items=items):
            return _merge([narrow(item, scope, truth) for item in items], scope)
        case Compare(first=first, ops=(op,), rest=(right,)):
            return _narrow_compare(first, op, right, scope, truth)
        case Name(id=name) if name in scope.kinds and isinstance(scope.kind(name), BoolKind):
            return scope.narrow(name, BoolKind(truth))
        case _:
            return scope


def _merge(arms: list[Scope], scope: Scope) -> Scope:
    """What holds in every one of several arms."""
    shared = set.intersection(*(set(arm.narrowed) for arm in arms))
    for key in sorted(shared):
        kinds = tuple(dict.fromkeys(arm.narrowed[key] for arm in arms))
        scope = scope.narrow(key, kinds[0] if len(kinds) == 1 else _union(kinds))
    return scope


def _union(kinds: tuple[Kind, ...]) -> Kind:
    if all(isinstance(kind, ADTKind) for kind in kinds):
        names = [name for kind in kinds if isinstance(kind, ADTKind) for name in kind.constructors]
        first = kinds[0]
        assert isinstance(first, ADTKind)
        return ADTKind(first.name, tuple(dict.fromkeys(names)))
    if all(isinstance(kind, BoolKind) for kind in kinds):
        return BOOL
    return union_of(tuple(member for kind in kinds for member in members_of(kind)))


def _narrow_compare(left: Expr, op: str, right: Expr, scope: Scope, truth: bool) -> Scope:
    if op in ("==", "!=") and isinstance(left, Literal):
        left, right = right, left
    if op in ("==", "!=") and isinstance(right, Literal):
        values = [right.value]
    elif op in ("in", "not in") and isinstance(right, TupleExpr):
        values = [item.value for item in right.items if isinstance(item, Literal)]
        if len(values) != len(right.items):
            return scope
    else:
        return scope
    keep = (op in ("==", "in")) is truth
    match left:
        case Name(id=name) if name in scope.kinds:
            kind = _restrict(scope.kind(name), values, keep)
            return scope if kind is None else scope.narrow(name, kind)
        case Field(base=base, field="kind") if base in scope.kinds:
            kind = scope.kind(base)
            if isinstance(kind, ADTKind):
                names = tuple(name for name in kind.constructors if (name in values) is keep)
                return scope.narrow(base, ADTKind(kind.name, names))
        case Field(base=base, field=field) if base in scope.kinds and field != "value":
            kind = _restrict(field_kind(base, field, left.at, scope), values, keep) or field_kind(
                base, field, left.at, scope
            )
            return scope.narrow(f"{base}.{field}", kind)
    return scope


def _restrict(kind: Kind, values: list[LiteralValue], keep: bool) -> Kind | None:
    members: list[Kind] = []
    for member in members_of(kind):
        match member:
            case EnumKind(values=have):
                left = tuple(value for value in have if (value in values) is keep)
                if left:
                    members.append(EnumKind(left))
            case DTypeKind(names=names):
                left = tuple(name for name in names if (name in values) is keep)
                if left:
                    members.append(DTypeKind(left))
            case BoolKind():
                possible = [flag for flag in (False, True) if (flag in values) is keep]
                if len(possible) == 1:
                    members.append(BoolKind(possible[0]))
                elif possible:
                    members.append(BOOL)
            case UnionKind() | MaybeKind():
                members.append(member)
            case NoneKind():
                if not keep:
                    members.append(member)
            case DimKind() | IntKind() | FloatKind() | NumberKind():
                if not keep or any(
                    isinstance(v, int | float) and not isinstance(v, bool) for v in values
                ):
                    members.append(member)
            case _:
                if not keep:
                    members.append(member)
    return union_of(tuple(members)) if members else None
