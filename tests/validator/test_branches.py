"""Rules that hold on every branch: effects against schemas and cost model, contents against indices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tileops.codegen.model import Header
from tileops.diagnostics.model import Diagnostic
from tileops.manifest.signature.effects import EffectBranch
from tileops.validator.rules import effects
from tileops.validator.runner import validate

EFFECTS = """\
StepFwdOp:
  family: toy
  status: spec-only
  signature:
    forall: {N: Dim}
    params: {keep: {type: bool, default: false}, both: {type: bool, default: false}}
    inputs:
      x: {dtype: float32, shape: "[N]"}
      acc: {dtype: float32, shape: "[N]", mutated: "not keep"}
      w: {dtype: float32, shape: "[N]", optional: true}
      res: {dtype: float32, shape: "[N]", optional: true, mutated: true}
    outputs:
      y: {dtype: float32, shape: "[N]", buffer: out}
      total: {dtype: float32, shape: "[N]", alias: acc}
      more: {dtype: float32, shape: "[N]", nullable: both}
  workloads: [{label: a, N: 4}]
  roofline: {flops: "N"}
"""

CONTENTS = """\
PackFwdOp:
  family: toy
  status: spec-only
  signature:
    forall: {N: Dim, P: Dim, lens: "Seq[Int]"}
    params: {wide: {type: bool, default: false}}
    inputs:
      x: {dtype: float32, shape: "[N]"}
      ids: {dtype: int32, shape: "[N]", values: "as_tensor(lens)", requires: ["%s"]%s}
      table: {dtype: float32, shape: "[P]", optional: "wide"}
    outputs: {y: {dtype: float32, shape: "[N]"}}
  workloads: [{label: a, lens: [1, 2], wide: true, P: 9}]
  roofline: {flops: "N"}
"""


def findings(tmp_path: Path, text: str) -> list[Diagnostic]:
    (tmp_path / "toy.yaml").write_text(text)
    return list(validate(tmp_path).findings)


def test_effects_that_agree(tmp_path: Path) -> None:
    assert findings(tmp_path, EFFECTS) == []


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("x", (2, 0)),
        ("acc", (1, 0)),
        ("w", (0, 0)),
        ("res", (1, 0)),
        ("y", (0, 2)),
        ("total", (0, 1)),
    ],
)
def test_a_miscount_of_the_cost_model_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, count: tuple[int, int]
) -> None:
    right = effects.traffic

    def wrong(*arguments: Any) -> dict[str, tuple[int, int]]:
        found = right(*arguments)
        return found | ({name: count} if name in found else {})

    monkeypatch.setattr(effects, "traffic", wrong)
    (finding,) = findings(tmp_path, EFFECTS)
    assert finding.code.name == "bad-effect"
    assert finding.message.startswith(f"{name} must be counted as overload ")
    line = EFFECTS.splitlines()[finding.span.line - 1]
    assert line.lstrip().startswith(f"{name}:")


@pytest.mark.parametrize(
    ("old", "new"),
    [("Tensor(a!)", "Tensor"), ("-> (Tensor", "-> (Tensor, Tensor"), ("Tensor x", "Tensor(z!) x")],
)
def test_a_schema_that_disagrees_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    right = effects.generate_header

    def wrong(signature: Any) -> Header:
        header = right(signature)
        overloads = tuple(
            replace(item, schema=item.schema.replace(old, new)) for item in header.overloads
        )
        return replace(header, overloads=overloads)

    monkeypatch.setattr(effects, "generate_header", wrong)
    found = findings(tmp_path, EFFECTS)
    assert found and {item.code.name for item in found} == {"bad-effect"}
    assert any(" must write " in item.message for item in found)


def test_a_branch_without_an_overload_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = effects.effect_branches

    def wrong(*arguments: Any) -> tuple[EffectBranch, ...]:
        branches = right(*arguments)
        return (replace(branches[0], written=("w",)), *branches[1:])

    monkeypatch.setattr(effects, "effect_branches", wrong)
    found = findings(tmp_path, EFFECTS)
    assert any("must be served by one overload on every branch, got 0" in f.message for f in found)


@pytest.mark.parametrize(
    ("call", "rest"),
    [
        ("in_range(0, N + 9)", ""),
        ("in_range(0, P)", ', optional: "wide"'),
        ("in_range(0, P if wide else 99)", ""),
        ("exclusive_prefix_of(lens)", ""),
    ],
)
@pytest.mark.rule("PRD-4")
def test_contents_that_read_what_is_there(tmp_path: Path, call: str, rest: str) -> None:
    found = findings(tmp_path, CONTENTS % (call, rest))
    assert [item.message for item in found if item.code.name == "bad-values"] == []


@pytest.mark.rule("PRD-4")
def test_contents_that_read_what_may_be_absent(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, CONTENTS % ("in_range(0, P)", ""))
    assert finding.code.name == "bad-values"
    assert finding.message == (
        "requires of ids must read what every call with ids has,"
        " got in_range(0, P) where no tensor has P"
    )
    assert CONTENTS.splitlines()[finding.span.line - 1].lstrip().startswith("ids:")
