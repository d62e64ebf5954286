"""Eager and fake calls: results, defaults, empty calls, effects, error texts."""

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.runtime import sample_operators as sample
from tileops.norm import RMSNormFwdOp
from tileops.runtime.dispatch import record_implementations
from tileops.runtime.errors import CallError
from tileops.runtime.op import Op
from tileops.runtime.reference import ImplementationError
from tileops.runtime.registry import Registry

ops = getattr(torch.ops, sample.NAMESPACE)


def test_rms_norm_matches_its_reference():
    x, w = torch.randn(3, 8), torch.randn(8)
    torch.testing.assert_close(
        ops.rms_norm_fwd(x, w, normalized_shape=[8], eps=1e-6), F.rms_norm(x, (8,), w, 1e-6)
    )
    torch.testing.assert_close(ops.rms_norm_fwd(x, normalized_shape=[8]), F.rms_norm(x, (8,)))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_grad_modes_give_the_same_values(mode):
    x, y = torch.randn(3, 8), torch.randn(8)
    with mode():
        torch.testing.assert_close(ops.add_fwd(x, y, alpha=2), torch.add(x, y, alpha=2))


def test_any_strides_are_taken_and_results_are_contiguous():
    x = torch.randn(8, 3).t()
    y = ops.rms_norm_fwd(x, normalized_shape=[8])
    assert y.is_contiguous()
    torch.testing.assert_close(y, F.rms_norm(x, (8,)))
    conjugate = torch.randn(3, 4, dtype=torch.complex64).conj()
    torch.testing.assert_close(ops.add_fwd(conjugate, conjugate), conjugate + conjugate)


@pytest.mark.rule("CAL-4")
def test_operator_without_tensors_defaults_to_the_cpu():
    y = ops.sinusoidal_fwd(seq_len=3, d_model=4)
    assert y.device.type == "cpu" and y.dtype is torch.float32
    assert ops.sinusoidal_fwd(seq_len=3, d_model=4, out_dtype=torch.float16).dtype is torch.float16


def test_two_outputs_and_an_absent_one():
    x, r, w = torch.randn(3, 8), torch.randn(3, 8), torch.randn(8)
    y, total = ops.fused_add_rms_norm_fwd(x, r, w)
    torch.testing.assert_close(total, x + r)
    torch.testing.assert_close(y, F.rms_norm(x + r, (8,), w, 1e-6))
    doubled, mean = ops.mean_saving_fwd(x)
    assert mean is None and torch.equal(doubled, x * 2)
    assert torch.equal(ops.mean_saving_fwd(x, save=True)[1], x.mean(-1))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_fake_gives_the_declared_metadata(device):
    with FakeTensorMode():
        x = torch.empty(8, 3, device=device, dtype=torch.float16).t()
        w = torch.empty(8, device=device, dtype=torch.float16)
        y = ops.rms_norm_fwd(x, w, normalized_shape=[8])
        assert y.shape == (3, 8) and y.dtype is torch.float16
        assert y.device.type == device and y.is_contiguous()
        table = ops.sinusoidal_fwd(seq_len=3, d_model=4, device=torch.device(device))
        assert table.device.type == device
        assert ops.mean_saving_fwd(x)[1] is None


@pytest.mark.rule("CAL-5")
def test_empty_calls_run_nothing():
    with record_implementations() as served:
        assert ops.rms_norm_fwd(torch.empty(0, 8), normalized_shape=[8]).shape == (0, 8)
        out = torch.empty(0, 8)
        assert ops.scale_fwd(torch.empty(0, 8), torch.empty(0, 8), out=out) is None
    assert served == []
    with record_implementations() as served:
        running = torch.ones(8)
        ops.running_fwd.writes_running(torch.empty(0, 8), running, training=True)
    # The written input has elements, so the operator runs.
    assert len(served) == 1


def test_out_is_written_and_its_version_counts():
    x, y = torch.randn(3, 8), torch.randn(3, 8)
    out = torch.empty(3, 8)
    before = out._version
    ops.scale_fwd(x, y, out=out)
    assert torch.equal(out, x * y) and out._version > before
    strided = torch.empty(8, 3).t()
    ops.scale_fwd(x, y, out=strided)
    assert torch.equal(strided, x * y)


