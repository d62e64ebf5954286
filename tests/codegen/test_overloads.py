"""The generated `overload` names the effect branch that a call belongs to."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.codegen.harness import Subject
from tests.manifest.textcases import SPEC, check_signature
from tileops.codegen.generate import generate
from tileops.codegen.schema_types import Unschematic
from tileops.diagnostics.model import Findings
from tileops.manifest.load import load_manifest
from tileops.manifest.signature.check import check_entry
from tileops.manifest.signature.plan import build_plan
from tileops.runtime.compile import compile_operator

X = torch.empty(3)

CONDITIONAL = """\
forall: {N: Dim}
params: {inplace: {type: bool, default: false}, e: {type: "'a' | 'b'", default: a}}
inputs:
  x: {dtype: float32, shape: "[N]", mutated: "inplace"}
  w: {dtype: float32, shape: "[N]", optional: true, mutated: true}
outputs:
  y: {dtype: float32, shape: "[N]", alias: x}
  z: {dtype: float32, shape: "[N]", buffer: out}
  q: {dtype: float32, shape: "[N]", nullable: "e == 'a'"}"""


def subject(text: str) -> Subject:
    checked = check_signature(text)
    assert checked.signature is not None and checked.plan is not None, checked.items
    return Subject(checked.signature, checked.plan)


@pytest.mark.rule("EFF-5")
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({}, "default"),
        ({"inplace": True}, "writes_x"),
        ({"w": X}, "writes_w"),
        ({"inplace": True, "w": X}, "writes_x_w"),
        ({"out": X}, "out"),
        ({"inplace": True, "out": X}, "writes_x_out"),
        ({"inplace": True, "w": X, "out": X}, "writes_x_w_out"),
        ({"inplace": True, "e": "b"}, "writes_x_without_q"),
        ({"out": X, "e": "b"}, "out_without_q"),
        ({"e": "b"}, "default"),
    ],
)
def test_effects_and_presence_choose(call: dict[str, Any], expected: str) -> None:
    found = subject(CONDITIONAL)
    values = {"x": X, "inplace": False, "e": "a", **call}
    arguments = [values.get(name) for name in found.operator.infer_arguments]
    assert found.functions["overload"](*arguments) == expected
    assert expected in {item.name for item in found.operator.header.overloads}


def test_one_overload_needs_no_choice() -> None:
    text = (
        'inputs: {x: {dtype: float32, shape: "[3]"}}\noutputs: {y: {dtype: float32, shape: "[3]"}}'
    )
    assert "overload" not in subject(text).functions


@pytest.mark.rule("EFF-5")
def test_every_shipped_entry_with_several_overloads_names_them_all() -> None:
    manifest = load_manifest(SPEC)
    for entry in manifest.entries:
        findings = Findings()
        signature = check_entry(entry, manifest.adts, findings)
        plan = None if signature is None else build_plan(signature, findings)
        assert signature is not None and plan is not None, entry.op
        try:
            operator = generate(signature, plan)
        except Unschematic:
            continue
        overloads = [item.name for item in operator.header.overloads]
        if len(overloads) > 1:
            assert "overload" in compile_operator(operator)
            text = operator.source.partition("def overload")[2]
            assert all(repr(name) in text for name in overloads), entry.op
