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
from tileops.manifest.language.syntax import Expr, walk
from tileops.manifest.language.syntax import names_in as free_names
from tileops.manifest.signature.model import Let

if TYPE_CHECKING:
    from tileops.manifest.signature.check import Checker


#: How far a let may go with the lets it reads written out: terms, and lets through lets.
MAX_TERMS = 5000
MAX_CHAIN = 50


def read_lets(checker: Checker) -> None:
    """Kinds of lets in the order of their dependencies, whatever order they stand in."""
    pending = {decl.name.text: decl for decl in checker.entry.lets}
    trees: dict[str, frozenset[str]] = {}
    extents: dict[str, tuple[int, int]] = {}
    for decl in checker.entry.lets:
        try:
            trees[decl.name.text] = free_names(parse_expression(decl.expr.text))
        except ExprError as error:
            checker.report_text(error, decl.expr, f"signature.let.{decl.name}")
            del pending[decl.name.text]
            checker.lost.add(decl.name.text)
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
            checker.lost.update(pending)
            return
        for name in ready:
            text = pending.pop(name).expr
            if trees[name].isdisjoint(checker.lost) and _is_bounded(checker, name, text, extents):
                read_let(checker, name, text)
            else:
                checker.lost.add(name)


def _is_bounded(
    checker: Checker, name: str, text: Text, extents: dict[str, tuple[int, int]]
) -> bool:
    """Whether a let stays small when it is written out, which is where its work grows."""
    expr: Expr = parse_expression(text.text)
    terms, chain = 0, 0
    for node in walk(expr):
        inner = extents.get(getattr(node, "id", ""), (0, 0))
        terms += 1 + inner[0]
        chain = max(chain, inner[1])
    if terms > MAX_TERMS or chain >= MAX_CHAIN:
        checker.report(
            codes.SYNTAX,
            text.span,
            f"signature.let.{name}",
            f"let {name} must have at most {MAX_TERMS} terms with what it reads written out, and"
            f" read at most {MAX_CHAIN} lets through one another",
        )
        return False
    extents[name] = terms, chain + 1
    return True


def read_let(checker: Checker, name: str, text: Text) -> None:
    path = f"signature.let.{name}"
    found = checker.expression(text, path, checker.scope())
    if found is None:
        checker.lost.add(name)
        return
    expr, kind = found
    if isinstance(kind, FloatKind | NumberKind | OpaqueKind) or kind == TENSOR:
        checker.report(
            codes.WRONG_KIND,
            text.span,
            path,
            f"let {name} must be a Dim or a value, got {kind}",
        )
        checker.lost.add(name)
        return
    checker.lets[name] = Let(name, expr, kind, text)
    checker.kinds.setdefault(name, kind)
