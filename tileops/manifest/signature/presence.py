"""When optional and nullable tensors are there, and what their conditions may read.

In: the checker of an entry. Out: one condition per tensor, and findings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tileops.diagnostics import codes
from tileops.manifest.entry import Text
from tileops.manifest.language.kinds import BoolKind
from tileops.manifest.language.syntax import Expr, Present
from tileops.manifest.language.syntax import names_in as free_names
from tileops.manifest.signature.model import GROUPS, Role
from tileops.manifest.signature.points import Discriminants

if TYPE_CHECKING:
    from tileops.manifest.signature.check import Checker


def presences(checker: Checker) -> dict[str, Expr]:
    """The condition under which each optional or nullable tensor is there."""
    result: dict[str, Expr] = {}
    for decl, role in checker.declared():
        name = decl.name.text
        declared = decl.nullable if role is Role.OUTPUT else decl.optional
        if declared is True:
            result[name] = Present(name)
        elif isinstance(declared, Text):
            found = checker.expression(declared, _path(name, role), checker.scope(), BoolKind())
            # A broken condition was reported; the tensor still counts as optional.
            result[name] = Present(name) if found is None else found[0]
    if any(decl.buffer is not None for decl in checker.entry.outputs):
        result["out"] = Present("out")
    return acyclic(checker, result)


def _path(name: str, role: Role) -> str:
    """The field that says when a tensor is there."""
    key = "nullable" if role is Role.OUTPUT else "optional"
    return f"signature.{GROUPS[role]}.{name}.{key}"


def acyclic(checker: Checker, presences: dict[str, Expr]) -> dict[str, Expr]:
    """The presences with those that depend on themselves reported and made independent."""

    def reached(name: str) -> frozenset[str]:
        seen: set[str] = set()
        queue = [name]
        while queue:
            at = queue.pop()
            if presences[at] == Present(at):
                continue
            new = (free_names(presences[at]) & presences.keys()) - seen
            seen |= new
            queue += new
        return frozenset(seen)

    circular = {name: reached(name) for name in presences if name in reached(name)}
    for decl, role in checker.declared():
        name = decl.name.text
        text = decl.nullable if role is Role.OUTPUT else decl.optional
        if name in circular and isinstance(text, Text):
            others = ", ".join(sorted(circular[name]))
            checker.report(
                codes.CYCLE,
                text.span,
                _path(name, role),
                f"the presence of {name} must not depend on itself, got a circle through {others}",
            )
    return {name: Present(name) if name in circular else item for name, item in presences.items()}


def check_presences(
    checker: Checker, presences: Mapping[str, Expr], discriminants: Discriminants
) -> None:
    for decl, role in checker.declared():
        text = decl.nullable if role is Role.OUTPUT else decl.optional
        if not isinstance(text, Text):
            continue
        condition = presences[decl.name.text]
        if free_names(condition) & checker.lets.keys() or not discriminants.reads(condition)[1]:
            checker.report(
                codes.BAD_PRESENCE,
                text.span,
                _path(decl.name.text, role),
                f"the presence of {decl.name} must be built from Bool and enum parameters, ADT"
                f" tags and finite fields, and present(...), got {condition}",
            )
