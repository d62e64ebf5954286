"""validate_inputs: contents of metadata tensors held to the entry's requires."""

import pytest
import torch

from tests.runtime import own
from tileops.runtime.dispatch import record_implementations
from tileops.runtime.errors import CallError
from tileops.runtime.op import Op, Policy

MANIFEST = """
SegmentSumFwdOp:
  family: own
  ref_api: none
  status: implemented
  signature:
    forall: {B: Dim, T: Dim, lens: "Seq[Int]", P: Dim}
    params:
      limit: {type: int, default: 100}
      validate_inputs: {type: bool, default: false, kw_only: true}
    inputs:
      x: {dtype: float32, shape: "[T]"}
      ends:
        dtype: int32
        shape: "[B + 1]"
        values: prefix_sum(lens)
        requires: [prefix_offsets(T), max_segment(limit)]
    outputs:
      y: {dtype: float32, shape: "[B]"}
  workloads:
    - {label: one, T: 4, lens: [1, 3]}
  roofline: {flops: "T"}
"""


def segment_sum(x, ends, *, limit=100, validate_inputs=False):
    total = torch.cat([x.new_zeros(1), x.cumsum(0)])
    return total[ends[1:].long()] - total[ends[:-1].long()]


REGISTRY = own.load(MANIFEST, SegmentSumFwdOp=segment_sum)
OP = REGISTRY.bound("SegmentSumFwdOp").op_class
operator = REGISTRY.bound("SegmentSumFwdOp").packet()
x = torch.arange(4.0)


def ends(*values):
    return torch.tensor(values, dtype=torch.int32)


@pytest.mark.rule("PRD-5")
def test_good_contents_pass_and_unchecked_calls_read_nothing():
    good = ends(0, 1, 4)
    assert OP(validate_inputs=True)(x, good).tolist() == [0, 6]
    assert operator(x, good[::1], validate_inputs=True).tolist() == [0, 6]
    assert operator(x, ends(0, 3, 3)).shape == (2,)


@pytest.mark.parametrize(
    ("values", "text"), [((0, 1, 3), r"prefix_offsets\(T\)"), ((1, 1, 4), "prefix_offsets")]
)
@pytest.mark.rule("PRD-5")
def test_broken_contents_name_the_requirement(values, text):
    for call in (
        lambda: OP(validate_inputs=True)(x, ends(*values)),
        lambda: operator(x, ends(*values), validate_inputs=True),
        lambda: torch.compile(
            lambda x, e: OP(validate_inputs=True)(x, e), backend="aot_eager", fullgraph=True
        )(x, ends(*values)),
    ):
        with pytest.raises(CallError, match=text) as caught:
            call()
        assert str(caught.value).startswith("own_segment_sum_fwd: ends must satisfy")


def test_requirements_read_parameters():
    with pytest.raises(CallError, match=r"max_segment\(limit\).*limit=2"):
        OP(limit=2, validate_inputs=True)(x, ends(0, 1, 4))


def test_meta_tensors_have_no_contents():
    y = OP(validate_inputs=True)(x.to("meta"), ends(0, 1, 3).to("meta"))
    assert y.shape == (2,)


@pytest.mark.rule("PRD-5")
def test_a_capture_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    with pytest.raises(CallError, match="must be False while a CUDA graph is captured"):
        operator(x, ends(0, 1, 4), validate_inputs=True)


def test_a_checked_call_stays_opaque_where_others_are_inlined():
    inlining = type("SegmentSumFwdOp", (Op,), {
        "reference": staticmethod(segment_sum), "policy": Policy(cpu="reference"),
    })  # fmt: skip
    op = own.classes(MANIFEST, SegmentSumFwdOp=inlining)["SegmentSumFwdOp"]
    good = ends(0, 1, 4)
    for validate, runs in ((False, 0), (True, 1)):
        torch._dynamo.reset()
        compiled = torch.compile(op(validate_inputs=validate), backend="aot_eager")
        with record_implementations() as served:
            assert compiled(x, good).tolist() == [0, 6]
        assert len(served) == runs
