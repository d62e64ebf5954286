"""`tileops validate --compile`: faults are findings with their codes, and lost workers too."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import pytest

from tileops.cli import main
from tileops.manifest.load import load_manifest
from tileops.validator.compiled import CHECKS, check_compiled
from tileops.validator.workers import Broken

ENTRY = """\
{op}:
  family: {family}
  status: implemented
  ref_api: torch.mul
  signature:
    forall: {{N: Dim, M: Dim}}
    inputs: {{x: {{dtype: float32, shape: "[N, M]"}}}}
    outputs: {{y: {{dtype: float32, shape: "[N, M]"}}}}
  workloads:
    - {{label: small, N: 8, M: 6}}
  roofline: {{flops: "N * M"}}
"""

#: What each control must be found as; nothing more, and nothing of its neighbours.
FAULTS = {
    "WrongDtype": {"real: wrong-fake"},
    "WrongDevice": {"real: wrong-fake"},
    "WrongShape": {"real: wrong-fake"},
    "CopiedStrides": {"real: wrong-fake"},
    "MissingFake": {"static: not-one-graph"},
    "WritesInSecret": {"real: undeclared-write"},
    "BranchesOnASize": {"dynamic: frame-per-size"},
    "IntOfASize": {"dynamic: frame-per-size"},
    "ReturnsItsInput": {"real: shared-memory"},
    "SharedResults": {"real: shared-memory"},
    "BreaksTheGraph": {"static: not-one-graph"},
    "ComputesFirst": {"static: not-one-node"},
    "Sound": set(),
}
LOST = {
    "Aborts": ("worker-died", "was ended by SIGABRT"),
    "Exits": ("worker-died", "ended with status 3"),
    "Hangs": ("worker-hung", "did not in 3 seconds"),
}


WORKERS = {"compile_tests.control_worker", "tileops.testing.worker"}


def worker(channel: int) -> list[str]:
    return [sys.executable, "-m", "compile_tests.control_worker", str(channel)]


def entries(folder: Path, *names: str):
    """Entries of one family, by the names of controls."""
    (folder / "controls.yaml").write_text(
        "".join(ENTRY.format(op=f"{name}FwdOp", family="controls") for name in names)
    )
    manifest = load_manifest(folder)
    assert list(manifest.findings) == []
    return manifest.entries


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory):
    """The findings of every control, two of the lost ones in the middle of a worker's entries."""
    names = [*FAULTS]
    names[2:2] = ["Aborts", "Exits"]
    chosen = entries(tmp_path_factory.mktemp("controls"), *names)
    return {
        found.entry.op.removesuffix("FwdOp"): found
        for found in check_compiled(chosen, worker, jobs=2, timeout=120)
    }


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_with_its_code(found, name: str) -> None:
    codes = {
        f"{item.message.partition(' of ')[0]}: {item.code.name}" for item in found[name].findings
    }
    # Most of the controls have no autograd kernel, which opcheck says too.
    assert codes - {"opcheck: opcheck-fails"} == FAULTS[name], found[name].findings


def test_a_finding_stands_at_its_row(found) -> None:
    (item,) = found["WrongDtype"].findings
    assert item.op == "WrongDtypeFwdOp" and item.field == "workloads"
    assert Path(item.span.file).name == "controls.yaml"
    assert item.message == (
        "real of WrongDtypeFwdOp[small-float32]: tileops_controls::wrong_dtype: the dtype of result"
        " 0 must be torch.float64 as the fake has it, got torch.float32"
    )


def test_a_missing_fake_is_said(found) -> None:
    (item,) = found["MissingFake"].findings
    assert "tileops_controls::missing_fake: must have a fake that takes the call" in item.message


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("Sound", 0),
        ("WrongDtype", 3),  # unbacked, inductor, opcheck: running them could corrupt memory
        ("MissingFake", 5),
        ("Aborts", 1),
        ("Exits", 1),
    ],
)
def test_what_is_left_out_is_counted(found, name: str, count: int) -> None:
    assert found[name].unchecked == count


@pytest.mark.parametrize("name", ["Aborts", "Exits"])
def test_a_worker_that_dies_is_a_finding_and_the_others_go_on(found, name: str) -> None:
    (item,) = found[name].findings
    code, message = LOST[name]
    assert item.code.name == code
    assert item.message == (
        f"static of {name}FwdOp[small-float32]: the check must end, but its process {message}"
    )


def test_a_worker_that_hangs_is_ended(tmp_path: Path) -> None:
    chosen = entries(tmp_path, "Hangs", "Aborts")
    by_name = {f.entry.op: f.findings for f in check_compiled(chosen, worker, timeout=3)}
    for name, (code, message) in LOST.items():
        if name != "Exits":
            (item,) = by_name[f"{name}FwdOp"]
            assert item.code.name == code and item.message.endswith(message)


def test_an_error_of_the_checks_is_ours(tmp_path: Path) -> None:
    with pytest.raises(Broken, match=r"OddFwdOp failed:(?s:.*)ZeroDivisionError"):
        list(check_compiled(entries(tmp_path, "Odd"), worker))


def test_a_worker_that_does_not_start_is_ours(tmp_path: Path) -> None:
    chosen = entries(tmp_path, "Sound")
    start = [sys.executable, "-c", "raise SystemExit('no such thing')"]
    with pytest.raises(Broken, match="before its first entry:\nno such thing"):
        list(check_compiled(chosen, lambda channel: start))


def test_the_verb_on_a_shipped_entry(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--compile", "--op", "SinusoidalFwdOp"]) == 0
    assert ", 0 errors, " in capsys.readouterr().out
    assert main(["validate", "--op", "SinusoidalFwdOp"]) == 0
    assert f", {len(CHECKS)} unchecked\n" in capsys.readouterr().out


def test_compiling_needs_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries(tmp_path, "Sound")
    assert main(["validate", "--spec", str(tmp_path), "--compile"]) == 2
    assert "--compile must import operator code" in capsys.readouterr().err
    assert main(["validate", "--timeout", "0"]) == 2


def test_the_checks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--list-rules"]) == 0
    out = capsys.readouterr().out
    assert all(f"{name:16}compile" in out for name in CHECKS)


def test_no_process_is_left() -> None:
    """Other tests of this process may have children of their own, such as Inductor's compilers."""
    left = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            command = (process / "cmdline").read_text().split("\0")
            if parent == os.getpid() and {*command} & WORKERS:
                left.append(command)
    assert left == []
