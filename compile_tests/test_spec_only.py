"""Entries without code: their fakes and their traces. One node each, static and dynamic.

One row of each entry and overload; the other rows are slow.
"""

from __future__ import annotations

import pytest
import torch

from compile_tests.registry import SPEC_ONLY, parameters
from tileops.runtime.errors import CallError
from tileops.testing.cases import rows
from tileops.testing.compiled import check_static, fake_result

ROWS = {entry.name: rows(entry.name) for entry in SPEC_ONLY}
EVERY_ROW = tuple(row for found in ROWS.values() for row in found)
#: The first row of each overload, by which effect branches differ.
FIRST_ROWS = tuple(
    {row.overload: row for row in reversed(found)}[overload]
    for found in ROWS.values()
    for overload in dict.fromkeys(row.overload for row in found)
)
PARAMETERS = parameters(EVERY_ROW, FIRST_ROWS)


def test_every_entry_and_overload_has_a_row():
    missing = [entry.name for entry in SPEC_ONLY if not ROWS[entry.name]]
    assert missing == []
    for name, found in ROWS.items():
        overloads = {overload.name for overload in found[0].bound.header.overloads}
        assert {row.overload for row in found} == overloads, name


@pytest.mark.parametrize("row", PARAMETERS)
def test_fake_and_trace(row):
    case = row.tensors("cuda", "fake")
    expected = [
        spec
        for output, spec in case.instance.outputs.items()
        if spec is not None and output in returned(row)
    ]
    with case.within():
        for results in (case(), check_static(case.call)):
            if results is None:
                results = ()
            elif isinstance(results, torch.Tensor):
                results = (results,)
            found = [
                (tuple(item.shape), str(item.dtype).removeprefix("torch."))
                for item in results
                if item is not None
            ]
            assert found == expected
            assert {item.device.type for item in results if item is not None} <= {"cuda"}


def returned(row):
    """The outputs that the row's overload returns."""
    headers = row.bound.header.overloads
    return next(header.returns for header in headers if header.name == row.overload)


def test_running_one_says_that_it_is_spec_only():
    row = next(row for row in FIRST_ROWS if row.op == "BMMFwdOp")
    with pytest.raises(CallError, match="BMMFwdOp is spec-only"):
        row.tensors("cpu", max_elements=256)()


def test_fakes_see_no_difference_between_devices():
    row = next(row for row in FIRST_ROWS if row.op == "BMMFwdOp")
    for device in ("cpu", "cuda", "meta"):
        (result,) = fake_result(row.tensors(device, "meta").call)
        assert result is not None
        assert result.device.type == "meta"
