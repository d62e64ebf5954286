"""Which argument of a call goes to which formal of a primitive, generator or predicate."""

from __future__ import annotations

from tileops.manifest.language.parse import ExprError
from tileops.manifest.language.primitives import Formal, Primitive
from tileops.manifest.language.syntax import Call, Expr


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
