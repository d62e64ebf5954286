"""The command line as people and pipes use it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tileops import cli
from tileops.cli import doctor, list_ops, main

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "import sys, tileops_cli; sys.exit(tileops_cli.main())"]
ENV = os.environ | {"PYTHONPATH": str(ROOT)}


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    entry = "  family: norm\n  status: spec-only\n"
    (tmp_path / "norm.yaml").write_text(f"AFwdOp:\n{entry}\n# Between.\nBOp:\n{entry}")
    (tmp_path / "rope.yaml").write_text("RoPEFwdOp: {family: rope, status: implemented}\n")
    return tmp_path


def test_list_is_a_table(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--spec", str(spec)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["op", "family", "status", "operator"],
        ["AFwdOp", "norm", "spec-only", "norm_a_fwd"],
        ["BOp", "norm", "spec-only", "norm_b"],
        ["RoPEFwdOp", "rope", "implemented", "rope_fwd"],
    ]


def test_list_as_json(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--spec", str(spec), "--family", "rope", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "version": 1,
        "entries": [
            {"op": "RoPEFwdOp", "family": "rope", "status": "implemented", "operator": "rope_fwd"}
        ],
    }


def test_list_shows_the_rest_of_a_broken_manifest(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (spec / "bad.yaml").write_text("A: [\n")
    (spec / "odd.yaml").write_text("1: {}\nAOp: text\nCOp: {family: [odd]}\n")
    assert main(["list", "--spec", str(spec)]) == 1
    out, err = capsys.readouterr()
    assert "RoPEFwdOp" in out and "COp" in out
    assert "bad.yaml:2:1: error[TO101]" in err


def test_the_shipped_manifest_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert "norm_rms_norm_fwd" in capsys.readouterr().out


def test_show_gives_the_entry_as_written(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("AFwdOp", "norm_a_fwd", "tileops::norm_a_fwd", "torch.ops.tileops.norm_a_fwd"):
        assert main(["show", "--spec", str(spec), name, "--yaml"]) == 0
        out = capsys.readouterr().out
        assert out.startswith("# ")
        assert out.splitlines()[1:4] == ["AFwdOp:", "  family: norm", "  status: spec-only"]
        assert "BOp" not in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "VERB"),
        (["lst"], "there is no verb 'lst'; close to it: list"),
        (["list", "--nope"], "--nope"),
        (["list", "--format", "xml"], "'xml'"),
        (["list", "--spec", "/nowhere"], "there is no manifest folder '/nowhere'"),
        (["list", "--family", "nrom"], "there is no family 'nrom'; close to it: norm"),
        (["show", "rmsnormfwdop"], "close to it: RMSNormFwdOp"),
        (["show", "zzz"], "there is no op 'zzz'\n"),
        (["show"], "OP"),
    ],
)
def test_wrong_usage_is_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tileops: ") and err.count("\n") == 1 and sentence in err


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["list", "--help"]])
def test_help_and_version(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert "tileops" in capsys.readouterr().out


def test_an_internal_error_asks_for_a_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(list_ops, "run", lambda args: 1 // 0)
    assert main(["list"]) == 2
    err = capsys.readouterr().err
    assert "ZeroDivisionError" in err and "please report" in err


def test_an_interrupt_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(list_ops, "run", interrupt)
    assert main(["list"]) == cli.INTERRUPTED
    assert capsys.readouterr().err == "tileops: interrupted\n"


def test_a_reader_that_leaves_is_no_error(spec: Path) -> None:
    entries = "".join(f"A{i}Op: {{family: big, status: spec-only}}\n" for i in range(20_000))
    (spec / "big.yaml").write_text(entries)
    command = [*COMMAND, "list", "--spec", str(spec)]
    process = subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == cli.BROKEN_PIPE


def test_an_interrupted_process_leaves_without_a_traceback() -> None:
    script = "import time, tileops_cli\nfrom tileops.cli import list_ops\nimport sys\n"
    script += "def run(args): print('ready', flush=True); time.sleep(60)\nlist_ops.run = run\n"
    script += "sys.exit(tileops_cli.main())\n"
    command = [sys.executable, "-c", script, "list"]
    process = subprocess.Popen(
        command,
        env=ENV,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell's background jobs ignore interrupts, and their children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.stderr.read() == b"tileops: interrupted\n"
    assert process.wait(60) == cli.INTERRUPTED


def test_a_terminal_without_the_characters_gets_their_numbers(spec: Path) -> None:
    (spec / "norm.yaml").write_text("AOp:\n  family: norm\n  note: é\n", encoding="utf-8")
    done = subprocess.run(
        [*COMMAND, "show", "AOp", "--spec", str(spec)],
        env=ENV | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert rb"note: \xe9" in done.stdout


def test_the_module_runs_like_the_script() -> None:
    command = [sys.executable, "-m", "tileops", "list"]
    done = subprocess.run(command, env=ENV, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "RMSNormFwdOp" in done.stdout


def distribution(folder: Path, name: str, top: str | None, record: str = "") -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "RECORD").write_text(record)
    (folder / "tileops").mkdir(exist_ok=True)
    (folder / "tileops" / "__init__.py").touch()
    if top is not None:
        (info / "top_level.txt").write_text(top)


def test_doctor_reports_a_second_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    distribution(tmp_path / "a", "tileops", "tileops\n")
    distribution(tmp_path / "b", "other", None, "tileops/__init__.py,,\n")
    distribution(tmp_path / "b", "unrelated", "tile\n")
    for name in "ab":
        monkeypatch.syspath_prepend(tmp_path / name)
    assert main(["doctor", "--format", "json"]) == 1
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert "tileops 1.0 in" in problem and "other 1.0 in" in problem and "unrelated" not in problem


def test_an_editable_install_is_one_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = tmp_path / "the checkout"
    distribution(checkout, "tileops", "tileops\n")
    distribution(tmp_path / "site", "tileops", "tileops\n")
    origin = {"url": checkout.as_uri(), "dir_info": {"editable": True}}
    (tmp_path / "site" / "tileops-1.0.dist-info" / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), str(checkout)])
    assert doctor.providers() == [f"tileops 1.0 in {checkout}"]


def test_doctor_reports_an_import_that_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('libtorch is broken')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    report, problems = doctor.examine()
    assert ("registered", "nothing: `import tileops` fails") in report
    assert any("libtorch is broken" in problem for problem in problems)


def test_doctor_reports_a_cache_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEOPS_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setenv("CXX", "/nowhere/c++")
    report = dict(doctor.examine()[0])
    assert "not writable" in report["cache"]
