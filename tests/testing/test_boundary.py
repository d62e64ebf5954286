"""Which calls the compile checks are made of, and what they ask of the machine."""

from __future__ import annotations

import os
from collections import Counter

import pytest

import tileops
from tileops.testing import boundary, inductor
from tileops.testing.cases import rows
from tileops.validator.compiled import CHECKS

NAMES = ["GQADenseFwdOp", "AddFwdOp", "SumFwdOp", "FusedAddRMSNormFwdOp", "SinusoidalFwdOp"]


@pytest.mark.parametrize("name", NAMES)
def test_every_case_has_the_checks_that_it_must_have(name: str) -> None:
    found = rows(name)
    dtypes = {row.branch for row in found}
    presences = {(row.overload, tuple(row.case.present.items())) for row in found}
    overloads = {row.overload for row in found}
    by_id = {row.id: row for row in found}
    steps = list(boundary.steps(found))
    assert [step.row for step in steps if step.check == "static"] == [r.case.label for r in found]

    def cover(check: str) -> list:
        return [by_id[step.case] for step in steps if step.check == check]

    sized = ("class", "class-dynamic", "class-unbacked") if cover("class") else ()
    for check in (*sized, "inductor"):
        assert {row.branch for row in cover(check)} == dtypes, check
        present = {(row.overload, tuple(row.case.present.items())) for row in cover(check)}
        assert present == presences, check
    for check in ("real", "opcheck"):
        present = {(row.overload, tuple(row.case.present.items())) for row in cover(check)}
        assert present == presences, check
    for check in ("dynamic", "unbacked"):
        assert {row.overload for row in cover(check)} == overloads, check
    assert {step.check for step in steps} <= CHECKS.keys()


def test_a_class_is_the_first_to_be_compiled() -> None:
    assert next(boundary.steps(rows("RMSNormFwdOp"))).check == "class"


def test_an_opaque_operator_is_traced_once_for_each_overload(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    traced: Counter[bool] = Counter()

    def record(call: object, traced_too: bool = True) -> None:
        traced[traced_too] += 1

    monkeypatch.setattr(boundary.compiled, "check_opcheck", record)
    monkeypatch.setattr(
        boundary.compiled, "check_opcheck_of_node", lambda call: record(call, traced_too=False)
    )
    for step in boundary.steps(rows("GEMMFwdOp")):
        if step.check == "opcheck":
            step.run()
    # As it is and requiring gradients; as it is, permuted, empty and of size one.
    assert traced == {True: 2, False: 4}
    traced.clear()
    for step in boundary.steps(rows("ExpFwdOp")):
        if step.check == "opcheck":
            step.run()
    assert traced[True] >= 5 and not traced[False]


def test_the_machine_is_asked_in_the_folder_that_all_processes_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from torch._inductor import cpu_vec_isa

    seen = []
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/nowhere")
    monkeypatch.setattr(
        cpu_vec_isa,
        "valid_vec_isa_list",
        lambda: seen.append(os.environ.get("TORCHINDUCTOR_CACHE_DIR")),
    )
    inductor.know_the_machine.__wrapped__()
    assert seen == [None] and os.environ["TORCHINDUCTOR_CACHE_DIR"] == "/nowhere"
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR")
    inductor.know_the_machine.__wrapped__()
    assert "TORCHINDUCTOR_CACHE_DIR" not in os.environ


def test_the_entries_of_these_tests_exist() -> None:
    assert {*NAMES} <= {entry.name for entry in tileops.registry.entries}
