"""Cost models: which formulas are legal, what they give, and bytes that follow from the effects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.manifest.textcases import adts
from tileops.diagnostics.model import Diagnostic, Findings
from tileops.manifest.decode import decode_entry
from tileops.manifest.roofline import PricedCall, RooflineError, price
from tileops.manifest.signature.check import check_entry
from tileops.manifest.signature.plan import build_plan
from tileops.manifest.source import parse_text
from tileops.manifest.workload.case import Instance
from tileops.manifest.workload.check import cases, read_workload
from tileops.manifest.workload.instantiate import generate, instantiate

ENTRY = """
CostFwdOp:
  family: cases
  status: spec-only
  signature:
    forall: {{M: Dim, K: Dim, first: Dim, lens: "Seq[Int]", T: "DType[float16 | float32]"}}
    params:
      gain: {{type: float, default: 2.0}}
      wide: {{type: bool, default: false}}
      limit: {{type: "int | None", default: null}}
    inputs:
      x: {{dtype: T, shape: "[M, K]"}}
      at: {{dtype: int32, shape: "[M]", values: "key_windows(lens, first, M, 'end')"}}
      w: {{dtype: float32, shape: "[K]", optional: true}}
      v: {{dtype: float32, shape: "[K]", optional: present(w)}}
    outputs:
      y: {{dtype: T, shape: "[M, 2 * K if wide else K]"}}
      z: {{dtype: float32, shape: "[M]", nullable: wide}}
    let: {{L: "M * K", E: "limit.value if present(limit) else 7"}}
  workloads:
    - {{label: plain, M: 3, K: 4, first: 0, lens: [3], dtype_cases: [{{T: float16}}]}}
    - {{label: full, M: 3, K: 4, first: 0, lens: [3], some: [w], wide: true, limit: 9,
       dtype_cases: [{{T: float32}}]}}
  roofline: {roofline}
"""

EFFECTS = """
EffectFwdOp:
  family: cases
  status: spec-only
  signature:
    forall: {M: Dim}
    params:
      inplace: {type: bool, default: false}
    inputs:
      x: {dtype: float32, shape: "[M]", mutated: inplace}
      acc: {dtype: float32, shape: "[M]", mutated: true}
      res: {dtype: float32, shape: "[M]", mutated: true, write_only: true}
    outputs:
      y: {dtype: float32, shape: "[M]", alias: x}
      z: {dtype: float16, shape: "[M]", buffer: out}
  workloads:
    - {label: fresh, M: 10}
    - {label: inplace, M: 10, inplace: true}
  roofline: {flops: M}
