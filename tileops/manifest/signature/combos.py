"""Rows of dtype_combos.

In: the checker of an entry. Out: the rows that are sound, and findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tileops.diagnostics import codes
from tileops.diagnostics.model import Label
from tileops.manifest.language.kinds import (
    TENSOR,
    DTypeKind,
    members_of,
)

if TYPE_CHECKING:
    from tileops.manifest.signature.check import Checker


def combos(checker: Checker) -> tuple[tuple[tuple[str, str], ...], ...]:
    path = "signature.dtype_combos"
    rows: list[tuple[tuple[str, str], ...]] = []
    names: tuple[str, ...] | None = None
    if any(item.startswith(path) for item in checker.entry.unreadable):
        return ()
    for combo in checker.entry.combos:
        keys = tuple(sorted(name.text for name, _ in combo.items))
        if names is not None and keys != names:
            checker.report(
                codes.BAD_COMBO,
                combo.span,
                path,
                f"every row of dtype_combos must have the keys {', '.join(names)},"
                f" got {', '.join(keys)}",
            )
            continue
        names = keys
        for name, value in combo.items:
            if checker.lost_section or name.text in checker.lost:
                continue
            kinds = members_of(checker.kinds.get(name.text, TENSOR))
            sets = [kind for kind in kinds if isinstance(kind, DTypeKind)]
            if not sets:
                checker.report(
                    codes.BAD_COMBO,
                    name.span,
                    path,
                    f"{name} must be a DType index or a dtype parameter",
                )
            elif not any(value.text in kind.names for kind in sets):
                checker.report(
                    codes.BAD_COMBO,
                    value.span,
                    path,
                    f"{name} must be in {sets[0]}, got {value}",
                )
        row = tuple(sorted((name.text, value.text) for name, value in combo.items))
        if row in rows:
            shown = ", ".join(f"{name}: {value}" for name, value in row)
            first = checker.entry.combos[rows.index(row)].span
            checker.report(
                codes.BAD_COMBO,
                combo.span,
                path,
                f"rows of dtype_combos must be distinct, got {shown} again",
                labels=(Label(first, "first given here"),),
            )
        rows.append(row)
    return tuple(rows)