def test_written_input_and_the_wrong_overload():
    x, running = torch.randn(4, 8), torch.zeros(8)
    expected = 0.1 * x.mean(0)
    before = running._version
    y = ops.running_fwd.writes_running(x, running, training=True)
    torch.testing.assert_close(y, x - x.mean(0))
    torch.testing.assert_close(running, expected)
    assert running._version > before
    with pytest.raises(CallError, match=r"call running_fwd\.writes_running"):
        ops.running_fwd(x, running, training=True)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_launchers_write_in_place(monkeypatch, mode):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    with mode():
        x, y = torch.randn(3, 8), torch.randn(3, 8)
        mirrored = x * y.flatten().flip(0).view(3, 8)
        torch.testing.assert_close(ops.scale_fwd(x, y, target="triton"), mirrored)
        expected = x + x.flatten().flip(0).view(3, 8)
        version = None if x.is_inference() else x._version
        # The source is the tensor that is written, as Inductor makes it of a clone.
        ops.shift_fwd(x, x, target="triton")
        torch.testing.assert_close(x, expected)
        assert version is None or x._version > version


def test_partial_overlap_of_out_and_source(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    memory = torch.randn(12)
    x, out, y = memory[:8], memory[4:], torch.randn(8)
    expected = x * y.flip(0)
    ops.scale_fwd(x, y, out=out, target="triton")
    torch.testing.assert_close(out, expected)


def test_who_served_is_recorded(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    x = torch.randn(3, 8)
    with record_implementations() as served:
        ops.rms_norm_fwd(x, normalized_shape=[8])
        ops.rms_norm_fwd(x, normalized_shape=[8], target="triton")
    assert [(s.target, s.implementation) for s in served] == [
        ("eager", "reference"),
        ("triton", "row"),
    ]
    assert served[1].declined == (("never", "x is not to its taste"),)


@pytest.mark.rule("CAL-7")
def test_errors_are_the_same_sentence_in_eager_and_fake():
    text = r"^rms_norm_fwd: weight axis 0 must be normalized_shape\[0\] = 8, got 7$"
    with pytest.raises(CallError, match=text):
        ops.rms_norm_fwd(torch.randn(3, 8), torch.randn(7), normalized_shape=[8])
    with FakeTensorMode(), pytest.raises(CallError, match=text):
        ops.rms_norm_fwd(torch.randn(3, 8), torch.randn(7), normalized_shape=[8])


@pytest.mark.rule("ENT-8")
def test_spec_only_says_so():
    with FakeTensorMode():
        assert ops.planned_fwd(torch.randn(3)).shape == (3,)
    with pytest.raises(CallError, match="PlannedFwdOp is spec-only"):
        ops.planned_fwd(torch.randn(3))


def test_autocast_leaves_declared_dtypes_alone():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ops.rms_norm_fwd(torch.randn(3, 8), normalized_shape=[8]).dtype is torch.float32


def build(reference, namespace):
    """A registry of its own with one operator served by `reference`."""
    name = "AddFwdOp"
    cls = type(name, (Op,), {"reference": staticmethod(reference)})
    registry = Registry(
        [sample.ADD.header], lambda _: sample.ADD, namespace, {name: cls},
        compile_operator=sample.compile_operator,
    )  # fmt: skip
    registry.register()
    return getattr(torch.ops, namespace).add_fwd


@pytest.mark.rule("CAL-8")
def test_a_reference_that_breaks_the_declaration_is_named():
    wrong = build(lambda input, other, *, alpha: (input + other).double(), "tileops_wrong_dtype")
    with pytest.raises(ImplementationError, match=r"must give torch\.float32"):
        wrong(torch.randn(3), torch.randn(3))
    two = build(lambda input, other, *, alpha: (input, other), "tileops_two")
    with pytest.raises(ImplementationError, match="must return 1 results, got 2"):
        two(torch.randn(3), torch.randn(3))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_an_input_is_never_returned(mode):
    same = build(lambda input, other, *, alpha: input, "tileops_same")
    view = build(lambda input, other, *, alpha: input[:], "tileops_view")
    with mode():
        x = torch.randn(3)
        for op in (same, view):
            assert op(x, x).data_ptr() != x.data_ptr()


@pytest.mark.rule("PRE-2")
def test_none_equals_omission():
    x = torch.randn(3, 8)
    wanted = F.rms_norm(x, (8,))
    for call in (
        lambda x: ops.rms_norm_fwd(x, normalized_shape=[8]),
        lambda x: ops.rms_norm_fwd(x, None, normalized_shape=[8], eps=None),
        lambda x: ops.rms_norm_fwd(x, weight=None, normalized_shape=[8], target=None),
    ):
        torch.testing.assert_close(call(x), wanted)
        compiled = torch.compile(call, backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(compiled(x), wanted)
    assert RMSNormFwdOp((8,)) == RMSNormFwdOp((8,), eps=None)
    op = RMSNormFwdOp((8,))
    for arguments, keywords in (((), {}), ((None,), {}), ((), {"weight": None})):
        torch.testing.assert_close(op(x, *arguments, **keywords), wanted)