"""


def instances(text: str) -> tuple[list[Diagnostic], list[Instance]]:
    findings = Findings()
    tree = parse_text(text, "case.yaml", findings)
    assert tree is not None
    entry = decode_entry(*tree.entries[0], findings)
    assert entry is not None
    signature = check_entry(entry, adts(), findings)
    assert signature is not None, [item.message for item in findings]
    plan = build_plan(signature, findings)
    assert plan is not None
    before = Findings()
    read_workload(signature, plan, before)
    return list(before), [instantiate(case) for case in cases(signature, plan)]


def cost(instance: Instance, resolve: Any = lambda path: None) -> tuple[int, int] | None:
    case = instance.case
    assert case.workload.roofline is not None
    call = instance.priced(generate(instance))
    return price(
        case.workload.roofline,
        call,
        case.signature,
        case.workload.discriminants,
        case.point,
        resolve,
    )


LEGAL = [
    ('{flops: "M * K"}', [12, 12]),
    ('{flops: "L * (5 if wide else 1)"}', [12, 60]),
    ('{flops: "E"}', [7, 9]),
    ('{flops: "bytes(x) + (bytes(w) if present(w) else 1)"}', [25, 64]),
    ('{flops: "bytes(v) if present(w) else bytes(z) if wide else bytes(y)"}', [24, 16]),
    ('{flops: "ceil_div(M * K, 5)"}', [3, 3]),
    ('{flops: "3 if gain > 1.0 else 4"}', [3, 3]),
    ("{flops: 0}", [0, 0]),
]


@pytest.mark.parametrize(("roofline", "flops"), LEGAL)
@pytest.mark.rule("ROO-2")
def test_flops(roofline: str, flops: list[int]) -> None:
    findings, found = instances(ENTRY.format(roofline=roofline))
    assert not findings, [item.message for item in findings]
    assert [(cost(item) or (None,))[0] for item in found] == flops


ILLEGAL = [
    ('{flops: "gain * M"}', "TO601", "must be an Int"),
    ('{flops: "M > 3"}', "TO601", "must be an Int"),
    ('{flops: "lens[0]"}', "TO203", "a generator argument only"),
    ('{flops: "first"}', "TO203", "must be solved from a tensor"),
    ('{flops: "nope"}', "TO203", "nope must be a declared name"),
    ('{flops: "bytes(M)"}', "TO204", "bytes must take"),
    ('{flops: "bytes(w)"}', "TO601", "w may be absent"),
    ('{flops: "bytes(v) if wide else 0"}', "TO601", "v may be absent"),
    ('{flops: "bytes(z)"}', "TO601", "z may be absent"),
    ('{flops: "x"}', "TO601", "x is Tensor"),
    ('{flops: "M +"}', "TO201", "flops"),
    ('{flops: "limit.value"}', "TO204", "must stand where"),
    ('{flops: "sample_indices(M, K)"}', "TO206", "must be a built-in"),
    ('{flops: M, bytes: "M / 2"}', "TO202", "bytes"),
    ("{func: price}", "TO601", "dotted path"),
    ('{func: "a b.c"}', "TO601", "dotted path"),
]


@pytest.mark.parametrize(("roofline", "code", "part"), ILLEGAL)
@pytest.mark.rule("ROO-2")
def test_illegal_formulas(roofline: str, code: str, part: str) -> None:
    findings, _ = instances(ENTRY.format(roofline=roofline))
    (finding,) = findings
    assert finding.code.id == code, finding.message
    assert part in finding.message
    assert finding.op == "CostFwdOp" and finding.field.startswith("roofline")


@pytest.mark.rule("ROO-3")
def test_bytes_follow_from_the_tensors_present() -> None:
    _, (plain, full) = instances(ENTRY.format(roofline='{flops: "1"}'))
    assert cost(plain) == (1, 24 + 12 + 24)
    assert cost(full) == (1, 48 + 16 + 16 + 12 + 96 + 12)


@pytest.mark.rule("ROO-3")
def test_bytes_follow_from_the_effects() -> None:
    """acc is read and written, res only written; y is a tensor of its own unless x is written."""
    findings, (fresh, inplace) = instances(EFFECTS)
    assert not findings
    assert cost(fresh) == (10, 40 + 80 + 40 + 40 + 20)
    assert cost(inplace) == (10, 80 + 80 + 40 + 0 + 20)


@pytest.mark.rule("ROO-4")
def test_a_function_receives_the_checked_call() -> None:
    _, (plain, full) = instances(ENTRY.format(roofline="{func: somewhere.price}"))
    seen: list[PricedCall] = []

    def function(call: PricedCall) -> tuple[int, int]:
        seen.append(call)
        return 5, 6

    assert cost(plain) is None
    assert cost(full, {"somewhere.price": function}.get) == (5, 6)
    (call,) = seen
    x = call.tensors["x"]
    assert x is not None and (x.shape, x.dtype, x.bytes) == ((3, 4), "float32", 48)
    assert call.present("w") and call.present("z") and call.indices["K"] == 4
    assert list(call.values["at"]) == [1, 2, 3]


@pytest.mark.parametrize("result", [None, 3, (1,), (1, 2.0), (True, 1)])
@pytest.mark.rule("ROO-4")
def test_a_function_must_return_two_integers(result: object) -> None:
    _, (plain, _) = instances(ENTRY.format(roofline="{func: somewhere.price}"))
    with pytest.raises(RooflineError, match="must return two integers"):
        cost(plain, lambda path: lambda call: result)


@pytest.mark.rule("ROO-5")
def test_what_fails_in_a_call_is_one_sentence() -> None:
    _, (plain, _) = instances(ENTRY.format(roofline='{flops: "ceil_div(M, K - 4)"}'))
    with pytest.raises(RooflineError, match=r"flops ceil_div\(M, K - 4\): the divisor"):
        cost(plain)
    _, (plain, _) = instances(ENTRY.format(roofline="{func: somewhere.price}"))
    with pytest.raises(RooflineError, match=r"somewhere.price must price the call, got KeyError"):
        cost(plain, lambda path: lambda call: call.indices["nope"])


def test_a_call_is_priced_like_a_case() -> None:
    _, (plain, _) = instances(ENTRY.format(roofline='{flops: "M * K"}'))
    call = replace(plain.priced(), indices={**plain.indices, "M": 100})
    case = plain.case
    assert case.workload.roofline is not None
    found = price(
        case.workload.roofline, call, case.signature, case.workload.discriminants, case.point
    )
    assert found is not None and found[0] == 400
