"""The reference page: its examples load, its rules are numbered once, tests name rules it has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.manifest.textcases import check_signature, check_text

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "manifest.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
RULES = re.findall(r"^- \*\*([A-Z]+-\d+)\*\*", PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_load(text: str) -> None:
    if not re.match(r"forall|params|inputs|outputs|\w+Op:", text):
        pytest.fail(f"an example is a signature or an entry:\n{text}")
    checked = check_text(text) if re.match(r"\w+Op:", text) else check_signature(text.rstrip("\n"))
    assert checked.plan is not None and not checked.items, checked.items


def test_rules_are_numbered_once_and_without_gaps() -> None:
    assert len(set(RULES)) == len(RULES)
    for prefix in {rule.partition("-")[0] for rule in RULES}:
        numbers = [int(rule.partition("-")[2]) for rule in RULES if rule.startswith(f"{prefix}-")]
        assert numbers == list(range(1, len(numbers) + 1)), prefix


def test_rules_that_tests_name_exist() -> None:
    named: set[str] = set()
    for path in (ROOT / "tests").rglob("*.py"):
        named |= set(
            re.findall(r"mark\.rule\(\"([A-Z]+-\d+)\"\)", path.read_text(encoding="utf-8"))
        )
    for path in (ROOT / "tests" / "manifest" / "cases").glob("*.yaml"):
        for head in re.findall(
            r"^# == .*\((.*)\)$", path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            named |= set(re.findall(r"[A-Z]+-\d+", head))
    assert named <= set(RULES), sorted(named - set(RULES))
    assert set(RULES) <= named, sorted(set(RULES) - named)
