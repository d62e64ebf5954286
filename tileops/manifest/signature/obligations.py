"""Obligations: axes and spliced elements that their kind does not already keep non-negative.

In: a checked signature. Out: one rule item per distinct expression and guard. An obligation on an
input's axis that only parameters decide is `implied` where the axis is compared with a real size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tileops.manifest.language.infer import infer
from tileops.manifest.language.kinds import DimKind, SeqKind
from tileops.manifest.language.narrowing import narrow
from tileops.manifest.language.parse import ExprError
from tileops.manifest.language.scope import Scope
from tileops.manifest.language.syntax import (
    Axis,
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Expr,
    Literal,
    Name,
    Present,
    ShapeTerm,
    names_in,
)
from tileops.manifest.signature.alternatives import Alternative
from tileops.manifest.signature.items import RuleItem
from tileops.manifest.signature.model import Role, Signature, Tensor
from tileops.manifest.signature.points import Discriminants
from tileops.manifest.signature.reading import both

Expand = Callable[[ShapeTerm, Signature], tuple[Alternative, ...]]


def obligations(
    signature: Signature, discriminants: Discriminants, expand: Expand
) -> Iterator[RuleItem]:
    """Every obligation of the signature, once."""
    seen: set[tuple[str, str | None]] = set()
    params = {param.name for param in signature.params}
    for tensor in signature.tensors:
        for alternative in expand(tensor.shape, signature):
            guard = both(_presence(tensor), alternative.guard)
            for item in alternative.axes.items:
                single = isinstance(item, Axis)
                real = tensor.role is not Role.OUTPUT
                # A real size is never negative, so only what parameters alone decide is left.
                if (real and not names_in(item.expr) <= params) or not _may_be_negative(
                    item.expr, single, guard, signature
                ):
                    continue
                key = (str(item.expr), None if guard is None else str(guard))
                if key in seen or (key[0], None) in seen:
                    continue
                seen.add(key)
                yield RuleItem(
                    _non_negative(item.expr, single),
                    "obligation",
                    tensor.decl.shape,
                    guard,
                    f"{item.expr} of {tensor.name}",
                    implied=real,
                )


def _presence(tensor: Tensor) -> Expr | None:
    if tensor.role is Role.OUTPUT or tensor.presence is None:
        return tensor.presence
    return Present(tensor.name)


def _non_negative(expr: Expr, single: bool) -> Expr:
    if single:
        return Compare(expr, (">=",), (Literal(0),))
    item = Compare(Name("_n"), (">=",), (Literal(0),))
    return Call("all", (Comprehension(item, "_n", expr),))


def _may_be_negative(expr: Expr, single: bool, guard: Expr | None, signature: Signature) -> bool:
    fields = {name: adt.fields for name, adt in signature.adts.items()}
    scope = Scope(dict(signature.kinds), fields)
    parts = guard.items if isinstance(guard, BoolOp) and guard.op == "and" else (guard,)
    try:
        for part in parts:
            if part is not None and names_in(part) <= signature.kinds.keys():
                scope = narrow(part, scope, True)
        kind = infer(expr, scope)
    except ExprError:
        return True
    if single:
        return not isinstance(kind, DimKind)
    return isinstance(kind, SeqKind) and not isinstance(kind.item, DimKind)
