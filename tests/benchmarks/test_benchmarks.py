"""The benchmarks run, in small: their lines can be read back, runs resume, tables come out.

In: tiny subsets. No figure is judged here.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import results, runner
from benchmarks.__main__ import main
from benchmarks.case import Benchmark, Case, DeviceLost, Options, Table, Unmeasurable, Values
from benchmarks.generated_manifest import write_manifest
from benchmarks.results import ResultFile

ROOT = Path(__file__).resolve().parents[2]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def sample(measured: list[str], failing: str = "") -> Benchmark:
    def measure(name: str) -> Values:
        measured.append(name)
        if name == failing:
            raise RuntimeError("broken")
        return {"us": 1.5}

    def cases(options: Options) -> list[Case]:
        return [Case(name, lambda name=name: measure(name)) for name in ("a", "b", "c")]

    return Benchmark("sample", "a sample", cases, lambda values: " ".join(values))


def test_a_line_says_where_when_and_of_what(tmp_path: Path) -> None:
    assert runner.run([sample([])], runner.Request(Options(), tmp_path)) == 0
    found = lines(tmp_path / "sample.jsonl")
    assert [line["case"] for line in found] == ["a", "b", "c"]
    assert len({line["run"] for line in found}) == 1
    assert all(line["values"] == {"us": 1.5} for line in found)
    assert set(found[0]["versions"]) == {"python", "torch", "triton", "tileops", "commit"}
    assert set(found[0]["machine"]) == {"cpu", "cores", "gpu"}
    assert found[0]["date"].endswith("+00:00")


def test_a_run_resumes_where_it_ended(tmp_path: Path, capsys: Any) -> None:
    done: list[str] = []
    assert runner.run([sample(done, failing="b")], runner.Request(Options(), tmp_path)) == 1
    assert "FAILED b: RuntimeError: broken" in capsys.readouterr().out
    with (tmp_path / "sample.jsonl").open("a") as stream:
        stream.write('{"half a line')
    again: list[str] = []
    assert runner.run([sample(again)], runner.Request(Options(), tmp_path, resume=True)) == 0
    assert done == ["a", "b", "c"] and again == ["b"]
    assert "a b c" in capsys.readouterr().out
    found = list(ResultFile(tmp_path / "sample.jsonl").lines())
    assert [(line["case"], "values" in line) for line in found] == [
        ("a", True), ("b", False), ("c", True), ("b", True),
    ]  # fmt: skip
    assert found[1]["failed"] == "RuntimeError: broken"


def test_what_failed_comes_last_when_a_run_resumes(tmp_path: Path) -> None:
    done: list[str] = []
    request = runner.Request(Options(), tmp_path, only=("a", "b"))
    runner.run([sample(done, failing="a")], request)
    runner.run([sample(done)], runner.Request(Options(), tmp_path, resume=True))
    assert done == ["a", "b", "c", "a"]


def test_nothing_is_measured_on_a_lost_device(tmp_path: Path, capsys: Any) -> None:
    def lost() -> Values:
        raise DeviceLost("the device is lost")

    cases = [Case("a", lost), Case("b", lambda: {"us": 1.0})]
    benchmark = Benchmark("sample", "", lambda options: cases, lambda values: "")
    assert runner.run([benchmark], runner.Request(Options(), tmp_path)) == 1
    said = capsys.readouterr()
    assert "1 cases are left for --resume" in said.err and "DeviceLost" in said.out
    assert runner.run([benchmark], runner.Request(Options(), tmp_path, resume=True)) == 1
    assert [line["case"] for line in lines(tmp_path / "sample.jsonl")] == ["a", "b", "a"]


def test_batches_are_prepared_before_they_are_measured(tmp_path: Path) -> None:
    seen: list[str] = []
    base = sample(seen)

    def prepare(cases: Any, options: Options) -> None:
        seen.append("+".join(case.id for case in cases))

    benchmark = dataclasses.replace(base, prepare=prepare, batch=2)
    runner.run([benchmark], runner.Request(Options(), tmp_path))
    assert seen == ["a+b", "a", "b", "c", "c"]


def test_other_versions_do_not_resume(tmp_path: Path, monkeypatch: Any) -> None:
    runner.run([sample([])], runner.Request(Options(), tmp_path))
    monkeypatch.setattr(results, "versions", lambda: {"torch": "another"})
    again: list[str] = []
    runner.run([sample(again)], runner.Request(Options(), tmp_path, resume=True))
    assert again == ["a", "b", "c"]


def test_the_time_limit_leaves_cases_out(tmp_path: Path, capsys: Any) -> None:
    measured: list[str] = []
    runner.run([sample(measured)], runner.Request(Options(), tmp_path, seconds=-1.0))
    assert measured == []
    assert "3 cases are left" in capsys.readouterr().err


def test_what_cannot_be_measured_is_no_failure(tmp_path: Path, capsys: Any) -> None:
    def measure() -> Values:
        raise Unmeasurable("there is no such device")

    benchmark = Benchmark("sample", "", lambda options: [Case("a", measure)], lambda values: "")
    assert runner.run([benchmark], runner.Request(Options(), tmp_path)) == 0
    assert "not measured: there is no such device" in capsys.readouterr().err


def test_a_quick_run_of_the_host_benchmarks(tmp_path: Path) -> None:
    names = ("startup", "validate", "dispatch")
    command = [sys.executable, "-m", "benchmarks", *names, "--quick", "--results", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {name: lines(tmp_path / f"{name}.jsonl") for name in names}
    for name, items in found.items():
        assert items and all(line["benchmark"] == name and line["values"] for line in items)
        for line in items:
            assert line["case"] in done.stdout
            assert f"{name} {line['case']}" in done.stderr
    assert all(us > 0 for line in found["dispatch"] for us in line["values"]["us"].values())
    # Nothing that a warm import can do without.
    assert all(line["values"]["heavy"] == [] for line in found["startup"])


def test_an_unknown_name_is_refused(capsys: Any) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["nothing"])
    assert refused.value.code == 2
    assert "there is no benchmark 'nothing'; there are startup" in capsys.readouterr().err


def test_generated_manifests_hold_up_like_the_shipped_one(tmp_path: Path) -> None:
    from tileops.manifest.load import load_manifest
    from tileops.manifest.signature.check import check_entry

    assert write_manifest(tmp_path / "few", 7) >= 7
    count = write_manifest(tmp_path / "many", 250)
    manifest = load_manifest(tmp_path / "many")
    assert count == len(manifest.entries) >= 250
    assert manifest.findings.errors == 0
    for entry in manifest.entries[-30:]:
        assert check_entry(entry, manifest.adts, manifest.findings) is not None
    assert manifest.findings.errors == 0


def test_tables_line_up() -> None:
    table = Table(("name", "us"))
    table.add("a long name", 1234.5)
    table.add("b", None)
    assert str(table).splitlines() == [
        "name           us",
        "-----------------",
        "a long name  1234",
        "b               -",
    ]
