"""Targets: which one serves, what a third party's is given, and what an unknown one says."""

import os
import subprocess
import sys
import threading
from importlib import metadata

import pytest
import torch
import torch.nn.functional as F

from tests.runtime import sample_operators as sample
from tileops.runtime import targets
from tileops.runtime.dispatch import record_implementations
from tileops.runtime.errors import CallError
from tileops.runtime.reference import ImplementationError
from tileops.runtime.targets import Target, register_target, unregister_target, use_target

ops = getattr(torch.ops, sample.NAMESPACE)


def served_by(*args, **kwargs):
    with record_implementations() as served:
        ops.rms_norm_fwd(*args, normalized_shape=[8], **kwargs)
    return served[0].target, served[0].implementation


def launch(call, output, x, weight, *, normalized_shape, eps):
    assert call.device == x.device
    if weight is not None:
        return "it knows no weights"
    output.copy_(F.rms_norm(x, normalized_shape, weight, eps))
    return None


@pytest.fixture
def vendor():
    target = Target("vendor", ("cpu",), {"RMSNormFwdOp": launch})
    register_target(target)
    yield target
    unregister_target("vendor")


def test_order_of_call_context_and_process(vendor):
    x = torch.randn(3, 8)
    assert served_by(x) == ("eager", "reference")
    assert served_by(x, target="vendor") == ("vendor", "vendor")
    with use_target("vendor"):
        assert served_by(x) == ("vendor", "vendor")
        assert served_by(x, target="eager") == ("eager", "reference")
        with use_target("eager"):
            assert served_by(x) == ("eager", "reference")
        assert served_by(x, torch.ones(8)) == ("eager", "reference")
    assert served_by(x) == ("eager", "reference")
    use_target("vendor")
    try:
        found = []
        thread = threading.Thread(target=lambda: found.append(served_by(x)))
        thread.start()
        thread.join()
        assert found == [("vendor", "vendor")]
        with use_target(None):
            assert served_by(x) == ("eager", "reference")
    finally:
        use_target(None)
    assert served_by(x) == ("eager", "reference")


def test_compile_caches_depend_on_the_default_target(vendor):
    config = torch.compiler.config
    before = config.cache_key_tag
    with use_target("vendor"):
        assert config.cache_key_tag != before
    assert config.cache_key_tag == before
    use_target("vendor")
    assert config.cache_key_tag != before
    use_target(None)
    assert config.cache_key_tag == before


def test_errors_list_what_exists(vendor, monkeypatch):
    x = torch.randn(3, 8)
    with pytest.raises(CallError, match="target must be one of triton, eager, vendor, got 'no'"):
        ops.rms_norm_fwd(x, normalized_shape=[8], target="no")
    with pytest.raises(CallError, match="does not implement AddFwdOp; targets that do: eager"):
        ops.add_fwd(x, x, target="vendor")
    with monkeypatch.context() as patch:
        patch.setenv("TRITON_INTERPRET", "1")
        with pytest.raises(CallError, match=r"'triton' does not implement AddFwdOp; .* do: eager"):
            ops.add_fwd(x, x, target="triton")
    with pytest.raises(CallError, match=r"target 'triton' serves cuda, not cpu; .* eager, vendor"):
        ops.rms_norm_fwd(x, normalized_shape=[8], target="triton")
    with pytest.raises(CallError, match="use_target: target must be one of"):
        use_target("no")


def test_a_detector_claims_its_device():
    mine = Target("mine", ("cpu",), {"RMSNormFwdOp": launch}, lambda device: device.type == "cpu")
    other = Target("other", ("cpu",), {}, lambda device: True)
    x = torch.randn(3, 8)
    register_target(mine)
    try:
        assert served_by(x) == ("mine", "mine")
        register_target(other)
        with pytest.raises(CallError, match="'mine' and 'other' both claim cpu"):
            served_by(x)
    finally:
        unregister_target("mine")
        unregister_target("other")
    assert served_by(x) == ("eager", "reference")


def test_entry_points_are_read_on_the_first_choice(monkeypatch):
    class Point:
        def load(self):
            return Target("packaged", ("cpu",), {"RMSNormFwdOp": launch})

    monkeypatch.setattr(metadata, "entry_points", lambda group: [Point()])
    monkeypatch.setattr(targets, "_discovered", False)
    try:
        assert served_by(torch.randn(3, 8), target="packaged") == ("packaged", "packaged")
    finally:
        unregister_target("packaged")


def test_in_tree_targets_stay():
    with pytest.raises(ValueError, match="part of tileops"):
        unregister_target("eager")
    with pytest.raises(ValueError, match="already registered"):
        register_target(Target("eager", ("cpu",)))


def test_a_broken_package_says_so_when_it_is_asked_for(monkeypatch, caplog):
    class Point:
        name = "broken"

        def load(self):
            raise ImportError("no driver")

    monkeypatch.setattr(metadata, "entry_points", lambda group: [Point()])
    monkeypatch.setattr(targets, "_discovered", False)
    monkeypatch.setattr(targets, "_broken", {})
    x = torch.randn(3, 8)
    with pytest.raises(CallError, match="target 'broken' could not be loaded: ImportError: no dri"):
        ops.rms_norm_fwd(x, normalized_shape=[8], target="broken")
    assert served_by(x) == ("eager", "reference")
    assert "target broken could not be loaded" in caplog.text


def test_a_launcher_that_returns_its_result_is_told_what_to_return():
    register_target(Target("wrong", ("cpu",), {"RMSNormFwdOp": lambda call, output, x, *a, **k: x}))
    try:
        with pytest.raises(ImplementationError, match="must write its outputs and return None"):
            ops.rms_norm_fwd(torch.randn(3, 8), normalized_shape=[8], target="wrong")
    finally:
        unregister_target("wrong")


TOY = """
import torch
from tileops import Target

def rms_norm(call, output, x, weight, *, normalized_shape, eps):
    if weight is None:
        return "it wants a weight"
    output.copy_(torch.nn.functional.rms_norm(x, normalized_shape, weight, eps))

TARGET = Target("toy", ("cpu",), {"RMSNormFwdOp": rms_norm})
"""

PROGRAM = """
import torch, tileops
from tileops.elementwise import GELUFwdOp
from tileops.norm import RMSNormFwdOp

x, w = torch.randn(3, 8), torch.randn(8)
want = torch.nn.functional.rms_norm(x, (8,), w)
def served(call):
    with tileops.record_implementations() as found:
        torch.testing.assert_close(call(), want)
    return found[0].target, found[0].declined
op = RMSNormFwdOp((8,), target="toy")
print(served(lambda: op(x, w)))
print(served(lambda: torch.compile(op, backend="aot_eager", fullgraph=True)(x, w)))
w = torch.ones(8)
want = torch.nn.functional.rms_norm(x, (8,))
print(served(lambda: op(x)))
with tileops.use_target("toy"):
    try:
        GELUFwdOp()(x)
    except tileops.CallError as error:
        print(error)
"""


def test_a_package_of_somebody_elses_serves_by_entry_point(tmp_path):
    (tmp_path / "toy_target.py").write_text(TOY)
    info = tmp_path / "toy_target-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-target\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tileops.targets]\ntoy = toy_target:TARGET\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    paths = os.pathsep.join([str(tmp_path), *(path for path in sys.path if path)])
    result = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "('toy', ())",
        "('toy', ())",
        "('eager', (('toy', 'it wants a weight'),))",
        "elementwise_gelu_fwd: target 'toy' does not implement GELUFwdOp; targets that do: triton, "
        "eager",
    ]
