"""Whatever the text is, reading it ends soon and in findings."""

from __future__ import annotations

import random
import tracemalloc

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tileops.diagnostics.model import Findings
from tileops.diagnostics.text import render
from tileops.manifest import tree
from tileops.manifest.source import (
    MAX_BYTES,
    MappingNode,
    Node,
    ScalarNode,
    parse_entry,
    parse_text,
    split_entries,
)

# A run-away reader is stopped by this and fails; nothing asserts on how long a good one takes.
pytestmark = pytest.mark.timeout(120)


def read(text: str) -> set[str]:
    findings = Findings()
    parse_text(text, "a.yaml", findings)
    render(findings, {"a.yaml": text})
    return {item.code.id for item in findings}


def plain(node: Node) -> object:
    match node:
        case ScalarNode():
            return node.value
        case MappingNode():
            return {key.value: plain(value) for key, value in node.entries}
        case _:
            return [plain(item) for item in node.items]


def laughs() -> str:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    for i in range(1, 30):
        lines.append(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]")
    return "\n".join(lines)


def tower() -> str:
    lines = ["l0: &l0 [x]"] + [f"l{i}: &l{i} [*l{i - 1}]" for i in range(1, 100)]
    return "\n".join(lines)


FULL = MAX_BYTES - 16


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("a: " + "x" * 10_000_000, {"TO105"}),
        ("a: " + "[" * FULL, {"TO106"}),
        ("a: " + "{a: " * (FULL // 4), {"TO106"}),
        ("- " * (FULL // 2), {"TO106"}),
        ("? " * (FULL // 2), {"TO106"}),
        (laughs(), {"TO107"}),
        (tower(), {"TO106"}),
        ("a: [" + "1," * (FULL // 2) + "]", {"TO105"}),
        ("a: 1\n" * (FULL // 5), {"TO105"}),
        ("a: 1\n" * 100_000, {"TO102"}),
        ("a: 1" + ":1" * (FULL // 2), set()),
        ("a: " + "9" * FULL, set()),
        ("a: " + "1_" * (FULL // 2), set()),
        ("a: !!int " + "9" * (FULL - 16), {"TO112"}),
        ("a: !!float 1" + ":1" * (FULL // 2 - 16), {"TO112"}),
        ("x" * FULL, {"TO110"}),
        ('a: "' + "\\" * FULL, {"TO101"}),
        ("a: '" + "\n" * FULL, {"TO101"}),
        ("&a " * (FULL // 3), {"TO101"}),
        ("a: &" + "x" * FULL, set()),
        ("a: *" + "x" * FULL, {"TO101"}),
        ("a: !" + "x" * FULL, {"TO104"}),
        ("%TAG ! tag:yaml.org,2002:python/\n---\na: !object 1\n", {"TO104"}),
        ("\x00" * 1000, {"TO101"}),
        ("a: \ud800", {"TO101"}),
    ],
    ids=range(25),
)
def test_hostile_text(text: str, codes: set[str]) -> None:
    assert read(text) == codes


def test_memory_stays_bounded_when_aliases_explode() -> None:
    tracemalloc.start()
    read(laughs())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50 * 2**20


YAML_CHARS = st.text(alphabet="ab01 :-?[]{},&*!|>'\"%@`#\n\t\\~<.é\x00\x85", max_size=80)


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(YAML_CHARS)
def test_any_text_gives_a_tree_or_findings(text: str) -> None:
    findings = Findings()
    result = parse_text(text, "a.yaml", findings)
    assert result is not None or findings.errors
    lines = text.count("\n") + text.count("\x85") + 1
    assert all(1 <= item.span.line <= lines and item.span.column >= 1 for item in findings)
    render(findings, {"a.yaml": text})
    for name, place in (split_entries(text) or {}).items():
        parse_entry(text, "a.yaml", name, place, Findings())


# PyYAML writes the other line breaks of YAML 1.1 in a form that it reads back as spaces.
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x85\u2028\u2029"), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.from_regex(r"[A-Z][a-z]{0,5}Op", fullmatch=True), VALUES, min_size=1))
def test_what_yaml_dumps_reads_back(value: dict[str, object]) -> None:
    text = yaml.safe_dump(value, allow_unicode=True)
    findings = Findings()
    result = parse_text(text, "a.yaml", findings)
    assert result is not None and not len(findings)
    assert plain(result) == yaml.safe_load(text) == value
    for name, place in (split_entries(text) or {}).items():
        entry = parse_entry(text, "a.yaml", name, place, findings)
        assert entry is not None and plain(entry[1]) == value[name]


def test_mangled_manifests(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = yaml.safe_dump({f"Op{i}": {"family": "x", "rows": [[1, {"a": "b"}]]} for i in range(5)})
    source = random.Random(0)
    for loader in (yaml.CSafeLoader, yaml.SafeLoader):
        monkeypatch.setattr(tree, "_LOADER", loader)
        for _ in range(150):
            chars = list(seed)
            for _ in range(source.randrange(1, 6)):
                chars[source.randrange(len(chars))] = source.choice("\n\t:[]{}&*!'\"-? \x00\xa0")
            read("".join(chars))
        assert read("a: [1\nb: 2\n") == {"TO101"}
        assert read("no: 1\na: 'x'\n") == set()
