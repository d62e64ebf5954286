"""Every shipped entry: every case is a call that is inferred back, priced, and can be made small."""

from __future__ import annotations

from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from tileops.diagnostics.model import Findings, Severity
from tileops.manifest.load import load_manifest
from tileops.manifest.roofline import price
from tileops.manifest.signature.check import check_entry
from tileops.manifest.signature.model import Signature
from tileops.manifest.signature.plan import build_plan
from tileops.manifest.signature.steps import Plan
from tileops.manifest.workload.case import Case
from tileops.manifest.workload.check import cases, check_workloads
from tileops.manifest.workload.instantiate import (
    check_requirements,
    generate,
    instantiate,
    unmet,
)
from tileops.manifest.workload.shrink import largest_tensor, shrink

SPEC = Path(__file__).parents[3] / "manifest" / "spec"


@cache
def planned() -> dict[str, tuple[Signature, Plan]]:
    manifest = load_manifest(SPEC)
    result = {}
    for entry in manifest.entries:
        findings = Findings()
        signature = check_entry(entry, manifest.adts, findings)
        plan = None if signature is None else build_plan(signature, findings)
        if signature is not None and plan is not None:
            result[entry.op] = (signature, plan)
    return result


@cache
def families() -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for op, (signature, _) in planned().items():
        result.setdefault(signature.family, []).append(op)
    return result


@pytest.mark.parametrize("family", sorted(families()))
@pytest.mark.rule("ROW-8")
def test_every_case_is_a_call(family: str) -> None:
    """Keys, values, contents with their `requires`, inference back, coverage, cost."""
    findings = Findings()
    count = 0
    for op in families()[family]:
        count += len(check_workloads(*planned()[op], findings))
    errors = [item for item in findings if item.code.severity is Severity.ERROR]
    assert not errors, "\n".join(f"{item.span.file}:{item.span.line} {item.message}" for item in errors)
    assert count >= len(families()[family])


@pytest.mark.parametrize("family", sorted(families()))
def test_every_case_has_a_cost(family: str) -> None:
    for op in families()[family]:
        for case in cases(*planned()[op]):
            workload = case.workload
            assert workload.roofline is not None
            call = instantiate(case).priced()
            found = price(
                workload.roofline,
                call,
                case.signature,
                workload.discriminants,
                case.point,
                lambda path: lambda call: (1, 2),
            )
            assert found is not None and all(type(item) is int and item >= 0 for item in found)
            assert found[1] > 0, case


@pytest.mark.parametrize("family", sorted(families()))
@pytest.mark.rule("ROW-10")
def test_every_case_shrinks(family: str) -> None:
    """A shrunk case is a call of the same branch, dtypes and id, with small tensors."""
    for op in families()[family]:
        for case in cases(*planned()[op]):
            small = shrink(case, 4096)
            instance = instantiate(small)
            check_requirements(instance, generate(instance))
            assert largest_tensor(instance) <= 4096, small
            assert (small.id, small.dtypes, small.point) == (case.id, case.dtypes, case.point)
            assert small.present == case.present


def samples() -> list[Case]:
    chosen = ("GQADenseFwdOp", "GQAVarlenFwdOp", "NSAVarlenFwdOp", "MoEGroupedGEMMFwdOp")
    return [case for op in chosen for case in islice(cases(*planned()[op]), 2)]


@pytest.mark.parametrize("case", samples(), ids=str)
def test_shrinking_is_deterministic_and_keeps_what_is_small(case: Case) -> None:
    once, twice = shrink(case, 4096), shrink(case, 4096)
    assert (once.params, once.indices) == (twice.params, twice.indices)
    again = shrink(once, 4096)
    assert (again.params, again.indices) == (once.params, once.indices)


@pytest.mark.parametrize("bound", [1, 64, 100_000])
def test_shrinking_never_fails(bound: int) -> None:
    for case in samples():
        instance = instantiate(shrink(case, bound))
        assert not unmet(instance, generate(instance))
        if bound == 100_000:
            assert largest_tensor(instance) <= bound


def test_shrinking_keeps_heads_and_groups() -> None:
    case = cases(*planned()["GQADenseFwdOp"])[0]
    small = shrink(case, 4096)
    heads, groups = small.indices["H"], small.indices["H_kv"]
    assert heads > groups > 1 and heads % groups == 0
    assert small.params == case.params


def test_contents_are_the_same_whatever_ran_before() -> None:
    case = cases(*planned()["MoEPermuteAlignFwdOp"])[0]
    first = generate(instantiate(case))
    for other in samples():
        generate(instantiate(shrink(other, 1000)))
    assert generate(instantiate(case)) == first
    assert generate(instantiate(case), seed=1) != first
