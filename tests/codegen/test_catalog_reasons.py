"""Entries that do not hold up: which are skipped at import, and which say so at their first call."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileops.codegen.catalog import EntryError, load_catalog

ENTRY = """\
{op}:
  family: elementwise
  status: spec-only
  ref_api: torch.clone
  signature:
    forall:
      N: Dim
      M: Dim
      T: DType[float32]
    inputs:
      x: {{dtype: T, shape: "{shape}"}}
    outputs:
      y: {{dtype: T, shape: "[N]"}}
  workloads:
    - {{label: a, N: 4, M: 4, dtype_cases: [{{T: float32}}]}}
  roofline: {{flops: "N"}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEOPS_CACHE_DIR", str(tmp_path / "cache"))
    texts = {"Good": "[N, M]", "Unknown": "[N, K]", "Unsolved": "[N + M]"}
    text = "".join(ENTRY.format(op=f"{op}FwdOp", shape=shape) for op, shape in texts.items())
    spec = tmp_path / "spec"
    spec.mkdir()
    (spec / "elementwise.yaml").write_text(text, "utf-8")
    return spec


@pytest.mark.rule("ENT-7")
def test_a_broken_signature_is_skipped_with_its_place(folder: Path) -> None:
    for _ in ("built", "cached"):
        catalog = load_catalog(folder)
        assert [name for name, _ in catalog.skipped] == ["UnknownFwdOp"]
        assert "elementwise.yaml:27: " in catalog.skipped[0][1]


def test_an_entry_without_a_plan_says_why_at_its_first_call(folder: Path) -> None:
    catalog = load_catalog(folder)
    assert [header.op for header in catalog.headers] == ["GoodFwdOp", "UnsolvedFwdOp"]
    assert catalog.operator("GoodFwdOp").index_names
    with pytest.raises(EntryError, match=r"elementwise\.yaml:\d+: .*N"):
        catalog.operator("UnsolvedFwdOp")


@pytest.mark.rule("ENT-7")
def test_a_name_declared_twice_and_a_broken_file_leave_the_rest(folder: Path) -> None:
    """Of two entries with one name neither is there, and nothing else is lost."""
    text = ENTRY.format(op="GoodFwdOp", shape="[N, M]").replace("elementwise", "norm")
    text += ENTRY.format(op="OtherFwdOp", shape="[N, M]").replace("elementwise", "norm")
    (folder / "norm.yaml").write_text(text, "utf-8")
    (folder / "rope.yaml").write_text("AFwdOp: [\n", "utf-8")
    for _ in ("built", "cached"):
        catalog = load_catalog(folder)
        assert [header.op for header in catalog.headers] == ["UnsolvedFwdOp", "OtherFwdOp"]
        reasons = dict(catalog.skipped)
        assert reasons["GoodFwdOp"] == "its name is declared more than once"
        assert any("rope.yaml" in place for place in reasons)
