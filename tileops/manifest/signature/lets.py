"""Lets: their kinds, in the order of their dependencies.

In: the checker of an entry, which gets every sound let. Out: findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tileops.diagnostics import codes
from tileops.manifest.entry import Text
from tileops.manifest.language.kinds import (
    TENSOR,
    FloatKind,
    NumberKind,
    OpaqueKind,
)
from tileops.manifest.language.parse import ExprError, parse_expression
from tileops.manifest.language.syntax import names_in as free_names
from tileops.manifest.signature.model import Let

if TYPE_CHECKING:
    from tileops.manifest.signature.check import Checker


def read_lets(checker: Checker) -> None:
    """Kinds of lets in the order of their dependencies, whatever order they stand in."""
    pending = {decl.name.text: decl for decl in checker.entry.lets}
    trees: dict[str, frozenset[str]] = {}
    for decl in checker.entry.lets:
        try:
            trees[decl.name.text] = free_names(parse_expression(decl.expr.text))
        except ExprError as error:
            checker.report_text(error, decl.expr, f"signature.let.{decl.name}")
            del pending[decl.name.text]
    while pending:
        ready = sorted(name for name in pending if not trees[name] & pending.keys())
        if not ready:
            for name in sorted(pending):
                decl = pending[name]
                others = ", ".join(sorted(trees[name] & pending.keys()))
                checker.report(
                    codes.CYCLE,
                    decl.expr.span,
                    f"signature.let.{name}",
                    f"let {name} must not depend on itself, got a circle through {others}",
                )
            return
        for name in ready:
            read_let(checker, name, pending.pop(name).expr)


def read_let(checker: Checker, name: str, text: Text) -> None:
    path = f"signature.let.{name}"
    found = checker.expression(text, path, checker.scope())
    if found is None:
        return
    expr, kind = found
    if isinstance(kind, FloatKind | NumberKind | OpaqueKind) or kind == TENSOR:
        checker.report(
            codes.WRONG_KIND,
            text.span,
            path,
            f"let {name} must be a Dim or a value, got {kind}",
        )
        return
    checker.lets[name] = Let(name, expr, kind, text)
    checker.kinds[name] = kind
