"""Values of every implemented entry: each row, shrunk on the CPU and at full size on a GPU.

The reference in float64 is the oracle because the family tests hold it to torch's own functions;
an operator's results must be that up to rounding. Where an operator's function jumps, a rounding on
the way to a result may be a jump away from the oracle: the reference in the tensors' own dtype, on
their own device, is what results must be then.
"""

from __future__ import annotations

import pytest
import torch

import tileops
from tests.devices import gpu
from tileops.testing.cases import Case, Row, rows
from tileops.testing.tolerance import assert_close

SIZE = 4096
#: The operators whose functions round on the way, and jump where a rounding goes the other way.
JUMPS = {
    "RoundFwdOp", "DivFwdOp", "FloorDivideFwdOp", "RemainderFwdOp", "SmoothQuantFwdOp",
    "INT8QuantPerTensorFwdOp", "INT8QuantPerChannelFwdOp", "INT8QuantPerTokenGroupFwdOp",
    "INT4QuantPerGroupFwdOp", "FP8QuantPerTokenGroupFwdOp", "FP8QuantPerBlockFwdOp",
}  # fmt: skip
#: Those whose codes are nearest to what a sum has rounded: a code may be the next one.
NEAREST = {"FusedAddRMSNormPerTokenQuantFwdOp"}
ROWS = [
    row for entry in tileops.registry.entries if entry.status == "implemented"
    for row in rows(entry.name)
]  # fmt: skip


def wide(value, integers=False):
    """A value with its floats in double precision, and if asked its integers: tensors, dtypes."""
    if isinstance(value, torch.dtype):
        if value.is_complex:
            return torch.complex128
        return torch.float64 if value.is_floating_point or integers else value
    if isinstance(value, torch.Tensor):
        return value.to(wide(value.dtype, integers))
    return value


def reference(row: Row, case: Case) -> tuple[torch.Tensor | None, ...]:
    """What the entry's reference gives for the case, in float64 unless it jumps."""
    if row.op in JUMPS:
        return called(row, case.inputs, case.params)
    # Where integers alone give floats, as in exp of an int64, they are what is promoted.
    tensors = [t for t in case.inputs.values() if t is not None]
    floats = any(
        spec is not None and getattr(torch, spec[1]).is_floating_point
        for spec in case.instance.outputs.values()
    )
    promoted = floats and not any(t.is_floating_point() or t.is_complex() for t in tensors)
    inputs = {name: wide(tensor, promoted) for name, tensor in case.inputs.items()}
    return called(row, inputs, {name: wide(value) for name, value in case.params.items()})


def called(row: Row, inputs, parameters) -> tuple[torch.Tensor | None, ...]:
    """The results of the entry's reference."""
    declared = row.case.signature.inputs
    positional = [inputs[t.name] for t in declared if not t.kw_only]
    keywords = {t.name: inputs[t.name] for t in declared if t.kw_only}
    results = row.bound.op_class.reference(*positional, **keywords, **parameters)
    return results if isinstance(results, tuple) else (results,)


def outputs(row: Row, case: Case, results) -> tuple[torch.Tensor | None, ...]:
    """Every output: those that the overload returns, and the written inputs that are one; then the
    other written inputs."""
    overload = next(item for item in row.bound.header.overloads if item.name == row.overload)
    given = iter(results if isinstance(results, tuple) else (results,))
    declared = row.bound.operator.outputs
    found = []
    for output in declared:
        if output.name in overload.returns:
            found.append(next(given))
        else:
            found.append(case.inputs[output.alias] if output.alias else None)
    aliases = {output.alias for output in declared}
    return tuple(found) + tuple(
        case.inputs[name] for name in overload.written if name not in aliases
    )


def reduction_length(case: Case) -> int:
    """No sum behind an element is longer than the largest input."""
    sizes = [tensor.numel() for tensor in case.inputs.values() if tensor is not None]
    return max(sizes, default=1)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_values_against_float64(row):
    case = row.tensors("cpu", max_elements=SIZE)
    expected = reference(row, case)
    compare(row, case, outputs(row, case, case()), expected)


@gpu
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_values_at_full_size(row):
    case = row.tensors("cuda")
    poison_memory()
    expected = reference(row, case)
    with tileops.record_implementations() as served:
        results = case()
    (call,) = served
    # Where the reference serves on CUDA, every kernel has said why.
    kernels = row.bound.op_class.kernel_types
    assert call.implementation in kernels or len(call.declined) == len(kernels)
    compare(row, case, outputs(row, case, results), expected)


def poison_memory() -> None:
    """Leaves NaNs in what the allocator hands out next, so that an unwritten element shows."""
    block = torch.full((2**28,), float("nan"), device="cuda")
    del block


def compare(
    row: Row,
    case: Case,
    results: tuple[torch.Tensor | None, ...],
    expected: tuple[torch.Tensor | None, ...],
) -> None:
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected, strict=True):
        assert (result is None) == (wanted is None)
        if result is None:
            continue
        assert wanted.dtype in (result.dtype, wide(result.dtype))
        if row.op in NEAREST and not result.is_floating_point():
            assert int((result.int() - wanted.to(result.dtype).int()).abs().max()) <= 1
        elif result.is_complex():
            part = torch.float32 if result.dtype == torch.complex64 else torch.float64
            result, wanted = torch.view_as_real(result), torch.view_as_real(wanted)
            assert_close(result, wanted, part, reduction_length(case))
        else:
            assert_close(result, wanted, result.dtype, reduction_length(case))
