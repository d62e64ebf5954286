"""Expressions rewritten: names replaced, and conditions that are known folded away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

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
    Name,
    Negate,
    Not,
    Present,
    SliceExpr,
    Subscript,
    TupleExpr,
)


def map_children(node: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The node with every direct subexpression changed."""
    match node:
        case TupleExpr(items=items):
            return replace(node, items=tuple(map(change, items)))
        case BoolOp(items=items):
            return replace(node, items=tuple(map(change, items)))
        case Subscript(base=base, index=index):
            return replace(node, base=change(base), index=change(index))
        case SliceExpr(base=base, start=start, stop=stop):
            return replace(
                node,
                base=change(base),
                start=None if start is None else change(start),
                stop=None if stop is None else change(stop),
            )
        case Negate(operand=operand):
            return replace(node, operand=change(operand))
        case Not(operand=operand):
            return replace(node, operand=change(operand))
        case Binary(left=left, right=right):
            return replace(node, left=change(left), right=change(right))
        case Compare(first=first, rest=rest):
            return replace(node, first=change(first), rest=tuple(map(change, rest)))
        case Conditional(test=test, then=then, otherwise=otherwise):
            return replace(node, test=change(test), then=change(then), otherwise=change(otherwise))
        case Call(args=args, keywords=keywords):
            return replace(
                node,
                args=tuple(map(change, args)),
                keywords=tuple((key, change(value)) for key, value in keywords),
            )
        case _:
            return node


def replace_names(node: Expr, values: Mapping[str, Expr]) -> Expr:
    """The expression with names replaced; `present(x)` and `x.f` follow x when it is a name."""
    match node:
        case Name(id=name):
            return values.get(name, node)
        case Present(name=name) if name in values:
            value = values[name]
            return replace(node, name=value.id) if isinstance(value, Name) else Literal(True)
        case Field(base=base) if base in values:
            value = values[base]
            return replace(node, base=value.id) if isinstance(value, Name) else value
        case Comprehension(body=body, variable=variable, source=source):
            inner = {key: value for key, value in values.items() if key != variable}
            return replace(
                node, body=replace_names(body, inner), source=replace_names(source, values)
            )
        case _:
            return map_children(node, lambda child: replace_names(child, values))


def fold(node: Expr, truth: Callable[[Expr], bool | None]) -> Expr:
    """The expression at a point: conditions that `truth` decides are folded away."""
    decided = truth(node)
    if decided is not None:
        return Literal(decided)
    match node:
        case Conditional(test=test, then=then, otherwise=otherwise):
            known = truth(test)
            if known is not None:
                return fold(then if known else otherwise, truth)
        case BoolOp(op=op, items=items):
            rest = []
            for item in items:
                known = truth(item)
                if known is None:
                    rest.append(fold(item, truth))
                elif known is (op == "or"):
                    return Literal(known)
            if not rest:
                return Literal(op == "and")
            return rest[0] if len(rest) == 1 else replace(node, items=tuple(rest))
        case Comprehension(body=body, source=source):
            return replace(node, source=fold(source, truth), body=body)
    return map_children(node, lambda child: fold(child, truth))
