"""Reading YAML: values, places and the findings of what is not a manifest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileops.diagnostics.model import Findings
from tileops.manifest.source import (
    MAX_BYTES,
    MappingNode,
    ScalarNode,
    SequenceNode,
    parse_entry,
    parse_text,
    read_text,
    split_entries,
)


def parse(text: str) -> MappingNode:
    findings = Findings()
    tree = parse_text(text, "a.yaml", findings)
    assert not len(findings), [item.message for item in findings]
    assert tree is not None
    return tree


def codes_of(text: str) -> list[tuple[str, int, int]]:
    findings = Findings()
    parse_text(text, "a.yaml", findings)
    return [(item.code.id, item.span.line, item.span.column) for item in findings]


def scalar(text: str) -> ScalarNode:
    node = parse(f"a: {text}\n").get("a")
    assert isinstance(node, ScalarNode)
    return node


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("0x10", 16),
        ("-1_000", -1000),
        ("1.5", 1.5),
        ("1.0e-6", 1e-6),
        (".inf", float("inf")),
        ("no", False),
        ("True", True),
        ("~", None),
        ("", None),
        ("'no'", "no"),
        ('"1"', "1"),
        ("text", "text"),
        ("2020-01-01", "2020-01-01"),
        ("!!str 1", "1"),
        ("!!float 1", 1.0),
        ("9" * 201, "9" * 201),
    ],
)
def test_scalars_follow_yaml(text: str, value: object) -> None:
    node = scalar(text)
    assert node.value == value
    assert type(node.value) is type(value)


def test_keys_keep_what_was_written() -> None:
    keys = [key for key, _ in parse("no: 1\n1: 2\nnull: 3\n'no': 4\n<<: 5\n").entries]
    assert [key.value for key in keys] == [False, 1, None, "no", "<<"]
    assert [key.text for key in keys] == ["no", "1", "null", "no", "<<"]
    assert [key.plain for key in keys] == [True, True, True, False, True]


def test_places_count_characters_from_one() -> None:
    tree = parse("ä:\n  - 'x y'\n  - {k: [1]}\n")
    items = tree.get("ä")
    assert isinstance(items, SequenceNode)
    first, second = items.items
    assert (first.span.line, first.span.column, first.span.length) == (2, 5, 5)
    assert isinstance(second, MappingNode)
    key, value = second.entries[0]
    assert (key.span.line, key.span.column) == (3, 6)
    assert (value.span.line, value.span.column) == (3, 9)


def test_place_inside_a_scalar() -> None:
    assert scalar("[*S, N]".replace("[", "'[").replace("]", "]'")).place(2).column == 7
    assert scalar("M * N").place(4, 1).column == 8
    escaped = scalar(r'"a\tb"')
    assert escaped.place(2) == escaped.span


def test_an_alias_is_the_node_it_names() -> None:
    tree = parse("a: &x {k: 1}\nb: *x\n")
    assert tree.get("a") is tree.get("b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [1\nb: 2\n", [("TO101", 2, 2)]),
        ("a: b: c\n", [("TO101", 1, 5)]),
        ("a: *x\n", [("TO101", 1, 4)]),
        ("a: 1\n---\nb: 2\n", [("TO101", 2, 1)]),
        ("a: 1\nb: \x07\n", [("TO101", 2, 4)]),
        ("a: 1\nb: 2\na: 3\n", [("TO102", 3, 1)]),
        ("a: {x: 1, 'x': 2}\n", [("TO102", 1, 11)]),
        ("[1]: 2\na: 1\n", [("TO103", 1, 1)]),
        ("a: !!python/name:os.system x\n", [("TO104", 1, 4)]),
        ("a: !local [1]\nb: !!set {x}\n", [("TO104", 1, 4), ("TO104", 2, 4)]),
        ("a: " + "[" * 60, [("TO106", 1, 43)]),
        ("a: &x [1, *x]\n", [("TO107", 1, 11)]),
        ("", [("TO110", 1, 1)]),
        ("# nothing\n", [("TO110", 1, 1)]),
        ("{}\n", [("TO110", 1, 1)]),
        ("- 1\n", [("TO110", 1, 1)]),
        ("a: !!int x\n", [("TO112", 1, 4)]),
        ("a: !!bool 2\n", [("TO112", 1, 4)]),
        ("a: 0b_\n", [("TO112", 1, 4)]),
    ],
)
def test_findings(text: str, expected: list[tuple[str, int, int]]) -> None:
    assert codes_of(text) == expected


def test_a_part_with_a_finding_does_not_hide_the_rest() -> None:
    findings = Findings()
    tree = parse_text("a: 1\na: 2\nb: !x 3\n", "a.yaml", findings)
    assert tree is not None
    assert [key.value for key, _ in tree.entries] == ["a", "b"]


def test_a_duplicate_key_shows_the_first() -> None:
    findings = Findings()
    parse_text("a: 1\nb: 2\na: 3\n", "a.yaml", findings)
    (finding,) = findings
    assert [label.span.line for label in finding.labels] == [1]


@pytest.mark.parametrize(
    ("data", "code", "place"),
    [
        (b"a: 1\nb: \xff\n", "TO108", (2, 4)),
        ("a: 1\n".encode("utf-16"), "TO108", (1, 1)),
        (b"a" * (MAX_BYTES + 1), "TO105", (1, 1)),
    ],
)
def test_bytes_that_are_no_manifest(
    tmp_path: Path, data: bytes, code: str, place: tuple[int, int]
) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(data)
    findings = Findings()
    assert read_text(path, "a.yaml", findings) is None
    (finding,) = findings
    assert (finding.code.id, finding.span.line, finding.span.column) == (code, *place)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.yaml", tmp_path, Path("/dev/zero")):
        findings = Findings()
        assert read_text(path, "a.yaml", findings) is None
        assert [item.code.id for item in findings] == ["TO109"]


def test_a_byte_order_mark_is_no_character(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    findings = Findings()
    text = read_text(path, "a.yaml", findings)
    assert text is not None
    assert parse(text).entries[0][0].span.column == 1
    assert split_entries(text) == {"a": (1, 2)}


FLAT = """\
# A comment.
AOp:
  family: x
  text: |
    more

