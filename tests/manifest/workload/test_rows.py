"""Rows: text cases with the expected code on the row's line, case ids, and where findings stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.manifest.textcases import adts
from tests.rules import title_rules
from tileops.diagnostics import codes
from tileops.diagnostics.model import Diagnostic, Findings
from tileops.manifest.decode import decode_entry
from tileops.manifest.signature.check import check_entry
from tileops.manifest.signature.plan import build_plan
from tileops.manifest.source import parse_text
from tileops.manifest.workload.case import Case
from tileops.manifest.workload.check import cases, check_workloads

CASES = Path(__file__).parent / "cases" / "rows.yaml"

ENTRIES = {
    "dense": """
RowFwdOp:
  family: cases
  status: spec-only
  signature:
    forall: {M: Dim, S: Shape, D: Dim, G: Dim, T: "DType[float16 | float32]"}
    params:
      n: {type: int}
      mode: {type: "'plain' | 'wide' | 'grouped'", default: plain}
      eps: {type: float, default: 0.5}
      out_dtype: {type: "float16 | float32 | None", default: null}
    inputs:
      x: {dtype: T, shape: "X[mode, n, M, S]"}
      w: {dtype: T, shape: "[D]", optional: true}
      b: {dtype: T, shape: "[D]", optional: present(w)}
      g: {dtype: T, shape: "[G]", optional: "mode == 'grouped'"}
    outputs:
      y: {dtype: "coalesce_dtype(out_dtype, T)", shape: "[L, n]"}
    types:
      X:
        params: {mode: "'plain' | 'wide' | 'grouped'", n: Int, M: Dim, S: Shape}
        match: mode
        cases:
          - {when: plain, is: "[*S, M]"}
          - {when: wide, is: "[*S, 2 * M]"}
          - {when: grouped, is: "[*S, M]"}
    let: {L: "2 * M"}
    shape_rules:
      - "M > 1"
      - "mode != 'grouped' or M % G == 0"
  roofline: {flops: "M * prod(S) * (D if present(w) else 1)"}
""",
    "covered": """
RowFwdOp:
  family: cases
  status: implemented
  signature:
    forall: {M: Dim, T: "DType[float16 | float32]"}
    inputs:
      x: {dtype: T, shape: "[M]"}
      a: {dtype: T, shape: "[M]", optional: true}
      never: {dtype: T, shape: "[M]", optional: true}    #! TO506 never must be passed
    outputs: {y: {dtype: T, shape: "[M]"}}
  roofline: {flops: M}
""",
    "combos": """
RowFwdOp:
  family: cases
  status: implemented
  signature:
    forall: {M: Dim, D: Dim, A: "DType[float16 | float32]", B: "DType[float16 | float32]"}
    params:
      table: {dtype: float32, shape: "[D]", optional: true}
    inputs:
      x: {dtype: A, shape: "[M]"}
      y: {dtype: B, shape: "[M]"}
    outputs: {z: {dtype: A, shape: "[M]"}}
    dtype_combos: [{A: float16, B: float16}, {A: float16, B: float32}]
  roofline: {flops: "M + (D if present(table) else 0)"}
""",
    "costly": """
RowFwdOp:
  family: cases
  status: spec-only
  signature:
    forall: {M: Dim, D: Dim}
    inputs:
      x: {dtype: float32, shape: "[M]"}
      w: {dtype: float32, shape: "[D]", optional: true}
    outputs: {z: {dtype: float32, shape: "[M]"}}
  roofline: {flops: "M * D"}
""",
    "ids": """
RowFwdOp:
  family: cases
  status: spec-only
  signature:
    forall: {N: Dim, lens: "Seq[Int]", I: "DType[int32 | int64]"}
    inputs: {ids: {dtype: I, shape: "[N]", values: as_tensor(lens)}}
    outputs: {y: {dtype: float32, shape: "[N]"}}
  roofline: {flops: N}
""",
    "packed": """
