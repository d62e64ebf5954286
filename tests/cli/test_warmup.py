"""`tileops warmup`, on the CPU, and `show --implementations`."""

from __future__ import annotations

import pytest
import torch

from tileops.cli import main, warmup

SMALL = ["--device", "cpu", "--max-elements", "64"]


def test_every_chosen_case_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--op", "GELUFwdOp", "--op", "RMSNormFwdOp", "--dtype", "float32", "--jobs", "1"]
    assert main(["warmup", *options, *SMALL]) == 0
    out, err = capsys.readouterr()
    header, *lines = out.splitlines()
    assert header.split() == ["case", "target", "implementation", "seconds"]
    assert lines and all("float32]" in line and " eager " in line for line in lines)
    assert {line.partition("[")[0] for line in lines} == {"GELUFwdOp", "RMSNormFwdOp"}
    assert f"warmup: {len(lines)} calls of 2 operators" in err


def test_rows_are_chosen_by_label(capsys: pytest.CaptureFixture[str]) -> None:
    label = "gpt2-xl-mlp"
    assert main(["warmup", "--op", "GELUFwdOp", "--row", label, "--jobs", "1", *SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert lines and all(label in line for line in lines)
    assert main(["warmup", "--op", "GELUFwdOp", "--row", "none", "--jobs", "1", *SMALL]) == 2
    assert "no row has what was asked for" in capsys.readouterr().err


def test_worker_processes_divide_the_operators(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--op", "GELUFwdOp", "--op", "SiLUFwdOp", "--jobs", "2"]
    assert main(["warmup", *options, *SMALL]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 2


def test_a_case_that_fails_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup", "--op", "GELUFwdOp", "--device", "nowhere", "--jobs", "1"]) == 1
    assert "GELUFwdOp[" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "status", "sentence"),
    [
        (["--op", "GELUFwd"], 2, "there is no op 'GELUFwd'; close to it: GELUFwdOp"),
        (["--family", "norms"], 2, "there is no family 'norms'; close to it: norm"),
        (["--op", "SSDRecurrentFwdOp"], 2, "no operator that was asked for is implemented"),
        (["--jobs", "0"], 2, "--jobs must be at least 1, got 0"),
    ],
)
def test_wrong_usage(
    options: list[str], status: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["warmup", "--device", "cpu", *options]) == status
    assert sentence in capsys.readouterr().err


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["warmup", "--op", "GELUFwdOp"]) == 1
    assert "there is no CUDA device here to compile for" in capsys.readouterr().err


def test_what_serves_an_operator(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "RMSNormFwdOp", "--implementations"]) == 0
    header, *lines, policy = capsys.readouterr().out.splitlines()
    assert header.split() == ["target", "implementation", "function"]
    assert [line.split()[:2] for line in lines][-1] == ["eager", "reference"]
    assert lines[0].split()[2] == "tileops.norm.rows:launch_row"
    assert policy.startswith("boundary policy: ")
    assert main(["show", "SSDRecurrentFwdOp", "--implementations"]) == 0
    assert "has no implementation: it is spec-only" in capsys.readouterr().out


def test_workers_get_what_they_can_pickle() -> None:
    warmed, failed = warmup.warm("GELUFwdOp", ["gpt2-xl-mlp"], None, "cpu", 64)
    assert warmed and not failed and all(type(item) is tuple for item in warmed)
