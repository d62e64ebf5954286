"""Plans: the same for every order of declarations, and flat where discriminants are independent."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.manifest.textcases import SPEC, check_signature
from tileops.diagnostics.model import Findings
from tileops.manifest.entry import Entry
from tileops.manifest.load import load_manifest
from tileops.manifest.signature.check import check_entry
from tileops.manifest.signature.plan import build_plan

MANIFEST = load_manifest(SPEC)


def plan_of(entry: Entry) -> str:
    findings = Findings()
    signature = check_entry(entry, MANIFEST.adts, findings)
    assert signature is not None, list(findings)
    plan = build_plan(signature, findings)
    assert plan is not None, list(findings)
    return str(plan)


@pytest.mark.rule("INF-6")
def test_permuted_declarations_give_the_same_plan() -> None:
    rng = random.Random(7)
    rich = [item for item in MANIFEST.entries if item.lets or len(item.rules) > 1 or item.types]
    for entry in rng.sample(rich, 40):
        shuffled = replace(
            entry,
            forall=tuple(rng.sample(entry.forall, len(entry.forall))),
            lets=tuple(rng.sample(entry.lets, len(entry.lets))),
            types=tuple(rng.sample(entry.types, len(entry.types))),
            rules=tuple(rng.sample(entry.rules, len(entry.rules))),
        )
        assert plan_of(shuffled) == plan_of(entry), entry.op


def independent(count: int) -> str:
    """A signature of `count` optional tensors, each with a dimension of its own."""
    indices = ", ".join(f"N{at}: Dim" for at in range(count))
    inputs = "\n".join(
        f'  w{at}: {{dtype: float32, shape: "[N{at}, N{at}]", optional: true}}'
        for at in range(count)
    )
    return (
        f'forall: {{M: Dim, {indices}}}\ninputs:\n  x: {{dtype: float32, shape: "[M]"}}\n{inputs}\n'
        'outputs: {y: {dtype: float32, shape: "[M]"}}'
    )


@pytest.mark.rule("INF-7")
def test_independent_discriminants_add_up() -> None:
    checked = check_signature(independent(60))
    assert checked.plan is not None and not checked.items


def tied(count: int) -> str:
    """A signature whose one rule reads `count` discriminants."""
    inputs = "\n".join(
        f'  w{at}: {{dtype: float32, shape: "[M]", optional: true}}' for at in range(count)
    )
    present = " and ".join(f"present(w{at})" for at in range(count))
    return (
        f'forall: {{M: Dim}}\ninputs:\n  x: {{dtype: float32, shape: "[M]"}}\n{inputs}\n'
        'outputs: {y: {dtype: float32, shape: "[M]"}}\n'
        f'shape_rules: ["not ({present}) or M > 1"]'
    )


@pytest.mark.rule("INF-7")
@pytest.mark.parametrize(("count", "codes"), [(8, []), (9, ["TO303"]), (17, ["TO302"])])
def test_many_points_of_one_group(count: int, codes: list[str]) -> None:
    checked = check_signature(tied(count))
    assert [item.code.id for item in checked.items] == codes
    assert (checked.plan is None) == (codes == ["TO302"])
