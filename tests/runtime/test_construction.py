"""Construction-time tensors: cast, moved, checked, and differentiated, in classes and torch.ops."""

import copy

import pytest
import torch

from tests.runtime import own
from tileops.runtime import construction
from tileops.runtime.errors import CallError

TENSORS = """
ScaledFwdOp:
  family: own
  ref_api: none
  status: implemented
  signature:
    forall: {N: Dim, T: "DType[float16 | float32]"}
    params:
      scale: {dtype: float32, shape: "[N]"}
      shift: {dtype: out_dtype, shape: "[N]", optional: true}
      out_dtype: {type: "float16 | float32", default: float32}
    inputs:
      x: {dtype: T, shape: "[N]"}
    outputs:
      y: {dtype: out_dtype, shape: "[N]"}
  workloads:
    - {label: one, N: 4, T: float32}
  roofline: {flops: "N"}
TableFwdOp:
  family: own
  ref_api: none
  status: implemented
  signature:
    forall: {N: Dim}
    params:
      first: {dtype: float32, shape: "[N]"}
      second: {dtype: float32, shape: "[N]"}
    inputs: {}
    outputs:
      y: {dtype: float32, shape: "[N]"}
  workloads:
    - {label: one, N: 4}
  roofline: {flops: "N"}
"""
HELD = {
    "ScaledFwdOp": lambda x, *, scale, shift=None, out_dtype=torch.float32: (
        x * scale + (0 if shift is None else shift)
    ).to(out_dtype),
    "TableFwdOp": lambda *, first, second: first + second,
}


def test_held_tensors_are_cast_once_and_follow_edits():
    op = own.classes(TENSORS, **HELD)["ScaledFwdOp"]
    scale = torch.arange(4, dtype=torch.float64)
    held = op(scale, torch.ones(4), out_dtype=torch.float16)
    assert held(torch.ones(4)).tolist() == [1, 2, 3, 4]
    copies = held.__dict__[construction.COPIES]
    first = {key: item[2] for key, item in copies.items()}
    held(torch.ones(4))
    assert all(copies[key][2] is item for key, item in first.items()) and len(first) == 2
    scale.add_(1)
    assert held(torch.ones(4)).tolist() == [2, 3, 4, 5]
    held.scale = torch.zeros(4)
    assert held(torch.ones(4)).tolist() == [1, 1, 1, 1]
    assert construction.COPIES not in copy.deepcopy(held).__dict__
    assert torch.equal(copy.deepcopy(held)(torch.ones(4)), held(torch.ones(4)))
    compiled = torch.compile(held, backend="aot_eager", fullgraph=True)
    assert compiled(torch.ones(4)).tolist() == [1, 1, 1, 1]


def test_held_tensors_get_gradients():
    op = own.classes(TENSORS, **HELD)["ScaledFwdOp"]
    scale = torch.ones(4, dtype=torch.float64, requires_grad=True)
    op(scale)(torch.full((4,), 2.0)).sum().backward()
    assert scale.grad.tolist() == [2, 2, 2, 2]


@pytest.mark.rule("CAL-4")
def test_tensors_of_a_direct_call_are_cast_as_those_of_a_class():
    op = own.classes(TENSORS, **HELD)["ScaledFwdOp"]
    operator = op.bound().packet()
    x = torch.full((4,), 2.0, requires_grad=True)
    scale = torch.arange(4, dtype=torch.float64, requires_grad=True)
    shift = torch.ones(4, dtype=torch.int32)

    def call(x, scale, shift):
        return operator(x, scale=scale, shift=shift, out_dtype=torch.float16)

    y = call(x, scale, shift)
    assert y.dtype is torch.float16 and y.tolist() == [1, 3, 5, 7]
    y.sum().backward()
    assert scale.grad.dtype is torch.float64 and scale.grad.tolist() == [2, 2, 2, 2]
    assert x.grad.tolist() == [0, 1, 2, 3]
    compiled = torch.compile(call, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x, scale, shift), y)
    assert torch.func.vmap(lambda x: operator(x, scale=scale))(x[None]).tolist() == [[0, 2, 4, 6]]
    with pytest.raises(CallError, match="x dtype must be float16 or float32, got float64"):
        operator(x.double(), scale=scale)


@pytest.mark.rule("CAL-4")
def test_held_tensors_follow_the_call_device():
    op = own.classes(TENSORS, **HELD)["ScaledFwdOp"]
    held = op(torch.ones(4))
    y = held(torch.ones(4, device="meta"))
    assert y.device.type == "meta"
    operator = op.bound().packet()
    assert operator(torch.ones(4, device="meta"), scale=torch.ones(4)).device.type == "meta"


@pytest.mark.rule("CAL-3")
def test_held_tensors_are_checked_at_construction():
    ops = own.classes(TENSORS, **HELD)
    with pytest.raises(CallError, match="shift axis 0 must be N = 4, got 3"):
        ops["ScaledFwdOp"](torch.ones(4), torch.ones(3))
    with pytest.raises(CallError, match="scale must have 1 axis"):
        ops["ScaledFwdOp"](torch.ones(4, 1))
    with pytest.raises(CallError, match="scale must be passed, got None"):
        ops["ScaledFwdOp"](None)
    with pytest.raises(CallError, match="second must be on cpu as first is, got meta"):
        ops["TableFwdOp"](torch.ones(4), torch.ones(4, device="meta"))


@pytest.mark.rule("CAL-4")
def test_without_inputs_the_held_tensors_decide_the_device():
    op = own.classes(TENSORS, **HELD)["TableFwdOp"]
    assert op(torch.ones(4), torch.ones(4))().tolist() == [2, 2, 2, 2]
    meta = torch.ones(4, device="meta")
    assert op(meta, meta)().device.type == "meta"
    assert op.compile_op_names == ()
