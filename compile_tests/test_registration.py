"""opcheck of every implemented entry, on tensors of every sort that a caller may pass."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest

from compile_tests.registry import FIRST_ROWS, ROWS, SMALL, parameters
from tileops.testing.compiled import check_fake, check_opcheck, variants
from tileops.testing.sizes import with_size

#: Layouts do not depend on dtypes: the first row of each entry, the others when there is time.
PARAMETERS = parameters(FIRST_ROWS, [found[0] for found in ROWS.values()])


@pytest.mark.parametrize("row", PARAMETERS)
def test_opcheck_of_every_layout(row):
    call = row.tensors("cpu", max_elements=SMALL).call
    for _, variant in variants(call, keep=row.bound.header.contiguous):
        check_opcheck(variant)
        check_fake(variant)


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("row", PARAMETERS)
def test_opcheck_of_empty_and_single_sizes(row, size):
    small = row.shrunk(SMALL)
    # Where a rule holds sizes together, those of the row itself may leave one free.
    cases = (case for whole in (small.case, row.case) for case in with_size(whole, size))
    found = [replace(small, case=case).tensors("cpu").call for case in islice(cases, 1)]
    assert found, f"{row}: no index can be {size}"
    for call in found:
        assert any(size in tensor.shape for tensor in call.tensors.values()) or not call.tensors
        check_opcheck(call)
        check_fake(call)
