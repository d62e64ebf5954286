"""A run as a whole: over processes, with an error of its own, and how its work grows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tileops.cli import main
from tileops.diagnostics.machine import to_json
from tileops.manifest.fingerprint import spec_folder
from tileops.validator import runner
from tileops.validator.model import Phase, Rule
from tileops.validator.runner import validate

ENTRY = """\
{op}:
  family: {family}
  status: spec-only
  signature:
    forall: {{N: Dim, M: Dim}}
    params: {{wide: {{type: bool, default: false}}}}
    inputs:
      x: {{dtype: float32, shape: "[N, M]"}}
      w: {{dtype: float32, shape: "[M]", optional: true}}
    outputs:
      y: {{dtype: float32, shape: "[{axis}]"}}
    shape_rules: ["not wide or N > 1"]
  workloads:
    - {{label: plain, N: 4, M: 2}}
    - {{label: scaled, N: 4, M: 2, some: [w]}}
  roofline: {{flops: "N * M"}}
"""


def manifest(folder: Path, count: int, broken: int = 0, families: int = 4) -> Path:
    """`count` entries over some files; `broken` of them have an index that nothing solves."""
    folder.mkdir(parents=True)
    for family in range(families):
        text = "".join(
            ENTRY.format(op=f"A{at}FwdOp", family=f"f{family}", axis="K" if at < broken else "N")
            for at in range(family, count, families)
        )
        (folder / f"f{family}.yaml").write_text(text)
    return folder


def test_processes_change_nothing(tmp_path: Path) -> None:
    folder = manifest(tmp_path / "spec", 30, broken=7)
    alone, shared = validate(folder), validate(folder, jobs=3)
    assert alone.counts == shared.counts and alone.counts["errors"] == 7
    assert to_json(alone.findings, {}) == to_json(shared.findings, {})


def test_progress_counts_entries_in_order(tmp_path: Path) -> None:
    folder = manifest(tmp_path / "spec", 9)
    for jobs in (1, 2):
        seen: list[tuple[int, int]] = []
        validate(
            folder,
            jobs=jobs,
            progress=lambda done, total, op, into=seen: into.append((done, total)),
        )
        assert seen == [(at, 9) for at in range(9)]


def fail(subject: Any) -> None:
    raise ZeroDivisionError(subject.entry.op)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_error_of_a_rule_is_ours_and_says_where(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    jobs: str,
) -> None:
    folder = manifest(tmp_path / "spec", 2)
    monkeypatch.setattr(runner, "RULES", (Rule("odd", "fails", Phase.STATIC, fail),))
    assert main(["validate", "--spec", str(folder), "--jobs", jobs]) == 2
    err = capsys.readouterr().err
    assert "the rule odd failed on A0FwdOp" in err and "ZeroDivisionError" in err
    assert "please report" in err


def test_a_number_of_jobs_is_positive(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--jobs", "0"]) == 2
    assert capsys.readouterr().err == "tileops: --jobs must be at least 1, got 0\n"


def calls_of(action: Callable[[], Any]) -> int:
    """How many Python calls an action makes: work that no other load of the machine changes."""
    count = 0

    def count_calls(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(count_calls)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("broken", [False, True])
def test_work_grows_with_the_entries(tmp_path: Path, broken: bool) -> None:
    """Twice the entries are twice the work, also where each of them has a finding."""
    work = []
    for count in (40, 80, 160):
        folder = manifest(tmp_path / f"spec{count}", count, broken=count if broken else 0)
        validate(folder)  # what is computed once for a process
        work.append(calls_of(lambda folder=folder: validate(folder)))
    small, middle, large = work
    assert (large - middle) / (middle - small) == pytest.approx(2, rel=0.05)


def test_the_shipped_folder_by_name_is_the_shipped_manifest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[bool] = []

    def record(folder: Path, *, static: bool, **rest: Any) -> runner.Report:
        seen.append(static)
        return validate(folder, static=True, **rest)

    monkeypatch.setattr("tileops.cli.validate.validate", record)
    other = manifest(tmp_path / "spec", 1)
    main(["validate", "--spec", str(spec_folder()), "--op", "RMSNormFwdOp"])
    main(["validate", "--spec", str(other)])
    main(["validate", "--spec", str(other), "--import"])
    main(["validate", "--static", "--op", "RMSNormFwdOp"])
    assert seen == [False, True, False, True]
