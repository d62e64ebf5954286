"""`tileops validate` and the derived views of `tileops show`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tileops.cli import main

ENTRY = """\
{op}:
  family: {family}
  status: implemented
  signature:
    forall: {{N: Dim}}
    inputs:
      x: {{dtype: float32, shape: "[N]"}}
    outputs:
      output: {{dtype: float32, shape: "[{axis}]"}}
  workloads: [{{label: row, N: 4}}]
  roofline: {{flops: "N"}}
"""


def entry(op: str, family: str = "demo", axis: str = "N") -> str:
    return ENTRY.format(op=op, family=family, axis=axis)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "demo.yaml").write_text(entry("GoodFwdOp") + entry("BadFwdOp", axis="M"))
    (tmp_path / "other.yaml").write_text(entry("OtherFwdOp", family="other"))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(arguments)
    out, err = capsys.readouterr()
    return status, out, err


def test_a_finding_points_into_the_file(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "validate", "--spec", str(spec))
    assert (status, err) == (1, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"{spec}/demo.yaml:20:") and " error[TO" in lines[0]
    assert lines[1].startswith('20 |       output: {dtype: float32, shape: "[M]"}')
    assert "^" in lines[2]
    assert lines[-1].startswith("3 entries, 3 implemented, 3 rows, 2 cases, 1 errors, ")


def test_advisories_count_when_asked_to(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (spec / "demo.yaml").write_text(entry("GoodFwdOp").replace("{N: Dim}", "{N: Dim, K: Dim}"))
    status, out, _ = run(capsys, "validate", "--spec", str(spec))
    assert status == 0 and "advisory[TO227]" in out
    assert run(capsys, "validate", "--spec", str(spec), "--strict-advisories")[0] == 1


@pytest.mark.parametrize("verb", ["validate", "list", "cases"])
@pytest.mark.parametrize("files", [(), ("types.yaml",), ("notes.txt", ".hidden.yaml")])
def test_a_folder_without_entries_is_a_wrong_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: tuple[str, ...], verb: str
) -> None:
    for name in files:
        (tmp_path / name).write_text("adts: {}\n")
    status, out, err = run(capsys, verb, "--spec", str(tmp_path))
    assert (status, out) == (2, "")
    assert f"there is no manifest in '{tmp_path}'" in err


@pytest.mark.parametrize(("name", "code"), [("demo.yaml", "TO110"), ("demo.yml", "TO111")])
def test_an_empty_file_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, code: str
) -> None:
    (tmp_path / name).write_text("")
    status, out, err = run(capsys, "validate", "--spec", str(tmp_path))
    assert (status, err) == (1, "") and f"error[{code}]" in out


def test_json_has_the_summary(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "validate", "--spec", str(spec), "--format", "json")
    document = json.loads(out)
    summary = document["summary"]
    assert status == 1 and document["version"] == 1
    assert (summary["entries"], summary["errors"], summary["advisories"]) == (3, 1, 0)
    (finding,) = document["diagnostics"]
    assert (finding["op"], finding["line"]) == ("BadFwdOp", 20)


def test_github_form(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "validate", "--spec", str(spec), "--format", "github")
    assert out.startswith("::error file=") and out.count("\n") == 1


@pytest.mark.parametrize(
    ("chosen", "status"),
    [
        (["--op", "GoodFwdOp"], 0),
        (["--op", "GoodFwdOp", "--op", "OtherFwdOp"], 0),
        (["--op", "BadFwdOp"], 1),
        (["--family", "other"], 0),
        (["--family", "demo"], 1),
        (["--op", "goodfwdop"], 2),
        (["--family", "dmeo"], 2),
    ],
)
def test_only_what_is_chosen_counts(
    spec: Path, capsys: pytest.CaptureFixture[str], chosen: list[str], status: int
) -> None:
    assert run(capsys, "validate", "--spec", str(spec), *chosen)[0] == status


def test_a_file_that_cannot_be_read_counts_for_every_choice(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (spec / "broken.yaml").write_text("A: [\n")
    assert run(capsys, "validate", "--spec", str(spec), "--op", "GoodFwdOp")[0] == 1


def test_the_shipped_manifest_has_no_errors(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "validate")
    assert status == 0, out


@pytest.mark.parametrize(
    ("view", "text"),
    [
        ("--plan", "bind  N :="),
        ("--schema", "tileops::demo_good_fwd(Tensor x, *, str? target=None) -> Tensor"),
        ("--code", "def infer(x"),
        ("--yaml", "GoodFwdOp:"),
    ],
)
def test_views(spec: Path, capsys: pytest.CaptureFixture[str], view: str, text: str) -> None:
    status, out, err = run(capsys, "show", "--spec", str(spec), "GoodFwdOp", view)
    assert (status, err) == (0, "")
    assert text in out


def test_nothing_is_derived_from_an_entry_with_errors(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, "show", "--spec", str(spec), "BadFwdOp", "--plan")
    assert (status, out) == (1, "")
    assert "demo.yaml:20:" in err
    assert err.endswith("tileops: BadFwdOp has errors, so nothing is derived from it\n")
