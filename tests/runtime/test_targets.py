"""Targets: which one serves, what a third party's is given, and what an unknown one says."""

import threading
from importlib import metadata

import pytest
import torch
import torch.nn.functional as F

from tests.runtime import sample_operators as sample
from tileops.runtime import targets
from tileops.runtime.dispatch import record_implementations
from tileops.runtime.errors import CallError
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
