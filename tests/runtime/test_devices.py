"""The call device, where inputs on the CPU or none at all leave it to something else."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.runtime import own
from tileops.runtime.errors import CallError

ENTRY = """
{name}:
  family: own
  ref_api: none
  status: implemented
  signature:
    forall: {{N: Dim}}
    inputs:
      {inputs}
    outputs:
      y: {{dtype: float32, shape: "[{shape}]"}}
  workloads:
    - {{label: one, N: 4{row}}}
  roofline: {{flops: "1"}}
"""
LENS = 'lens: {dtype: int64, shape: "[N]", device: cpu%s}'
MANIFEST = (
    ENTRY.format(
        name="BesideFwdOp",
        inputs='x: {dtype: float32, shape: "[N]"}\n      ' + LENS % "",
        shape="N",
        row="",
    )
    + ENTRY.format(name="OnlyFwdOp", inputs=LENS % "", shape="N", row="")
    + ENTRY.format(
        name="MaybeFwdOp",
        inputs='x: {dtype: float32, shape: "[N]", optional: true}',
        shape="3",
        row=", some: [x]",
    )
)
OPS = own.classes(
    MANIFEST,
    BesideFwdOp=lambda x, lens: x + lens.to(x.device),
    OnlyFwdOp=lambda lens: lens.float(),
    MaybeFwdOp=lambda x=None: torch.ones(3) if x is None else torch.ones(3, device=x.device),
)


def test_an_input_on_the_cpu_stays_there_and_decides_nothing():
    op = OPS["BesideFwdOp"]()
    lens = torch.arange(4)
    assert op(torch.ones(4), lens).tolist() == [1, 2, 3, 4]
    assert op(torch.ones(4, device="meta"), lens).device.type == "meta"
    with pytest.raises(CallError, match="lens must be on cpu, got meta"):
        op(torch.ones(4), lens.to("meta"))
    compiled = torch.compile(op, backend="aot_eager", fullgraph=True)
    assert compiled(torch.ones(4), lens).tolist() == [1, 2, 3, 4]


def test_without_another_input_the_call_is_placed():
    usual = "cpu"
    with FakeTensorMode():
        assert OPS["OnlyFwdOp"]()(torch.arange(4)).device.type == usual
        assert OPS["MaybeFwdOp"]()().device.type == usual
        assert OPS["MaybeFwdOp"]()(torch.ones(2, device="meta")).device.type == "meta"
