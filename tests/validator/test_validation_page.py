"""docs/validation.md names rules, codes and files that exist, and every rule there is."""

from __future__ import annotations

import re
from pathlib import Path

from tileops.diagnostics.codes import CODES
from tileops.validator.rules import RULES

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in TEXT.splitlines() if line.startswith("| ")]


def test_every_rule_is_in_the_table() -> None:
    named = {word for row in ROWS for word in re.findall(r"[a-z]+", row[1])}
    assert {rule.name for rule in RULES} <= named


def test_every_code_exists() -> None:
    known = {code.id for code in CODES}
    assert set(re.findall(r"TO\d+", TEXT)) <= known


def test_every_file_exists() -> None:
    for path in re.findall(r"\b(?:compile_tests|tests|tileops|docs)/[\w/.-]+\w", TEXT):
        assert (ROOT / path).exists(), path
