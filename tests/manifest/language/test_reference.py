"""The reference page: its examples load, its tables are complete, its rules have tests."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.manifest.textcases import SPEC, check_signature
from tests.rules import documented, faults
from tileops.manifest.language.generators import GENERATORS
from tileops.manifest.language.predicates import PREDICATES
from tileops.manifest.language.primitives import PRIMITIVES, Primitive
from tileops.validator.runner import validate

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "manifest.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL))
RULES = documented(ROOT)


def example_id(text: str) -> str:
    return text.partition("\n")[0].strip(":{} ")[:24]


@pytest.mark.parametrize("text", EXAMPLES, ids=example_id)
def test_examples_load(text: str, tmp_path: Path) -> None:
    """An entry passes every rule that needs no code; the body of a signature has a plan."""
    if re.match(r"\w+Op:", text):
        (tmp_path / "reference.yaml").write_text(text, encoding="utf-8")
        (tmp_path / "types.yaml").write_bytes((SPEC / "types.yaml").read_bytes())
        report = validate(tmp_path)
        assert report.findings.items == [] and report.cases
        return
    if not re.match(r"forall|params|inputs|outputs", text):
        pytest.fail(f"an example is a signature or an entry:\n{text}")
    checked = check_signature(text.rstrip("\n"))
    assert checked.plan is not None and not checked.items, checked.items


def test_every_section_has_an_example() -> None:
    without = [title for title, text in SECTIONS.items() if "```yaml" not in text]
    assert without == ["Where the tables of the specification are"]


def rows(section: str) -> list[list[str]]:
    """The cells of a section's first table."""
    lines = SECTIONS[section].split("\n")
    start = next(at for at, line in enumerate(lines) if line.startswith("|"))
    table = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.replace("\\|", "\0").strip("|").split("|")])
    return table


def written(primitive: Primitive) -> str:
    formals = [formal.name + ("=" if formal.optional else "") for formal in primitive.formals]
    return f"`{primitive.name}({', '.join([*formals, *(['...'] if primitive.variadic else [])])})`"


def calls(members: Iterable[Primitive]) -> list[str]:
    return [written(member) for member in members]


@pytest.mark.rule("PRM-1", "PRM-5")
def test_the_table_of_primitives_has_every_member() -> None:
    assert [row[0] for row in rows("Primitives")] == calls(PRIMITIVES.values())
    lists = [row[0] for row in rows("Primitives") if row[1] == "Seq[Int]"]
    assert lists == calls(item for item in PRIMITIVES.values() if item.yields_list)


@pytest.mark.rule("GEN-1", "PRM-5")
def test_the_table_of_generators_has_every_member() -> None:
    table = [row[:3] for row in rows("Generators")]
    assert table == [
        [
            written(item.primitive),
            "of `shape`" if item.rank is None else str(item.rank),
            "yes" if item.seeded else "",
        ]
        for item in GENERATORS.values()
    ]


@pytest.mark.rule("PRD-1", "PRM-5")
def test_the_table_of_predicates_has_every_member() -> None:
    table = [row[:2] for row in rows("Predicates")]
    assert table == [
        [written(item.primitive), "any" if item.rank is None else str(item.rank)]
        for item in PREDICATES.values()
    ]


def test_every_table_of_the_specification_is_in_rules() -> None:
    table = rows("Where the tables of the specification are")
    assert [row[0] for row in table] == [str(number) for number in range(1, 20)]
    for number, _, text in table:
        assert set(text.split(", ")) <= set(RULES), number


def test_rules_are_numbered_once_and_without_gaps() -> None:
    assert len(set(RULES)) == len(RULES)
    for prefix in {rule.partition("-")[0] for rule in RULES}:
        numbers = [int(rule.partition("-")[2]) for rule in RULES if rule.startswith(f"{prefix}-")]
        assert numbers == list(range(1, len(numbers) + 1)), prefix


def test_every_rule_has_a_test() -> None:
    assert faults(ROOT) == []


def test_the_check_of_rules_can_fail(tmp_path: Path) -> None:
    for folder in ("docs", "tests/manifest/cases", "compile_tests"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "docs/manifest.md").write_text("- **SIG-1** a\n- **SIG-2** b\n- **SIG-3** c\n")
    (tmp_path / "tests/test_a.py").write_text('@pytest.mark.rule("SIG-1", "SIG-9")\ndef f(): ...\n')
    (tmp_path / "tests/manifest/cases/a.yaml").write_text("# == a title [dense] (SIG-3)\nx: 1\n")
    assert faults(tmp_path) == [
        "docs/manifest.md: SIG-2 has no test",
        "tests/test_a.py:1: SIG-9 is no rule of docs/manifest.md",
    ]
