"""What messages are like and where findings stand, over everything that the text cases give."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.manifest.textcases import CASES, check_text, read_cases
from tests.validator.examples import findings_in
from tileops.diagnostics.codes import CODES
from tileops.diagnostics.explain import explain
from tileops.diagnostics.model import Diagnostic
from tileops.validator.runner import validate


def style_fault(item: Diagnostic, text: str) -> str:
    """What is wrong with the form of a message: one sentence, lower case, no full stop, must."""
    message = item.message
    first = re.match(r"\w*", message)
    assert first is not None
    # What is cut ends in three of them.
    if message.removesuffix("...").endswith((".", "!")) or re.search(r"[a-z]\. [A-Z]", message):
        return "more than one sentence, or a full stop"
    if message[:1].isupper() and first.group() not in text:
        return "a capital that no name has"
    if not re.search(r"\b(must|should)\b", message):
        return "no must"
    return ""


def test_messages_of_the_text_cases_have_one_style() -> None:
    faults = set()
    for path in sorted(CASES.glob("*.yaml")):
        for case in read_cases(path):
            for item in check_text(case.text).items:
                fault = style_fault(item, case.text)
                if fault:
                    faults.add(f"{item.code.id} {item.message}: {fault}")
    assert sorted(faults) == []


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.id)
def test_messages_of_the_examples_have_one_style(code, tmp_path: Path) -> None:
    page = explain(code)
    text = "".join(block.text for block in page.fails) + "ExampleFwdOp"
    for item in findings_in(page.fails, tmp_path / f"{code.id}_style", code.id < "TO120"):
        assert style_fault(item, text) == "", item.message


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("The text must be so", "a capital that no name has"),
        ("the text must be so.", "more than one sentence, or a full stop"),
        ("the text is wrong", "no must"),
    ],
)
def test_the_check_of_style_can_fail(message: str, fault: str) -> None:
    from tileops.diagnostics.model import Span

    assert style_fault(Diagnostic(CODES[0], Span("a", 1, 1), message), "") == fault


# --- places ---------------------------------------------------------------------------------------

ENTRY = """\
CopyFwdOp:
  family: toy
  status: implemented
  signature:
    forall: {N: Dim, M: Dim, K: Dim}
    params: {t: {type: bool, default: false}}
    inputs:
      x: {dtype: float32, shape: "Mat[N, M, t]"}
      w: {dtype: float32, shape: "[N]", optional: true}
    outputs:
      y: {dtype: float32, shape: "[N]"}
    types:
      Mat:
        params: {R: Dim, C: Dim, t: Bool}
        match: t
        cases:
          - {when: false, is: "[R, C]"}
          - {when: true, is: "[C, R]"}
    let: {L: "N + 1"}
    shape_rules: ["N % L == N", "M > 1"]
  workloads:
    - {label: plain, N: 4, M: 2}
    - {label: scaled, N: 4, M: 2, some: [w]}
  roofline: {flops: "N"}
"""
BASE = ENTRY.replace(", K: Dim", "")

#: (what is changed, the place that must be underlined, the place that a label must underline).
PLACES = {
    "the use of an unsolved index": (
        BASE.replace("M: Dim}", "M: Dim, K: Dim}").replace('y: {dtype: float32, shape: "[N]"}', 'y: {dtype: float32, shape: "[N, @K]"}'),
        "TO301", "",
    ),
    "an unsolved argument of a type family": (
        BASE.replace("M: Dim}", "M: Dim, K: Dim}").replace("Mat[N, M, t]", "Mat[N * @K, M, t]").replace('"[N]", opt', '"[N]", opt'),
        "TO301", "",
    ),
    "the later of two equal names": (BASE.replace("let: {L", "let: {@x: \"N\", L"), "TO125", "x: {dtype"),
    "the later of two cases": (BASE.replace("when: true", "when: @false"), "TO224", "false, is: \"[R"),
    "cases for a missing case": (
        BASE.replace('          - {when: true, is: "[C, R]"}\n', "").replace("cases:", "@cases:"),
        "TO223", "",
    ),
    "the row, with the rule as a label": (
        BASE.replace("- {label: plain, N: 4, M: 2}", "- @{label: plain, N: 4, M: 1}"),
        "TO505", '"M > 1"',
    ),
    "the op key for a missing field": (
        BASE.replace('  roofline: {flops: "N"}\n', "").replace("CopyFwdOp", "@CopyFwdOp"),
        "TO121", "",
    ),
    "the tensor's key for its missing field": (
        BASE.replace('x: {dtype: float32, ', "@x: {"), "TO121", "",
    ),
    "the parameter's key for its missing field": (
        BASE.replace("t: {type: bool, ", "@t: {"), "TO121", "",
    ),
    "the family's key for its missing field": (
        BASE.replace("        match: t\n", "").replace("      Mat:", "      @Mat:"), "TO121", "",
    ),
    "the section's key for its missing field": (
        BASE + "  @composition: {stages: [{name: a, kernel: k}]}\n", "TO121", "",
    ),
    "the value that is not of its type": (
        BASE.replace("status: implemented", "status: @done"), "TO122", "",
    ),
    "the unknown key": (BASE.replace("  roofline:", "  @cost: 1\n  roofline:"), "TO120", ""),
    "the name that is not declared": (BASE.replace('"[N]", opt', '"[@Q]", opt'), "TO203", ""),
    "the later of two rows with one id": (
        BASE.replace("- {label: scaled, N: 4, M: 2, some: [w]}", "- {label: @plain, N: 4, M: 2}"),
        "TO504", "{label: plain",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_the_place_is_what_the_author_edits(name: str, tmp_path: Path) -> None:
    marked, code, label = PLACES[name]
    before = marked[: marked.index("@")]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    text = marked.replace("@", "")
    (tmp_path / "toy.yaml").write_text(text)
    found = [item for item in validate(tmp_path).findings if item.code.id == code]
    assert (line, column) in {(item.span.line, item.span.column) for item in found}, found
    labels = [text.split("\n")[p.span.line - 1][p.span.column - 1 :] for p in found[0].labels]
    assert [item[: len(label)] for item in labels] == ([label] if label else [])


def test_the_unchanged_entry_has_no_findings(tmp_path: Path) -> None:
    (tmp_path / "toy.yaml").write_text(BASE)
    assert [item.message for item in validate(tmp_path).findings] == []
