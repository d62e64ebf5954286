"""A call made ahead of time: what it prepares, and that it touches nothing of the caller's."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import tileops
from tests.devices import gpu
from tileops.norm import RMSNormFwdOp

ops = torch.ops.tileops


def test_a_written_input_is_left_alone():
    x = torch.randn(3, 8, requires_grad=True)
    before, version = x.detach().clone(), x._version
    with torch.no_grad():
        (served,) = tileops.warmup(ops.elementwise_relu_fwd.writes_input, x, inplace=True)
    assert torch.equal(x, before) and x._version == version
    assert (served.operator, served.implementation) == ("elementwise_relu_fwd", "reference")


def test_an_instance_and_tensors_without_memory():
    (served,) = tileops.warmup(
        RMSNormFwdOp((8,)), torch.empty(3, 8, device="meta"), meta_device="cpu"
    )
    assert served.device.type == "cpu"
    with FakeTensorMode():
        x, y = torch.empty(3, 8), torch.empty(3, 1)
    (served,) = tileops.warmup(ops.elementwise_add_fwd, x, y, alpha=2)
    assert served.device.type == "cpu"


@pytest.mark.parametrize(
    "x",
    [
        torch.randn(8).expand(3, 8),
        torch.randn(8, 3).t(),
        torch.randn(40)[3:27].view(3, 8),
        torch.randn(0, 8),
        torch.randn(6, 16)[::2, ::2],
    ],
    ids=["expanded", "transposed", "offset", "empty", "stepped"],
)
def test_layouts_and_values_are_those_of_the_call(x):
    seen = []

    def call(tensor):
        seen.append(tensor)

    tileops.warmup(call, x)
    assert seen[0].stride() == x.stride() and torch.equal(seen[0], x)
    assert x.numel() == 0 or seen[0].data_ptr() != x.data_ptr()


def test_a_device_parameter_is_the_operators_own():
    operator = ops.elementwise_sinusoidal_fwd
    (served,) = tileops.warmup(operator, seq_len=3, d_model=4, device=torch.device("cpu"))
    assert served.device == torch.device("cpu")
    with pytest.raises(RuntimeError, match="nowhere"):
        tileops.warmup(operator, seq_len=3, d_model=4, device="nowhere")


def test_a_wrong_call_says_what_is_wrong():
    with pytest.raises(tileops.CallError, match=r"weight axis 0 must be normalized_shape\[0\] = 8"):
        tileops.warmup(RMSNormFwdOp((8,)), torch.ones(3, 8), torch.ones(7))


def test_not_inside_a_capture(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    with pytest.raises(tileops.CallError, match="before a CUDA graph is captured"):
        tileops.warmup(RMSNormFwdOp((8,)), torch.ones(3, 8))


@gpu
def test_what_was_prepared_can_be_captured():
    x = torch.randn(5, 777, device="cuda")
    op = RMSNormFwdOp((777,))
    with FakeTensorMode():
        shape = torch.empty(5, 777, device="cuda")
    (served,) = tileops.warmup(op, shape)
    assert served.target == "triton"
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = op(x)
    graph.replay()
    torch.testing.assert_close(result, torch.nn.functional.rms_norm(x, (777,)))