RowFwdOp:
  family: cases
  status: spec-only
  signature:
    forall: {N: Dim, Q: Dim, TOTAL: Dim, D: Dim, P: Dim, lens: "Seq[Int]"}
    inputs:
      x: {dtype: float32, shape: "[TOTAL, D]"}
      cu: {dtype: int32, shape: "[N + 1]", values: prefix_sum(lens),
           requires: [prefix_offsets(TOTAL)]}
      starts: {dtype: int32, shape: "[N]", values: exclusive_prefix_sum(lens),
               requires: [exclusive_prefix_of(lens)]}
      positions: {dtype: int64, shape: "[Q]", values: packed_positions(lens),
                  requires: ["in_range(0, P)"]}
      table: {dtype: float32, shape: "[P, Q]"}
    outputs: {y: {dtype: float32, shape: "[TOTAL, D]"}}
  roofline: {func: somewhere.price}
""",
}


def entry_text(name: str, rows: str) -> str:
    body = "".join(f"  {line}\n" for line in rows.strip("\n").split("\n"))
    return f"{ENTRIES[name].strip()}\n  workloads:\n{body}"


def check(text: str) -> tuple[list[Diagnostic], tuple[Case, ...]]:
    findings = Findings()
    tree = parse_text(text, "case.yaml", findings)
    assert tree is not None
    entry = decode_entry(*tree.entries[0], findings)
    assert entry is not None
    signature = check_entry(entry, adts(), findings)
    assert signature is not None, [item.message for item in findings]
    plan = build_plan(signature, findings)
    assert plan is not None, [item.message for item in findings]
    check_workloads(signature, plan, findings)
    return list(findings), cases(signature, plan)


def text_cases() -> list[object]:
    parts = re.split(r"^# == ", CASES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    result = []
    for part in parts:
        head, _, rows = part.partition("\n")
        title, _, rest = head.partition("[")
        marks = [pytest.mark.rule(rule) for rule in title_rules(head)]
        text = entry_text(rest.partition("]")[0], rows)
        result.append(pytest.param(text, id=title.strip(), marks=marks))
    return result


@pytest.mark.parametrize("text", text_cases())
def test_text_case(text: str) -> None:
    expected = [
        (number, *found)
        for number, line in enumerate(text.split("\n"), start=1)
        for found in re.findall(r"#! (TO\d+) ([^#]*)", line)
    ]
    findings, _ = check(text)
    got = [(item.span.line, item.code.id, item.message) for item in findings]
    assert [item[:2] for item in got] == [item[:2] for item in expected], got
    for (_, _, message), (_, _, part) in zip(got, expected, strict=True):
        assert part.strip() in message


def test_an_unknown_key_is_located_at_the_key() -> None:
    text = entry_text("dense", "- {label: one, n: 3, M: 4, S: [], nope: 1, dtype_cases: [{T: float16}]}")
    ((finding,), _) = check(text)
    line = text.split("\n")[finding.span.line - 1]
    start = finding.span.column - 1
    assert line[start : start + finding.span.length] == "nope"
    assert (finding.code, finding.op, finding.field) == (
        codes.BAD_ROW_KEY,
        "RowFwdOp",
        "workloads[0].nope",
    )


def test_a_failing_rule_of_the_call_back_names_the_index() -> None:
    text = entry_text("packed", "- {label: one, lens: [1, 2], D: 4, TOTAL: 3, P: 2}")
    _, (case,) = check(text)
    assert case.indices == {"TOTAL": 3, "D": 4, "P": 2, "lens": [1, 2]}
    assert case.branch.solved == {"N", "Q"}


@pytest.mark.rule("ROW-7")
def test_case_ids_hold_dtypes_and_dtype_parameters_in_order() -> None:
    rows = """
- {label: a, n: 3, M: 4, S: [], dtype_cases: [{T: float32}, {T: float16}]}
- {label: b, n: 3, M: 4, S: [], out_dtype: float16, dtype_cases: [{T: float32}]}
"""
    _, found = check(entry_text("dense", rows))
    assert [case.id for case in found] == ["a-float32", "a-float16", "b-float32-float16"]
    assert [case.params["eps"] for case in found] == [0.5, 0.5, 0.5]
