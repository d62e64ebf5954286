"""Contents of a call's metadata tensors, as `validate_inputs` holds them to the signature."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from tests.manifest.workload.test_rows import check, entry_text
from tileops.manifest.language.arrays import Values
from tileops.manifest.workload.case import Instance
from tileops.manifest.workload.contents import broken_contents
from tileops.manifest.workload.instantiate import generate, instantiate


def instance() -> Instance:
    text = entry_text("packed", "- {label: one, lens: [1, 2], D: 4, TOTAL: 3, P: 2}")
    _, (case,) = check(text)
    return instantiate(case)


def sentence(call: Instance, **changed: list[int]) -> str | None:
    contents: dict[str, Values] = generate(call)
    for name, items in changed.items():
        old = contents[name]
        contents[name] = Values(old.shape, old.dtype, array(old.data.typecode, items))
    indices: dict[str, Any] = dict(call.indices)
    return broken_contents(call.case.workload, call.case.params, indices, frozenset(), contents)


def test_what_rows_generate_is_right() -> None:
    assert sentence(instance()) is None


@pytest.mark.rule("PRD-5")
def test_what_is_broken_is_named_with_what_is_known() -> None:
    call = instance()
    assert sentence(call, cu=[0, 2, 4]) == (
        "cu must satisfy prefix_offsets(TOTAL), got [0, 2, 4] (TOTAL=3)"
    )
    assert sentence(call, positions=[0, 0, 2]) == (
        "positions must satisfy in_range(0, P), got [0, 0, 2] (P=2)"
    )


def test_what_a_call_does_not_know_is_passed_over() -> None:
    """`starts` relates to the row's list, of which a call has no trace."""
    assert sentence(instance(), starts=[0, 2]) is None


@pytest.mark.rule("PRD-5")
def test_tensors_with_the_same_values_are_equal() -> None:
    text = entry_text("packed", "- {label: one, lens: [1, 2], D: 4, TOTAL: 3, P: 2}")
    again = '      again: {dtype: int64, shape: "[N + 1]", values: prefix_sum(lens)}\n'
    text = text.replace("    outputs:", f"{again}    outputs:")
    _, (case,) = check(text)
    call = instantiate(case)
    assert sentence(call) is None
    assert sentence(call, again=[0, 2, 3]) == (
        "again must equal cu, both being prefix_sum(lens), got [0, 2, 3] and [0, 1, 3]"
    )
