"""Every row of every implemented entry under torch.compile(fullgraph=True), cold.

On fake CUDA tensors all rows at full size, which takes no GPU: static, dynamic over four sizes,
unbacked, in the operator's and the class's spelling. On real CPU tensors one shrunk row per dtype
case and effect branch under Inductor (per sort of dtypes for the entries of the elementwise table),
every row in `make test-all`.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

import pytest
import torch

from compile_tests.registry import (
    EVERY_ROW,
    FIRST_ROWS,
    IMPLEMENTED,
    ROWS,
    SMALL,
    class_of,
    parameters,
)
from tileops.testing.call import Call
from tileops.testing.cases import Row
from tileops.testing.compiled import (
    check_dynamic,
    check_inductor,
    check_static,
    check_unbacked,
)
from tileops.testing.report import sized_calls

FAKE = parameters(EVERY_ROW, EVERY_ROW)
FIRST = parameters(FIRST_ROWS, FIRST_ROWS)
SHRUNK = parameters(EVERY_ROW, FIRST_ROWS)


def test_every_implemented_entry_has_rows():
    assert {row.op for row in EVERY_ROW} == {entry.name for entry in IMPLEMENTED}


def same_results(call: Call, result: object) -> None:
    expected = call()
    torch.testing.assert_close(result, expected, equal_nan=True, check_stride=True)


def on_fake_cuda(row: Row, stack: ExitStack) -> Call:
    """The row's call on fake CUDA tensors, their mode entered."""
    case = row.tensors("cuda", "fake")
    stack.enter_context(case.within())
    return case.call


def has_types_of(row: Row, result: object, device: str) -> None:
    """The result is what the manifest says of the row."""
    results = result if isinstance(result, tuple) else (result,)
    call = row.tensors(device, "meta")
    specs = [spec for spec in call.instance.outputs.values() if spec is not None]
    found = [item for item in results if item is not None]
    assert [(tuple(t.shape), str(t.dtype).removeprefix("torch.")) for t in found] == specs
    assert {t.device.type for t in found} == {device}
    assert all(t.is_contiguous() for t in found)


@pytest.mark.parametrize("row", FAKE)
def test_static_on_fake_cuda(row):
    with ExitStack() as stack:
        has_types_of(row, check_static(on_fake_cuda(row, stack)), "cuda")


@pytest.mark.parametrize("row", FIRST)
def test_class_on_fake_cuda(row):
    """The class of an entry with call-time tensors is that one node too."""
    case = row.tensors("cuda", "fake")
    cls = class_of(row)
    if not row.bound.header.takes_tensors or row.bound.header.composite:
        assert cls.compile_op_names == ()
        return
    instance = cls(**case.params)
    names = [f"{row.bound.namespace}::{row.bound.header.operator}"]
    assert list(cls.compile_op_names) == names
    with case.within():
        has_types_of(row, check_static(case.call, callee=instance), "cuda")


def fake_cuda_sizes(row: Row) -> list[Call]:
    with ExitStack() as stack:
        mode = row.tensors("cuda", "fake").mode
        assert mode is not None
        stack.enter_context(mode)

        def make(item: Row) -> Call:
            case = item.tensors("cuda", "meta")
            return case.call.with_tensors(lambda _, t: torch.empty_like(t, device="cuda"))

        return sized_calls(row, make)


@pytest.mark.parametrize("row", FAKE)
def test_dynamic_on_fake_cuda(row):
    calls = fake_cuda_sizes(row)
    assert calls, f"{row}: no index can take four sizes"
    tensors = [t for call in calls for t in call.tensors.values()]
    with ExitStack() as stack:
        if tensors:
            stack.enter_context(tensors[0].fake_mode)
        check_dynamic(calls)


@pytest.mark.parametrize("row", FAKE)
def test_unbacked_on_fake_cuda(row):
    with ExitStack() as stack:
        call = on_fake_cuda(row, stack)
        assert call.unbacked or not row.bound.header.takes_tensors
        has_types_of(row, check_unbacked(call), "cuda")


@pytest.mark.parametrize("row", SHRUNK)
def test_inductor_on_cpu(row):
    """Shape, dtype, strides, device, values and effects of eager, fake and compiled agree."""
    check_inductor(row.tensors("cpu", max_elements=SMALL).call)


@pytest.mark.parametrize("row", SHRUNK)
def test_inductor_dynamic_on_cpu(row):
    small = row.shrunk(SMALL)
    calls = sized_calls(small, lambda item: item.tensors("cpu").call)
    assert calls, f"{row}: no index can take four sizes"
    for call, result in zip(calls, check_dynamic(calls, backend="inductor"), strict=True):
        same_results(call, result)


@pytest.mark.parametrize("row", SHRUNK)
def test_inductor_unbacked_on_cpu(row):
    call = row.tensors("cpu", max_elements=SMALL).call
    same_results(call, check_unbacked(call, backend="inductor"))


@pytest.mark.parametrize("entry", [entry.name for entry in IMPLEMENTED])
def test_one_unknown_size_among_known_ones(entry):
    """Nothing need be known of one size while the others are known."""
    case = ROWS[entry][0].tensors("cuda", "fake")
    with case.within():
        for pair in case.call.unbacked:
            check_unbacked(replace(case.call, unbacked=(pair,)))
