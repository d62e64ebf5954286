"""The call device, where inputs on the CPU or none at all leave it to something else."""

import functools

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.runtime import own
from tileops.runtime import library
from tileops.runtime.errors import CallError
from tileops.runtime.reference import Reference

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
    OnlyFwdOp=lambda lens: lens.float().to(torch.get_default_device()),
    MaybeFwdOp=lambda x=None: torch.ones(3),
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


@pytest.mark.parametrize(("name", "inputs"), [("OnlyFwdOp", [4]), ("MaybeFwdOp", [])])
def test_the_reference_is_told_the_call_device(name, inputs) -> None:
    """What is made without a device lies there, whatever the user's default device is."""
    bound = OPS[name].bound()
    (overload,) = bound.header.overloads
    layout = bound.layout(overload, library.schema_text(bound.header, overload))
    reference, meta = Reference(bound, layout), torch.device("meta")
    tensors = tuple(map(torch.arange, inputs)) or (None,)
    specs = [(tuple(inputs or [3]), torch.float32)]
    for call in (reference.plain, reference.real):
        assert call(meta, specs, tensors, {}).device == meta
    with torch.device("meta"):
        assert OPS[name]()(*map(functools.partial(torch.arange, device="cpu"), inputs)).is_cpu
