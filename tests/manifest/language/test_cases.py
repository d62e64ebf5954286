"""Static text cases of names, expressions and narrowing: the expected code on the offending line."""

from __future__ import annotations

import pytest

from tests.manifest.textcases import Case, check_text, parameters


def mismatches(case: Case) -> list[str]:
    """What a case's diagnostics have too many or too few."""
    found = [(item.span.line, item.code.id, item.message) for item in check_text(case.text).items]
    wrong = []
    for line, code, part in case.expected:
        hit = next((f for f in found if f[:2] == (line, code) and part.strip("'\" ") in f[2]), None)
        if hit is None:
            wrong.append(f"line {line}: no {code} with {part!r}")
        else:
            found.remove(hit)
    return wrong + [f"line {line}: {code} {message}" for line, code, message in found]


NAMES = ("names", "expressions", "narrowing", "signatures", "families", "effects")


@pytest.mark.parametrize("case", [case for name in NAMES for case in parameters(name)])
def test_diagnostics_stand_on_the_lines_that_are_marked(case: Case) -> None:
    wrong = mismatches(case)
    if wrong:
        pytest.fail("\n".join((*wrong, case.text)), pytrace=False)
