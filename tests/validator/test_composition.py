"""Compositions: stages name entries, end somewhere, and are those of the class."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tileops.diagnostics.model import Findings
from tileops.runtime.op import Kernel, Op
from tileops.runtime.shipped import registry_of
from tileops.validator.model import Options, Subject
from tileops.validator.rules.code import kernels
from tileops.validator.runner import validate

ENTRY = """\
{op}:
  family: stages
  status: {status}
  signature:
    forall: {{N: Dim}}
    inputs: {{x: {{dtype: float32, shape: "[N]"}}}}
    outputs: {{y: {{dtype: float32, shape: "[N]"}}}}
  workloads: [{{label: a, N: 4}}]
  roofline: {{flops: N}}
  composition: {{kind: composite, stages: [{stages}]}}
"""


def write(folder: Path, status: str = "spec-only", **stages: str) -> Path:
    text = "".join(
        ENTRY.format(op=op, status=status, stages=listed) for op, listed in stages.items()
    )
    (folder / "stages.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.rule("CMP-2")
def test_op_stages_name_entries_and_end(tmp_path: Path) -> None:
    end = "{name: k, kernel: row}"
    good = {"AFwdOp": "{name: b, op: BFwdOp}, {name: c, op: BFwdOp, optional: true}", "BFwdOp": end}
    assert validate(write(tmp_path, **good)).findings.items == []
    found = validate(write(tmp_path, AFwdOp="{name: b, op: GoneFwdOp}")).findings.items
    assert [(item.code.name, item.span.line) for item in found] == [("bad-stage", 10)]
    circle = {
        "AFwdOp": "{name: b, op: BFwdOp}",
        "BFwdOp": "{name: c, op: CFwdOp}",
        "CFwdOp": "{name: a, op: AFwdOp}",
        "DFwdOp": "{name: a, op: AFwdOp}",
    }
    found = validate(write(tmp_path, **circle)).findings.items
    assert [(item.code.name, item.op) for item in found] == [
        ("cycle", "AFwdOp"),
        ("cycle", "BFwdOp"),
        ("cycle", "CFwdOp"),
    ]


class BFwdOp(Op):
    """What a stage holds."""


class OtherFwdOp(Op):
    """What no stage holds."""


STAGES = (
    "{name: first, op: BFwdOp}, {name: one, kernel: row}, "
    "{name: second, op: BFwdOp}, {name: two, kernel: split_row, optional: true}"
)
LAUNCHER = Kernel("tileops.norm.rows:launch_row", "rms_norm")


@pytest.mark.rule("CMP-3")
@pytest.mark.parametrize(
    ("delegates", "launchers", "wrong"),
    [
        (["first", "second"], ["row", "split_row"], []),
        (["second", "first"], ["row", "split_row"], ["delegate_types"]),
        (["first"], ["row", "split_row"], ["delegate_types"]),
        (["first", "other"], ["row", "split_row"], ["delegate_types"]),
        (["first", "second"], ["split_row", "row"], ["kernel_types"]),
        ([], ["row"], ["delegate_types", "kernel_types"]),
    ],
)
def test_the_class_has_the_stages_in_order(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    delegates: list[str],
    launchers: list[str],
    wrong: list[str],
) -> None:
    folder = write(tmp_path, "implemented", AFwdOp=STAGES, BFwdOp="{name: k, kernel: row}")
    members: dict[str, Any] = {
        "registry": registry_of(folder, f"tileops_stages_{tmp_path.name}"),
        "delegate_types": {
            "second" if name == "other" else name: OtherFwdOp if name == "other" else BFwdOp
            for name in delegates
        },
        "kernel_types": dict.fromkeys(launchers, LAUNCHER),
    }
    package = ModuleType("tileops.stages")
    package.AFwdOp = type("AFwdOp", (Op,), members)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tileops.stages", package)
    manifest = validate(folder).manifest
    subject = Subject(manifest, manifest.entries[0], Findings(), Options())
    kernels(subject)
    assert [item.message.split()[0] for item in subject.findings] == wrong
