"""`values` and `requires`: text cases with the expected code on the tensor's line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.manifest.textcases import adts
from tests.rules import title_rules
from tileops.diagnostics.model import Findings
from tileops.manifest.decode import decode_entry
from tileops.manifest.signature.check import check_entry
from tileops.manifest.source import parse_text
from tileops.manifest.workload.metadata import read_metadata

CASES = Path(__file__).parent / "cases" / "metadata.yaml"

HEAD = """
MetadataFwdOp:
  family: cases
  status: spec-only
  roofline: {flops: "1"}
  workloads: [{label: a}]
  signature:
    forall: {N: Dim, M: Dim, K: Dim, S: Shape, lens: "Seq[Int]", I: "DType[int32 | int64]",
             W: "DType[int16 | int32]"}
    params:
      top: {type: int}
      layout: {type: MGroupedLayout}
      flag: {type: bool, default: false}
      mode: {type: "'a' | 'b'", default: a}
      limit: {type: "int | None", default: null}
      scale: {type: float, default: 1.0}
    types:
      Kept:
        params: {flag: Bool, N: Dim}
        match: flag
        cases: [{when: true, is: "[N]"}, {when: false, is: "[N + 1]"}]
      Split:
        params: {flag: Bool, N: Dim}
        match: flag
        cases: [{when: true, is: "[N]"}, {when: false, is: "[N, N]"}]
    outputs: {y: {dtype: float32, shape: "[M]"}}
    inputs:
      x: {dtype: float32, shape: "[M]"}
      used: {dtype: float32, shape: "Kept[flag, N]"}
      split: {dtype: float32, shape: "Split[flag, N]"}
"""


def text_cases() -> list[object]:
    parts = re.split(r"^# == ", CASES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    result = []
    for part in parts:
        title, _, body = part.partition("\n")
        inputs = "".join(f"      {line}\n" for line in body.strip("\n").split("\n"))
        marks = [pytest.mark.rule(rule) for rule in title_rules(title)]
        text = HEAD.lstrip("\n") + inputs
        result.append(pytest.param(text, id=title.partition("(")[0].strip(), marks=marks))
    return result


@pytest.mark.parametrize("text", text_cases())
def test_text_case(text: str) -> None:
    findings = Findings()
    tree = parse_text(text, "case.yaml", findings)
    assert tree is not None
    entry = decode_entry(*tree.entries[0], findings)
    assert entry is not None
    signature = check_entry(entry, adts(), findings)
    assert signature is not None, [item.message for item in findings]
    before = Findings()
    read_metadata(signature, before)
    got = [(item.span.line, item.code.id, item.message) for item in before]
    expected = [
        (number, code, part.strip())
        for number, line in enumerate(text.split("\n"), start=1)
        for code, part in re.findall(r"#! (TO\d+)([^#]*)", line)
    ]
    assert [item[:2] for item in got] == [item[:2] for item in expected], got
    for (_, _, message), (_, _, part) in zip(got, expected, strict=True):
        assert part in message
