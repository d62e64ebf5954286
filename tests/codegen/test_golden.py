"""Generated text, schemas and plans of the implemented entries, kept where a reviewer sees changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.manifest.textcases import SPEC
from tileops.codegen.generate import generate
from tileops.codegen.model import Operator
from tileops.diagnostics.model import Findings
from tileops.elementwise.table import TABLE
from tileops.manifest.load import Manifest, load_manifest
from tileops.manifest.signature.check import check_entry
from tileops.manifest.signature.plan import build_plan

GOLDEN = Path(__file__).parents[1] / "golden"


@cache
def manifest() -> Manifest:
    return load_manifest(SPEC)


#: Of the elementwise table, whose entries differ in little but their names.
SAMPLED = {"ExpFwdOp", "RoundFwdOp", "ReLUFwdOp", "HardtanhFwdOp", "AddFwdOp", "WhereFwdOp"}


def implemented() -> list[str]:
    left_out = {row.op for row in TABLE} - SAMPLED
    return [
        entry.op
        for entry in manifest().entries
        if entry.status is not None
        and entry.status.text == "implemented"
        and entry.op not in left_out
    ]


@cache
def operator(op: str) -> Operator:
    findings = Findings()
    entry = manifest().entry(op)
    assert entry is not None
    signature = check_entry(entry, manifest().adts, findings)
    assert signature is not None, list(findings)
    plan = build_plan(signature, findings)
    assert plan is not None, list(findings)
    return generate(signature, plan)


@pytest.mark.parametrize("op", implemented())
def test_generated_text_is_the_golden_one(op: str, golden: Callable[[str, str], None]) -> None:
    found = operator(op)
    # The line of an entry changes with every entry before it.
    source = found.source.split("\n", 1)[1]
    golden(f"{found.header.operator}.py", f"# {op}\n{source}")


@pytest.mark.parametrize("op", implemented())
def test_schemas_and_plan_are_the_golden_ones(op: str, golden: Callable[[str, str], None]) -> None:
    found = operator(op)
    schemas = "\n".join(overload.schema for overload in found.header.overloads)
    golden(f"{found.header.operator}.txt", f"{schemas}\n\n{found.plan}\n")


def test_no_golden_file_is_left_over() -> None:
    kept = {
        f"{operator(op).header.operator}{end}" for op in implemented() for end in (".py", ".txt")
    }
    own = {path.name for path in GOLDEN.glob("*_[fb]wd.*")}
    assert own == kept
