"""Text -> shape term whose axes, splices or family arguments have the right kinds."""

from __future__ import annotations

from collections.abc import Mapping

from tileops.manifest.language.infer import infer
from tileops.manifest.language.kinds import DIM, INT, SHAPE, fits, is_sequence, item_kind
from tileops.manifest.language.parse import ExprError, parse_shape
from tileops.manifest.language.scope import Scope
from tileops.manifest.language.syntax import Apply, Axes, Axis, Expr, ShapeTerm
from tileops.manifest.signature.model import Family


def read_shape(text: str, families: Mapping[str, Family], scope: Scope) -> ShapeTerm:
    """The shape term of a text. Raises `ExprError`."""
    term = parse_shape(text)
    if isinstance(term, Axes):
        for item in term.items:
            _check_axis(item.expr, isinstance(item, Axis), scope)
    else:
        _check_application(term, families, scope)
    return term


def _check_application(term: Apply, families: Mapping[str, Family], scope: Scope) -> None:
    name = term.family
    family = families.get(name)
    if family is None and (scope.lost is None or name in scope.lost):
        raise ExprError(f"{name} must be a family that can be read", 0, fault="lost")
    if family is None:
        known = ", ".join(sorted(families)) or "none"
        raise ExprError(f"{name} must be a type family, known are {known}", 0, fault="name")
    if len(term.args) != len(family.formals):
        raise ExprError(
            f"{name} must take {len(family.formals)} arguments, got {len(term.args)}",
            0,
            fault="function",
        )
    for (formal, expected), arg in zip(family.formals, term.args, strict=True):
        kind = infer(arg, scope)
        if not fits(kind, expected) and not (fits(kind, INT) and expected == DIM):
            raise ExprError(
                f"{name} must take a {expected} as {formal}, {arg} is {kind}",
                arg.at,
                fault="kind",
            )


def _check_axis(expr: Expr, single: bool, scope: Scope) -> None:
    kind = infer(expr, scope)
    if single:
        if not fits(kind, INT):
            raise ExprError(f"an axis must be an integer, {expr} is {kind}", expr.at, fault="kind")
        return
    if kind != SHAPE and not (is_sequence(kind) and fits(item_kind(kind), INT)):
        what = f"{expr} is {kind}"
        raise ExprError(
            f"a splice must be a Shape or a list of ints, {what}", expr.at, fault="kind"
        )
