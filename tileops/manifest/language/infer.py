"""Kinds of expressions, with the narrowing that guards bring.

In: a tree and a `Scope` (what each name is). Out: the kind of the expression, or `ExprError` with
the offset of the part that does not fit. Kinds follow table 4; guards narrow in the arm selected.
"""

from __future__ import annotations

from tileops.manifest.dtypes import DTYPES
from tileops.manifest.language.arguments import bind_arguments
from tileops.manifest.language.kinds import (
    BOOL,
    DIM,
    FLOAT,
    INT,
    NONE,
    SEQ_BOOL,
    SEQ_INT,
    ADTKind,
    BoolKind,
    DimKind,
    DTypeKind,
    EnumKind,
    FloatKind,
    IntKind,
    Kind,
    MaybeKind,
    NumberKind,
    OpaqueKind,
    SeqKind,
    comparable,
    fits,
    is_number,
    is_sequence,
    item_kind,
    join,
    members_of,
)
from tileops.manifest.language.narrowing import narrow
from tileops.manifest.language.parse import ExprError
from tileops.manifest.language.primitives import Formal, Primitive
from tileops.manifest.language.scope import (
    Scope,
    field_kind,
    named_kind,
    present_kind,
)
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


def infer(node: Expr, scope: Scope) -> Kind:
    """The kind of `node`. Raises `ExprError`."""
    match node:
        case Literal(value=value):
            return _literal(value)
        case TupleExpr(items=items):
            return _tuple(node, [infer(item, scope) for item in items])
        case Name(id=name):
            return named_kind(name, node.at, scope)
        case Present(name=name):
            return present_kind(name, node.at, scope)
        case Field(base=base, field=field):
            return field_kind(base, field, node.at, scope)
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
    return _as_number(node, infer(node, scope), scope)


def _as_number(node: Expr, kind: Kind, scope: Scope) -> Kind:
    """The kind of a number. It was inferred once: twice at each level would be exponential."""
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
    left, right = _as_number(node.left, left, scope), _as_number(node.right, right, scope)
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
    if not comparable(a, b):
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
    if not is_sequence(kind) or not comparable(infer(left, scope), item_kind(kind)):
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
