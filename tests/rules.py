"""Rules of the language reference against the tests that name them; `make check` runs it.

In: a checkout. Out: one line for each rule that no test is marked with, and for each mark of a rule
that the reference does not have. It reads text only: no test is imported.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
RULE = r"[A-Z]+-\d+"


def documented(root: Path) -> list[str]:
    """The rules of the reference, in order."""
    page = (root / "docs" / "manifest.md").read_text(encoding="utf-8")
    return re.findall(rf"^- \*\*({RULE})\*\*", page, flags=re.MULTILINE)


def named(root: Path) -> Iterator[tuple[str, str]]:
    """Every rule that a test names, with the place."""
    for folder in ("tests", "compile_tests"):
        for path in sorted((root / folder).rglob("*.py")):
            for rule, line in _marks(path.read_text(encoding="utf-8")):
                yield rule, f"{path.relative_to(root)}:{line}"
    for path in sorted((root / "tests" / "manifest").rglob("cases/*.yaml")):
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
            for rule in title_rules(line) if line.startswith("# == ") else ():
                yield rule, f"{path.relative_to(root)}:{number}"


def title_rules(title: str) -> list[str]:
    """The rules at the end of a text case's title: `# == title (RULE-1, RULE-2)`."""
    found = re.search(rf"\(({RULE}(?:, {RULE})*)\)$", title.strip())
    return [] if found is None else found[1].split(", ")


def _marks(text: str) -> Iterator[tuple[str, int]]:
    if "mark.rule" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rule":
            for item in node.args:
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    yield item.value, node.lineno


def faults(root: Path) -> list[str]:
    """What the reference and the marks of the tests do not agree on."""
    rules = documented(root)
    places = dict(named(root))
    untested = [f"docs/manifest.md: {rule} has no test" for rule in rules if rule not in places]
    unknown = [
        f"{place}: {rule} is no rule of docs/manifest.md"
        for rule, place in places.items()
        if rule not in rules
    ]
    return untested + unknown


def main() -> int:
    found = faults(ROOT)
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        print(f"{len(documented(ROOT))} rules, each with a test")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
