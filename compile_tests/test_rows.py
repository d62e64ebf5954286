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
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import tileops
from compile_tests.registry import (
    EVERY_ROW,
    FIRST_ROWS,
    IMPLEMENTED,
    OPEN_ROWS,
    ROWS,
    SIZED_ROWS,
    SMALL,
    UNKNOWN_ROWS,
    class_of,
    parameters,
)
from tileops.testing.boundary import call_of_class
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
WITH_TENSORS = [row for row in EVERY_ROW if row.bound.header.takes_tensors]
OF_TENSORS = parameters(WITH_TENSORS, WITH_TENSORS)
FIRST = parameters(FIRST_ROWS, FIRST_ROWS)
SHRUNK = parameters(EVERY_ROW, FIRST_ROWS)
OPEN = parameters(EVERY_ROW, OPEN_ROWS)
UNKNOWN = parameters(EVERY_ROW, UNKNOWN_ROWS)
SIZED = parameters(EVERY_ROW, SIZED_ROWS)
#: One row and overload of each operator whose class has a policy for the CPU.
FUSED = {
    (row.op, row.overload): row
    for row in reversed(WITH_TENSORS)
    if class_of(row).policy.cpu != "opaque"
}.values()


def test_every_implemented_entry_has_rows():
    assert {row.op for row in EVERY_ROW} == {entry.name for entry in IMPLEMENTED}


def same_results(call: Call, result: object) -> None:
    """Values and what addresses them: the stride of an axis of size one addresses nothing."""
    torch.testing.assert_close(result, call(), equal_nan=True)
    assert all(tensor.is_contiguous() for tensor in tensors_of(result))


def on_fake_cuda(row: Row, stack: ExitStack) -> Call:
    """The row's call on fake CUDA tensors, their mode entered."""
    case = row.tensors("cuda", "fake")
    stack.enter_context(case.within())
    return case.call


def has_types_of(row: Row, result: object, device: str) -> None:
    """The result is what the manifest says of the row."""
    results = result if isinstance(result, tuple) else (result,)
    call = row.tensors(device, "meta")
    overloads = row.bound.header.overloads
    returned = next(found.returns for found in overloads if found.name == row.overload)
    # The class returns an aliased output too, which the overload that writes it does not.
    aliased = any(output.alias for output in row.bound.operator.outputs)
    if aliased and result is not None:
        returned = tuple(call.instance.outputs)
    outputs = call.instance.outputs.items()
    specs = [spec for name, spec in outputs if spec is not None and name in returned]
    found = [item for item in results if item is not None]
    assert [(tuple(t.shape), str(t.dtype).removeprefix("torch.")) for t in found] == specs
    assert {t.device.type for t in found} == ({device} if specs else set())
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
        call = call_of_class(row, case.call)
        has_types_of(row, check_static(call, callee=instance), "cuda")


def fake_cuda_sizes(row: Row) -> list[Call]:
    with ExitStack() as stack:
        mode = row.tensors("cuda", "fake").mode
        assert mode is not None
        stack.enter_context(mode)

        def make(item: Row) -> Call:
            case = item.tensors("cuda", "meta")
            return case.call.with_tensors(lambda _, t: torch.empty_like(t, device="cuda"))

        return sized_calls(row, make)


@pytest.mark.parametrize("row", SIZED)
def test_dynamic_on_fake_cuda(row):
    calls = fake_cuda_sizes(row)
    assert calls, f"{row}: no index can take four sizes"
    tensors = [t for call in calls for t in call.tensors.values()]
    with ExitStack() as stack:
        if tensors:
            stack.enter_context(tensors[0].fake_mode)
        check_dynamic(calls)


def tensors_of(result: object) -> list[torch.Tensor]:
    return [t for t in (result if isinstance(result, tuple) else (result,)) if t is not None]


def with_unknown_sizes(call: Call, mode: FakeTensorMode) -> Call:
    """The call on fake CUDA tensors whose free axes have sizes that nothing is known of.

    torch.compile takes no unbacked sizes from fake inputs, mark_unbacked or not, so the tensors are
    made with such sizes. Equal sizes stay equal.
    """
    assert mode.shape_env is not None
    unknown: dict[int, torch.SymInt] = {}

    def size(value: int) -> torch.SymInt:
        if value not in unknown:
            unknown[value] = mode.shape_env.create_unbacked_symint()
            torch._check(unknown[value] >= 0)
        return unknown[value]

    def make(name: str, tensor: torch.Tensor) -> torch.Tensor:
        sizes = [
            size(length) if (name, axis) in call.unbacked else length
            for axis, length in enumerate(tensor.shape)
        ]
        return torch.empty(sizes, dtype=tensor.dtype, device="cuda")

    return call.with_tensors(make)


@pytest.mark.parametrize("row", OF_TENSORS)
def test_unbacked_on_fake_cuda(row):
    case = row.tensors("cuda", "meta")
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        result = with_unknown_sizes(case.call, mode)()
    results, wanted = tensors_of(result), tensors_of(case.call())
    assert len(results) == len(wanted)
    for got, want in zip(results, wanted, strict=True):
        assert (got.dtype, got.dim(), got.device.type) == (want.dtype, want.dim(), "cuda")
        assert got.is_contiguous()


@pytest.mark.parametrize("row", SHRUNK)
def test_inductor_on_cpu(row):
    """Shape, dtype, strides, device, values and effects of eager, fake and compiled agree."""
    check_inductor(row.tensors("cpu", max_elements=SMALL).call)


@pytest.mark.parametrize("row", FUSED, ids=str)
def test_the_node_that_stays_under_inductor(row):
    """Operators that are fused by their class's policy work as nodes too."""
    with tileops.boundary_policy("opaque"):
        check_inductor(row.tensors("cpu", max_elements=SMALL).call)


@pytest.mark.parametrize("row", OPEN)
def test_inductor_dynamic_on_cpu(row):
    small = row.shrunk(SMALL)
    calls = sized_calls(small, lambda item: item.tensors("cpu").call)
    assert calls, f"{row}: no index can take four sizes"
    for call, result in zip(calls, check_dynamic(calls, backend="inductor"), strict=True):
        same_results(call, result)


@pytest.mark.parametrize("row", UNKNOWN)
def test_inductor_unbacked_on_cpu(row):
    call = row.tensors("cpu", max_elements=SMALL).call
    same_results(call, check_unbacked(call, backend="inductor"))


@pytest.mark.parametrize("entry", [entry.name for entry in IMPLEMENTED])
def test_one_unknown_size_among_known_ones(entry):
    """Nothing need be known of one size while the others are known."""
    case = ROWS[entry][0].tensors("cuda", "meta")
    for pair in case.call.unbacked:
        with FakeTensorMode(shape_env=ShapeEnv()) as mode:
            with_unknown_sizes(replace(case.call, unbacked=(pair,)), mode)()
