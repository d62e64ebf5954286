"""Expressions evaluated over an environment of values.

In: a tree whose kinds were checked, and what each name is: ints (or symbolic sizes), tuples, dtype
names, strings, None, ADT values; a tensor is whatever stands for it, None when absent. Out: the
value, or `DomainError`. Generated code spells the same operations (`codegen.lower`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, assert_never

from tileops.manifest.language import symbolic
from tileops.manifest.language.functions import adt_field
from tileops.manifest.language.primitives import PRIMITIVES
from tileops.manifest.language.syntax import (
    Axes,
    Axis,
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

Env = Mapping[str, Any]


def evaluate(node: Expr, env: Env) -> Any:
    """The value of `node`. Raises `DomainError` where a primitive is outside its domain."""
    match node:
        case Literal(value=value):
            return value
        case TupleExpr(items=items):
            return tuple(evaluate(item, env) for item in items)
        case Name(id=name):
            return env[name]
        case Present(name=name):
            return env.get(name) is not None
        case Field(base=base, field=field):
            value = env[base]
            is_adt = hasattr(value, "kind") and hasattr(value, field)
            return adt_field(value, field) if is_adt else value
        case Subscript(base=base, index=index):
            return symbolic.item_of(evaluate(base, env), evaluate(index, env))
        case SliceExpr(base=base, start=start, stop=stop):
            first = None if start is None else evaluate(start, env)
            last = None if stop is None else evaluate(stop, env)
            return evaluate(base, env)[first:last]
        case Negate(operand=operand):
            return -evaluate(operand, env)
        case Not(operand=operand):
            return symbolic.negation(evaluate(operand, env))
        case Binary():
            return _binary(node, env)
        case Compare():
            return _compare(node, env)
        case BoolOp(op=op, items=items):
            return _bool_op(op, items, env)
        case Conditional(test=test, then=then, otherwise=otherwise):
            return symbolic.conditional(
                evaluate(test, env), lambda: evaluate(then, env), lambda: evaluate(otherwise, env)
            )
        case Call():
            return call(node, env)
        case Comprehension(body=body, variable=variable, source=source):
            return [evaluate(body, {**env, variable: item}) for item in evaluate(source, env)]
        case _:
            assert_never(node)


def call(node: Call, env: Env) -> Any:
    """The result of a primitive."""
    arguments = [evaluate(arg, env) for arg in node.args]
    keywords = {key: evaluate(value, env) for key, value in node.keywords}
    return PRIMITIVES[node.function].run(*arguments, **keywords)


def evaluate_shape(term: Axes, env: Env) -> tuple[Any, ...]:
    """The sizes that a written-out shape stands for."""
    sizes: list[Any] = []
    for item in term.items:
        value = evaluate(item.expr, env)
        if isinstance(item, Axis):
            sizes.append(value)
        else:
            sizes.extend(value)
    return tuple(sizes)


def _binary(node: Binary, env: Env) -> Any:
    left, right = evaluate(node.left, env), evaluate(node.right, env)
    match node.op:
        case "+":
            if isinstance(left, list | tuple):
                return tuple(left) + tuple(right)
            return left + right
        case "-":
            return left - right
        case "*":
            return symbolic.times(left, right)
        case "//":
            return symbolic.floor_div(left, right)
        case _:
            return symbolic.modulo(left, right)


def _compare(node: Compare, env: Env) -> Any:
    values = [evaluate(node.first, env), *(evaluate(item, env) for item in node.rest)]
    result: Any = True
    for at, op in enumerate(node.ops):
        result = symbolic.conjunction(result, partial(compare, op, values[at], values[at + 1]))
    return result


def compare(op: str, left: Any, right: Any) -> Any:
    """One comparison of two values."""
    if op in ("in", "not in"):
        hit = symbolic.member(left, right)
        return hit if op == "in" else symbolic.negation(hit)
    sequences = isinstance(left, list | tuple) and isinstance(right, list | tuple)
    match op:
        case "==":
            return symbolic.same_sequence(left, right) if sequences else left == right
        case "!=":
            if sequences:
                return symbolic.negation(symbolic.same_sequence(left, right))
            return left != right
    if sequences:
        left, right = tuple(left), tuple(right)
    match op:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case _:
            return left >= right


def _bool_op(op: str, items: tuple[Expr, ...], env: Env) -> Any:
    join = symbolic.conjunction if op == "and" else symbolic.disjunction
    result: Any = op == "and"
    for item in items:
        result = join(result, partial(evaluate, item, env))
    return result
