"""The checks can fail: each fault of control_operators.py is caught, by the check made for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from compile_tests import control_operators as controls
from tileops.testing import CheckFailed, check
from tileops.testing.call import Call
from tileops.testing.compiled import check_fake, check_static

ROOT = Path(__file__).resolve().parent.parent

FAULTS = {
    "wrong_device": ("fake", "the device of result 0 must be meta as the fake has it, got cpu"),
    "wrong_shape": ("fake", r"the shape of result 0 must be \(8, 7\) as the fake has it"),
    "copied_strides": ("fake", "dense permuted: .*the strides of result 0 must be"),
    "missing_fake": ("static", "must compile with fullgraph=True"),
    "writes_in_secret": ("fake", "x must be declared as written, the call changes it"),
    "branches_on_a_size": ("dynamic", "4 sizes must be one frame, got 2"),
    "int_of_a_size": ("dynamic", "4 sizes must be one frame, got 4"),
    "returns_its_input": ("fake", "result 0 must have memory of its own, it shares that of x"),
    "shared_results": ("fake", "result 1 must have memory of its own, it shares that of result 0"),
}


def test_a_sound_operator_passes():
    report = check(controls.ops.sound, call=controls.make)
    assert report, report
    assert {result.check for result in report.results} == {
        "fake", "static", "dynamic", "unbacked", "opcheck", "inductor"
    }  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_caught(name):
    wanted, message = FAULTS[name]
    report = check(getattr(controls.ops, name), call=controls.make)
    assert not report
    failed = {result.check: result.message for result in report.failures}
    assert wanted in failed, report
    with pytest.raises(CheckFailed, match=message):
        raise CheckFailed(failed[wanted])
    with pytest.raises(CheckFailed, match=f"FAILED {wanted}"):
        report.require()


@pytest.mark.parametrize("name", ["branches_on_a_size", "int_of_a_size"])
def test_a_fake_that_needs_a_size_is_not_unbacked(name):
    report = check(getattr(controls.ops, name), call=controls.make)
    assert "unbacked" in {result.check for result in report.failures}, report


def test_a_wrong_dtype_is_caught_before_it_runs_compiled():
    """In a process of its own: compiled, it would write past the end of a buffer."""
    done = subprocess.run(
        [sys.executable, "-m", "compile_tests.control_operators", "wrong_dtype"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "the dtype of result 0 must be torch.float64 as the fake has it" in done.stdout
    assert "inductor" not in done.stdout


def call() -> Call:
    args, kwargs = controls.make(8)
    return Call(controls.ops.sound.default, args, kwargs)


def test_a_graph_break_is_caught():
    assert check_static(call()) is not None
    with pytest.raises(CheckFailed, match="must compile with fullgraph=True, got Unsupported"):
        check_static(call(), callee=controls.breaks_the_graph)


def test_eager_code_before_the_operator_is_caught():
    with pytest.raises(CheckFailed, match="must hold one node, its own, got"):
        check_static(call(), callee=controls.computes_first)


def test_an_overlooked_result_is_caught():
    args, kwargs = controls.make(8)
    with pytest.raises(CheckFailed, match="it shares that of x"):
        check_fake(Call(controls.ops.returns_its_input.default, args, kwargs))
