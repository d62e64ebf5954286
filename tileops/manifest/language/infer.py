"""Kinds of expressions, with the narrowing that guards bring.

In: a tree and a `Scope` (what each name is). Out: the kind of the expression, or `ExprError` with
the offset of the part that does not fit. Kinds follow table 4; guards narrow in their arm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tileops.manifest.dtypes import DTYPES
from tileops.manifest.language.kinds import (
    BOOL,
    DIM,
    FLOAT,
    INT,
    NONE,
    SEQ_BOOL,
    SEQ_INT,
    TENSOR,
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
    OpaqueKind,
    SeqKind,
    UnionKind,
    fits,
    is_number,
    is_sequence,
    item_kind,
    join,
    members_of,
    union_of,
)
from tileops.manifest.language.parse import ExprError
from tileops.manifest.language.primitives import PRIMITIVES, Formal, Primitive
from tileops.manifest.language.syntax import (
    Binary,
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Expr,
    Field,
    Literal,
    LiteralValue,
    Name,
    Negate,
    Not,
    Present,
    SliceExpr,
    Subscript,
    TupleExpr,
)

Fields = Mapping[str, Mapping[str, Kind]]


@dataclass(frozen=True, slots=True)
class Scope:
    """What the names of an expression stand for.

    `kinds` are the kinds as declared, `narrowed` what guards have made of them here; `adts` maps an
    ADT to its constructors' fields. `opaque` admits parameters that take no part in types, as
    refinements and rooflines do; `hidden` explains names that exist but may not stand here.
    """

    kinds: Mapping[str, Kind]
    adts: Mapping[str, Fields]
    functions: Mapping[str, Primitive] = field(default_factory=lambda: PRIMITIVES)
    narrowed: Mapping[str, Kind] = field(default_factory=dict)
    hidden: Mapping[str, str] = field(default_factory=dict)
    opaque: bool = False

    def kind(self, key: str) -> Kind:
        return self.narrowed.get(key) or self.kinds[key]

    def narrow(self, key: str, kind: Kind) -> Scope:
        return replace(self, narrowed={**self.narrowed, key: kind})

    def bind(self, name: str, kind: Kind) -> Scope:
        narrowed = {key: value for key, value in self.narrowed.items() if key != name}
        return replace(self, kinds={**self.kinds, name: kind}, narrowed=narrowed)


def infer(node: Expr, scope: Scope) -> Kind:
    """The kind of `node`. Raises `ExprError`."""
    match node:
        case Literal(value=value):
            return _literal(value)
        case TupleExpr(items=items):
            return _tuple(node, [infer(item, scope) for item in items])
        case Name(id=name):
            return _named(name, node.at, scope)
        case Present(name=name):
            return _present(name, node.at, scope)
        case Field(base=base, field=field):
            return _field(base, field, node.at, scope)
        case Subscript() | SliceExpr():
            return _subscript(node, scope)
        case Negate(operand=operand):
            kind = _number(operand, scope)
            return FLOAT if isinstance(kind, FloatKind) else INT
        case Not(operand=operand):
            _condition(operand, scope)
            return BOOL
        case Binary():
            return _binary(node, scope)
        case Compare():
            return _compare(node, scope)
        case BoolOp(op=op, items=items):
            for item in items:
                _condition(item, scope)
                scope = narrow(item, scope, op == "and")
            return BOOL
        case Conditional(test=test, then=then, otherwise=otherwise):
            return _conditional(node, test, then, otherwise, scope)
        case Call():
            return _call(node, scope)
        case Comprehension():
            raise ExprError("a comprehension must be the argument of all, sum, max or min", node.at)


def _literal(value: LiteralValue) -> Kind:
    if value is None:
        return NONE
    if isinstance(value, bool):
        return BoolKind(value)
    if isinstance(value, int):
        return DIM if value >= 0 else INT
    return FLOAT if isinstance(value, float) else EnumKind((value,))


def _tuple(node: TupleExpr, kinds: list[Kind]) -> Kind:
    item: Kind | None = kinds[0] if kinds else DIM
    for kind in kinds[1:]:
        item = None if item is None else join(item, kind)
    if item is None:
        raise ExprError("the items of a tuple must have one kind", node.at, fault="kind")
    return SeqKind(item, len(kinds))


def _named(name: str, at: int, scope: Scope) -> Kind:
    if name in scope.hidden:
        raise ExprError(scope.hidden[name], at, fault="name")
    if name not in scope.kinds:
        raise ExprError(_unknown(name, scope), at, fault="name")
    kind = scope.kind(name)
    if not scope.opaque:
        outside = [
            member
            for member in members_of(scope.kinds[name])
            if isinstance(member, OpaqueKind | FloatKind | NumberKind)
        ]
        if outside:
            raise ExprError(
                f"{name} must not be read here, a {scope.kinds[name]} takes no part in types",
                at,
                fault="kind",
            )
    return kind


def _unknown(name: str, scope: Scope) -> str:
    if name in scope.functions:
        return f"{name} is a primitive and must be called"
    known = ", ".join(sorted(scope.kinds)) or "none"
    return f"{name} must be a declared name, known are {known}"


def _present(name: str, at: int, scope: Scope) -> Kind:
    if name not in scope.kinds:
        raise ExprError(_unknown(name, scope), at, fault="name")
    kind = scope.kinds[name]
    if not isinstance(kind, MaybeKind):
        raise ExprError(
            f"present must take an optional tensor or a value that may be None, {name} is {kind}",
            at,
            fault="kind",
        )
    return BOOL


def _field(base: str, field: str, at: int, scope: Scope) -> Kind:
    if base not in scope.kinds:
        raise ExprError(_unknown(base, scope), at, fault="name")
    kind = scope.kind(base)
    if isinstance(kind, ADTKind):
        return _adt_field(base, field, kind, at, scope)
    if field != "value":
        raise ExprError(f"{base} must have a field {field}, it is {kind}", at, fault="kind")
    if not isinstance(scope.kinds[base], MaybeKind):
        raise ExprError(
            f"{base} must be a Maybe value to have .value, it is {kind}", at, fault="kind"
        )
    if isinstance(kind, MaybeKind | NoneKind):
        raise ExprError(
            f"{base}.value must stand where present({base}) holds",
            at,
            f"write {base}.value if present({base}) else ...",
            "kind",
        )
    return _named(base, at, scope)


def _adt_field(base: str, field: str, kind: ADTKind, at: int, scope: Scope) -> Kind:
    if field == "kind":
        return EnumKind(kind.constructors)
    key = f"{base}.{field}"
    if key in scope.narrowed:
        return scope.narrowed[key]
    fields = scope.adts[kind.name]
    without = [name for name in kind.constructors if field not in fields[name]]
    if without or not kind.constructors:
        raise ExprError(
            f"{base}.{field} must be a field of every constructor {base} may have here, got"
            f" {', '.join(without) or 'none that has it'}",
            at,
            f"guard it with {base}.kind == '<constructor>'",
            "kind",
        )
    return union_of(tuple(dict.fromkeys(fields[name][field] for name in kind.constructors)))


def _subscript(node: Subscript | SliceExpr, scope: Scope) -> Kind:
    base = infer(node.base, scope)
    if not is_sequence(base):
        raise ExprError(f"the indexed value must be a sequence, got {base}", node.at, fault="kind")
    if isinstance(node, SliceExpr):
        for bound in (node.start, node.stop):
            if bound is not None:
                _integer(bound, scope)
        return SeqKind(item_kind(base)) if isinstance(base, SeqKind) else base
    _integer(node.index, scope)
    return item_kind(base)


def _integer(node: Expr, scope: Scope) -> Kind:
    kind = infer(node, scope)
    if not fits(kind, INT):
        raise ExprError(f"{node} must be an integer, got {kind}", node.at, fault="kind")
    return kind


def _number(node: Expr, scope: Scope) -> Kind:
    kind = infer(node, scope)
    if is_number(kind):
        return kind
    if scope.opaque and fits(kind, FLOAT):
        return FLOAT
    help = ""
    if isinstance(kind, MaybeKind):
        help = f"guard it with present({node})" if isinstance(node, Name) else ""
    raise ExprError(f"{node} must be a number, got {kind}", node.at, help, "kind")


def _condition(node: Expr, scope: Scope) -> None:
    kind = infer(node, scope)
    if not isinstance(kind, BoolKind):
        raise ExprError(f"{node} must be a Bool, got {kind}", node.at, fault="kind")


def _binary(node: Binary, scope: Scope) -> Kind:
    left, right = infer(node.left, scope), infer(node.right, scope)
    if node.op == "+" and is_sequence(left) and is_sequence(right):
        joined = join(item_kind(left), item_kind(right))
        if joined is not None:
            return SeqKind(joined)
    left, right = _number(node.left, scope), _number(node.right, scope)
    if isinstance(left, FloatKind) or isinstance(right, FloatKind):
        return FLOAT
    if node.op == "-" or not (isinstance(left, DimKind) and isinstance(right, DimKind)):
        return INT
    return DIM


def _conditional(node: Conditional, test: Expr, then: Expr, otherwise: Expr, scope: Scope) -> Kind:
    _condition(test, scope)
    first = infer(then, narrow(test, scope, True))
    second = infer(otherwise, narrow(test, scope, False))
    kind = join(first, second)
    if kind is None:
        raise ExprError(
            f"the arms of a conditional must have one kind, got {first} and {second}",
            node.at,
            fault="kind",
        )
    return kind


# --- comparisons ----------------------------------------------------------------------------------


def _compare(node: Compare, scope: Scope) -> Kind:
    left = node.first
    for op, right in zip(node.ops, node.rest, strict=True):
        if op in ("in", "not in"):
            _membership(left, right, scope)
        elif op in ("==", "!="):
            _equality(left, right, scope)
        else:
            _ordering(left, right, op, scope)
        left = right
    return BOOL


def _ordering(left: Expr, right: Expr, op: str, scope: Scope) -> None:
    kinds = infer(left, scope), infer(right, scope)
    if all(is_sequence(kind) and fits(item_kind(kind), INT) for kind in kinds):
        return
    for side, kind in zip((left, right), kinds, strict=True):
        if not is_number(kind) and not (scope.opaque and fits(kind, FLOAT)):
            raise ExprError(
                f"{op} must take numbers or integer sequences, {side} is {kind}",
                side.at,
                fault="kind",
            )


def _equality(left: Expr, right: Expr, scope: Scope) -> None:
    a, b = infer(left, scope), infer(right, scope)
    for side, literal in ((left, right), (right, left)):
        if isinstance(literal, Literal) and not isinstance(side, Literal):
            _admit(side, literal, scope)
            return
    if not _comparable(a, b):
        raise ExprError(
            f"{left} must be compared with its own kind {a}, got {right}, which is {b}",
            left.at,
            fault="kind",
        )


def _membership(left: Expr, right: Expr, scope: Scope) -> None:
    if isinstance(right, TupleExpr) and all(isinstance(item, Literal) for item in right.items):
        infer(left, scope)
        for item in right.items:
            assert isinstance(item, Literal)
            _admit(left, item, scope)
        return
    kind = infer(right, scope)
    if not is_sequence(kind) or not _comparable(infer(left, scope), item_kind(kind)):
        raise ExprError(
            f"in must take a tuple or a sequence of its kind, got {kind}", right.at, fault="kind"
        )


def _admit(side: Expr, literal: Literal, scope: Scope) -> None:
    """Refuses a literal that no member of the compared kind takes."""
    kind = _declared(side, scope)
    value = literal.value
    for member in members_of(kind):
        match member:
            case EnumKind(values=values) if isinstance(value, str) and value in values:
                return
            case DTypeKind(names=names) if isinstance(value, str) and value in names:
                return
            case BoolKind() if isinstance(value, bool):
                return
            case DimKind() | IntKind() if isinstance(value, int) and not isinstance(value, bool):
                return
            case FloatKind() | NumberKind() if isinstance(value, int | float):
                return
            case OpaqueKind(text="str") if isinstance(value, str):
                return
    raise ExprError(
        f"{side} must be compared with a value of {kind}, got {literal}",
        literal.at or side.at,
        fault="literal",
    )


def _declared(side: Expr, scope: Scope) -> Kind:
    if isinstance(side, Name) and side.id in scope.kinds:
        return scope.kinds[side.id]
    return infer(side, scope)


def _comparable(a: Kind, b: Kind) -> bool:
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
                case _ if type(left) is type(right) and not isinstance(left, TensorLike):
                    return True
    return False


TensorLike = type(TENSOR)


# --- calls ----------------------------------------------------------------------------------------


def _call(node: Call, scope: Scope) -> Kind:
    primitive = scope.functions.get(node.function)
    if primitive is None:
        known = ", ".join(sorted(scope.functions))
        raise ExprError(
            f"{node.function} must be a built-in function, known are {known}",
            node.at,
            fault="function",
        )
    if len(node.args) == 1 and isinstance(node.args[0], Comprehension):
        return _fold(node, node.args[0], primitive, scope)
    bound = bind_arguments(node, primitive)
    kinds = tuple(
        _argument(value, formal, node, scope) for formal, value in bound if value is not None
    )
    return primitive.result(kinds)


def bind_arguments(node: Call, primitive: Primitive) -> list[tuple[Formal, Expr | None]]:
    """The formals of a primitive with the expressions a call gives them. Raises `ExprError`."""
    formals = list(primitive.formals)
    if primitive.variadic:
        formals += [formals[-1]] * (len(node.args) - len(formals))
        if not node.args:
            raise ExprError(
                f"{node.function} must have at least one argument", node.at, fault="function"
            )
    if len(node.args) > len(formals):
        raise ExprError(
            f"{node.function} must take at most {len(formals)} arguments, got {len(node.args)}",
            node.at,
            fault="function",
        )
    bound: list[tuple[Formal, Expr | None]] = list(zip(formals, node.args, strict=False))
    keywords = dict(node.keywords)
    if len(keywords) != len(node.keywords):
        raise ExprError(
            f"{node.function} must be given an argument once", node.at, fault="function"
        )
    for formal in formals[len(node.args) :]:
        value = keywords.pop(formal.name, None)
        if value is None and not formal.optional:
            raise ExprError(
                f"{node.function} must be given {formal.name}", node.at, fault="function"
            )
        bound.append((formal, value))
    if keywords:
        raise ExprError(
            f"{node.function} must be given its own arguments, got {', '.join(sorted(keywords))}",
            node.at,
            fault="function",
        )
    return bound


def _argument(value: Expr, formal: Formal, node: Call, scope: Scope) -> Kind:
    kind = infer(value, scope)
    if isinstance(value, Literal) and isinstance(value.value, str) and value.value in DTYPES:
        as_dtype = DTypeKind((value.value,))
        if fits(as_dtype, formal.kind):
            return as_dtype
    expected = formal.kind
    if isinstance(expected, ADTKind) and isinstance(kind, ADTKind):
        return kind
    if not fits(kind, expected):
        raise ExprError(
            f"{node.function} must take {expected} as {formal.name}, {value} is {kind}",
            value.at,
            fault="kind",
        )
    return kind


def _fold(node: Call, comprehension: Comprehension, primitive: Primitive, scope: Scope) -> Kind:
    source = infer(comprehension.source, scope)
    if not is_sequence(source):
        raise ExprError(
            f"a comprehension must run over a sequence, {comprehension.source} is {source}",
            comprehension.at,
            fault="kind",
        )
    inner = scope.bind(comprehension.variable, item_kind(source))
    body = infer(comprehension.body, inner)
    expected = SEQ_BOOL if node.function == "all" else SEQ_INT
    if not fits(body, expected.item):
        raise ExprError(
            f"{node.function} must take {expected.item} items, {comprehension.body} is {body}",
            comprehension.at,
            fault="kind",
        )
    return primitive.result((SeqKind(body),))


# --- narrowing ------------------------------------------------------------------------------------


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
            kind = _restrict(infer(left, scope), values, keep) or infer(left, scope)
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
