"""`tileops cases`: one JSON line per case in order, a table, and what happens with bad rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_layering import BLOCK, run
from tileops.cli import main

ROOT = Path(__file__).parents[2]

ENTRY = """
{op}:
  family: {family}
  status: {status}
  signature:
    forall: {{M: Dim, T: "DType[float16 | float32]"}}
    params: {{p: {{type: "tuple[int, ...]", default: [1]}}, scale: {{type: float, default: .inf}}}}
    inputs:
      x: {{dtype: T, shape: "[M]"}}
      w: {{dtype: T, shape: "[M]", optional: true}}
    outputs: {{y: {{dtype: T, shape: "[M, *p]"}}}}
  workloads:
    - {{label: one, M: 4, dtype_cases: [{{T: float32}}, {{T: float16}}]}}
    - {{label: two, M: {size}, p: [2, 3], some: [w], dtype_cases: [{{T: float16}}]}}
  roofline: {roofline}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    one = ENTRY.format(op="BFwdOp", family="one", status="spec-only", size=5, roofline="{flops: M}")
    path = "{func: nowhere_at_all.price}"
    two = ENTRY.format(op="AFwdOp", family="two", status="implemented", size=5, roofline=path)
    (tmp_path / "one.yaml").write_text(one)
    (tmp_path / "two.yaml").write_text(two)
    return tmp_path


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_json(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cases", "--spec", str(spec), "--format", "json"]) == 0
    found = lines(capsys)
    ids = ["one-float32", "one-float16", "two-float16"]
    assert [(item["op"], item["case"]) for item in found] == [
        (op, id) for op in ("BFwdOp", "AFwdOp") for id in ids
    ]
    assert found[2] == {
        "op": "BFwdOp",
        "case": "two-float16",
        "params": {"p": [2, 3], "scale": "inf"},
        "inputs": {"x": [[5], "float16"], "w": [[5], "float16"]},
        "outputs": {"y": [[5, 2, 3], "float16"]},
        "flops": 5,
        "bytes": 80,
    }
    assert found[3]["inputs"] == {"x": [[4], "float32"]}
    assert found[3]["flops"] is None and found[3]["bytes"] is None


def test_one_entry(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cases", "--spec", str(spec), "--op", "AFwdOp", "--format", "json"]) == 0
    assert {item["op"] for item in lines(capsys)} == {"AFwdOp"}
    assert main(["cases", "--spec", str(spec), "--op", "CFwdOp"]) == 2
    assert "there is no op 'CFwdOp'; close to it: " in capsys.readouterr().err


def test_table(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cases", "--spec", str(spec), "--op", "BFwdOp"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["op", "case", "inputs", "outputs", "flops", "bytes"]
    assert "x float16[5], w float16[5]" in rows[2] and rows[2].endswith("5      80")


@pytest.mark.rule("ROO-4")
def test_a_function_that_can_be_imported_prices_the_cases_of_an_implemented_entry(
    spec: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "def price(call):\n    return call.indices['M'], call.tensors['x'].bytes\n"
    (spec / "nowhere_at_all.py").write_text(code)
    monkeypatch.syspath_prepend(str(spec))
    command = ["cases", "--spec", str(spec), "--op", "AFwdOp", "--format", "json"]
    assert main(command) == 0
    assert {item["flops"] for item in lines(capsys)} == {None}
    assert main([*command, "--import"]) == 0
    assert [(item["flops"], item["bytes"]) for item in lines(capsys)] == [(4, 16), (4, 8), (5, 10)]


def test_a_function_that_fails_is_a_finding_and_the_case_is_listed(
    spec: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (spec / "fails_to_price.py").write_text("def price(call):\n    return call.indices['nope']\n")
    text = (spec / "two.yaml").read_text()
    (spec / "two.yaml").write_text(text.replace("nowhere_at_all", "fails_to_price"))
    monkeypatch.syspath_prepend(str(spec))
    command = ["cases", "--spec", str(spec), "--op", "AFwdOp", "--format", "json", "--import"]
    assert main(command) == 1
    captured = capsys.readouterr()
    assert [json.loads(line)["flops"] for line in captured.out.splitlines()] == [None] * 3
    assert "TO601" in captured.err and "fails_to_price.price must price the call" in captured.err


def test_show_rows(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "BFwdOp", "--spec", str(spec), "--rows"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(
        "one-float32\n"
        "  indices  M=4, T=float32\n"
        "  input    x: float32[4]\n"
        "  input    w: absent\n"
        "  output   y: float32[4, 1]\n"
    )
    assert "two-float16\n  params   p=[2, 3]\n" in text


def test_bad_rows_are_named_and_the_others_listed(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (spec / "one.yaml").read_text()
    (spec / "one.yaml").write_text(text.replace("label: one,", "label: one, nope: 1,"))
    assert main(["cases", "--spec", str(spec), "--op", "BFwdOp", "--format", "json"]) == 1
    captured = capsys.readouterr()
    assert [json.loads(line)["case"] for line in captured.out.splitlines()] == ["two-float16"]
    assert "TO501" in captured.err and "'nope' must be" in captured.err


KEYS = ["op", "case", "params", "inputs", "outputs", "flops", "bytes"]


def without_torch(folder: Path) -> tuple[int, list[dict[str, object]], str]:
    script = f"{BLOCK}\nimport tileops_cli\nsys.exit(tileops_cli.main())\n"
    done = run(script, "cases", "--spec", str(folder), "--format", "json")
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_a_folder_whose_code_is_not_installed_without_torch(spec: Path) -> None:
    status, found, errors = without_torch(spec)
    assert (status, errors) == (0, "")
    assert [list(item) for item in found] == [KEYS] * 6
    assert [item["op"] for item in found] == ["BFwdOp"] * 3 + ["AFwdOp"] * 3
    assert [item["flops"] for item in found] == [4, 4, 5, None, None, None]


@pytest.mark.rule("ENT-5", "ENT-7")
def test_broken_entries_and_files_hide_no_others(spec: Path) -> None:
    good = (spec / "one.yaml").read_text()
    twice = ENTRY.format(op="CFwdOp", family="one", status="spec-only", size=5, roofline="{flops: M}")
    unsolved = ENTRY.replace("[M]", "[M * M]").format(
        op="DFwdOp", family="one", status="spec-only", size=5, roofline="{flops: M}"
    )
    (spec / "one.yaml").write_text(f"{twice}EFwdOp: 3\n{good}{unsolved}")
    (spec / "one_more.yaml").write_text(twice)
    (spec / "three.yaml").write_text("AFwdOp: [\n")
    (spec / "four.yaml").write_bytes(b"\xff\xfe\x00")
    status, found, errors = without_torch(spec)
    assert status == 1
    assert [item["op"] for item in found] == ["BFwdOp"] * 3 + ["AFwdOp"] * 3
    for code in ("TO101", "TO108", "TO122", "TO127", "TO301"):
        assert f"error[{code}]" in errors


def test_the_shipped_manifest_without_torch() -> None:
    code = (
        "import sys\nsys.modules['torch'] = sys.modules['triton'] = None\n"
        "import tileops_cli\n"
        "sys.exit(tileops_cli.main(['cases', '--format', 'json', '--op', 'MoEGroupedGEMMFwdOp']))"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found and all(item["op"] == "MoEGroupedGEMMFwdOp" for item in found)
    assert found[0]["params"]["layout"] == {
        "contiguous": {"packing": "tight", "metadata_kind": "physical_psum", "alignment": 1}
    }
