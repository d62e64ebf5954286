"""eval_roofline: the entry's cost model asked about the last call, and what it refuses."""

import pytest
import torch

import tileops
from tests.runtime import own
from tileops.manifest.workload.text import cost_of
from tileops.runtime import pricing
from tileops.runtime.errors import CallError
from tileops.runtime.registry import default
from tileops.testing import cases

IMPLEMENTED = [entry.name for entry in tileops.registry.entries if entry.status == "implemented"]


@pytest.mark.parametrize("name", IMPLEMENTED)
def test_every_row_costs_what_the_manifest_says(name):
    cls = default().bound(name).op_class
    found = 0
    for case in cases(name, device="meta"):
        if case.overload._overloadname == "out":
            continue
        op = cls(**case.params)
        op(**case.inputs)
        assert op.eval_roofline() == cost_of(case.instance, pricing._imported), case.id
        found += 1
    assert found


MANIFEST = """
CountedFwdOp:
  family: own
  ref_api: none
  status: {status}
  signature:
    forall: {{N: Dim, E: "Seq[Int]", M: Dim}}
    inputs:
      x: {{dtype: float32, shape: "[M]"}}
      ends: {{dtype: int64, shape: "[N + 1]", values: "prefix_sum(E)"}}
    outputs:
      y: {{dtype: float32, shape: "[M]"}}
  workloads:
    - {{label: one, M: 4, E: [1, 3]}}
  {roofline}
"""


def counted(roofline, status="implemented"):
    text = MANIFEST.format(roofline=roofline, status=status)
    return own.classes(text, CountedFwdOp=lambda x, ends: x * 2)["CountedFwdOp"]()


def flops(call):
    return call.values["ends"][-1], call.tensors["x"].bytes


def wrong(call):
    return 1.5


def test_a_function_reads_contents_only_when_it_asks():
    op = counted(f"roofline: {{func: {__name__}.flops}}")
    ends = torch.tensor([0, 1, 4])
    op(torch.zeros(4), ends)
    assert op.eval_roofline() == (4, 16)
    ends.add_(1)
    with pytest.raises(CallError, match="contents of ends, which were overwritten after the call"):
        op.eval_roofline()
    with torch.inference_mode():
        op(torch.zeros(4), torch.tensor([0, 1, 7]))
    assert op.eval_roofline() == (7, 16)


@pytest.mark.parametrize(
    ("roofline", "status", "text"),
    [
        ("roofline: {flops: nowhere}", "implemented", "has no roofline that can be evaluated"),
        (f"roofline: {{func: {__name__}.absent}}", "implemented", "importable function, got"),
        ("roofline: {func: no.such.module}", "implemented", "importable function, got no.such"),
        (f"roofline: {{func: {__name__}.wrong}}", "implemented", "must return two integers"),
        (f"roofline: {{func: {__name__}.flops}}", "spec-only", "is spec-only, so its roofline"),
    ],
)
@pytest.mark.rule("ROO-5")
def test_what_cannot_be_priced_says_why(roofline, status, text):
    op = counted(roofline, status)
    op(torch.zeros(4), torch.tensor([0, 1, 4]))
    with pytest.raises(CallError, match=text) as caught:
        op.eval_roofline()
    assert str(caught.value).startswith("CountedFwdOp: ") and "\n" not in str(caught.value)


BUFFER = """
DoubledFwdOp:
  family: own
  ref_api: none
  status: implemented
  signature:
    forall: {S: Shape}
    inputs:
      x: {dtype: float32, shape: "[*S]"}
    outputs:
      y: {dtype: float32, shape: "[*S]", buffer: out}
  workloads:
    - {label: one, S: [4]}
  roofline: {flops: "prod(S) + (100 if present(out) else 0)"}
"""


def test_a_passed_buffer_is_known_and_moves_no_more_bytes():
    op = own.classes(BUFFER, DoubledFwdOp=lambda x: x * 2)["DoubledFwdOp"]()
    op(torch.zeros(4))
    assert op.eval_roofline() == (4, 32)
    op(torch.zeros(4), torch.empty(4))
    assert op.eval_roofline() == (104, 32)