BOp: {family: x}
# Another.
COp:
"""


def test_split_entries_gives_lines() -> None:
    assert split_entries(FLAT) == {"AOp": (2, 6), "BOp": (7, 8), "COp": (9, 10)}


@pytest.mark.parametrize(
    "text",
    ["{a: 1}", "'a': 1\n", "a: 1\na: 2\n", "---\na: 1\n", "a:\n- 1\n", "? a\n: 1\n", "\ta: 1"],
)
def test_split_entries_leaves_what_is_not_flat(text: str) -> None:
    assert split_entries(text) is None


def test_an_entry_alone_is_the_entry_in_the_whole() -> None:
    whole = parse(FLAT)
    lines = split_entries(FLAT)
    assert lines is not None
    for key, value in whole.entries:
        findings = Findings()
        name = str(key.value)
        assert parse_entry(FLAT, "a.yaml", name, lines[name], findings) == (key, value)
        assert not len(findings)


@pytest.mark.parametrize(
    "text", ["a: &x {k: 1}\nb: *x\n", "a: 'one\nb: two'\n", 'a: "one\nb: two"\nc: 1\n']
)
def test_an_entry_that_leans_on_the_file_is_found_in_the_whole(text: str) -> None:
    index = split_entries(text)
    assert index is not None
    for key, value in parse(text).entries:
        findings = Findings()
        name = str(key.value)
        assert parse_entry(text, "a.yaml", name, index[name], findings) == (key, value)
        assert not len(findings)


def test_a_broken_entry_does_not_hide_the_others() -> None:
    text = "a: [1\nb: 2\n"
    index = split_entries(text)
    assert index is not None
    findings = Findings()
    assert parse_entry(text, "a.yaml", "b", index["b"], findings) is not None
    assert not len(findings)
    assert parse_entry(text, "a.yaml", "a", index["a"], findings) is None
    assert [item.code.id for item in findings] == ["TO101"]
