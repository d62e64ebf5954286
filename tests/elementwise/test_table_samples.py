"""Every operator of the table on PyTorch's own samples: values, dtype, shape, on the CPU."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

import tileops.elementwise as family
from tileops.elementwise.table import ACTIVATIONS, TABLE
from tileops.runtime.errors import CallError

SAMPLES = 12
PARAMETERS = {}
for info in op_db:
    PARAMETERS.setdefault(info.name, []).append(info)

#: Why an operator is not called as a sample calls PyTorch: one signature has one dtype, and
#: tensors for tensors.
MIXED = "tensors of several dtypes"
NUMBER = "a number in place of a tensor"
BOOL = "a bool in place of a number"
TENSOR = "a tensor in place of a number"
#: The refusals of each operator; those left out take every sample.
REFUSED = {
    "AddFwdOp": {BOOL},
    "ClampTensorFwdOp": {MIXED},
    "LerpScalarFwdOp": {TENSOR},
    "LerpTensorFwdOp": {NUMBER},
    "MaskedFillScalarFwdOp": {TENSOR},
    "MaskedFillTensorFwdOp": {NUMBER},
}


#: The inputs that share a dtype; masks and conditions do not.
TYPED = {"input", "other", "exponent", "min", "max", "end", "weight", "value"}


def infos(row):
    """PyTorch's descriptions of the operator's function, a variant each."""
    return PARAMETERS[row.api.removeprefix("torch.").removeprefix("Tensor.")]


def dtypes_of(op):
    return [getattr(torch, name) for name in op.bound().operator.signature.indices["T"].names]


def arguments(op, sample):
    """The sample as a call of the operator: (parameters, tensors), or why there is none."""
    signature = op.bound().operator.signature
    inputs = [tensor.name for tensor in signature.inputs]
    names = [param.name for param in signature.params if param.name != "inplace"]
    values = [sample.input, *sample.args]
    if op is family.WhereFwdOp:
        values[:2] = reversed(values[:2])  # a method there, called on `input`
    given = dict(zip([*inputs, *names], values, strict=False)) | dict(sample.kwargs)
    assert len(values) <= len(inputs) + len(names) and set(given) <= {*inputs, *names, "inplace"}
    tensors = [given.get(name) for name in inputs]
    params = {name: given[name] for name in names if name in given}
    if op is family.ClampScalarFwdOp:  # PyTorch has samples with tensors only
        numbers = {n: t for n, t in params.items() if isinstance(t, torch.Tensor) and t.numel()}
        params = {n: t.flatten()[0].item() for n, t in numbers.items()}
    if any(isinstance(value, torch.Tensor) for value in params.values()):
        return TENSOR
    if isinstance(params.get("alpha"), bool):
        return BOOL
    if any(not isinstance(t, torch.Tensor | None) for t in tensors):
        return NUMBER
    typed = {t.dtype for n, t in zip(inputs, tensors, strict=True) if n in TYPED and t is not None}
    return MIXED if len(typed) > 1 else (params, tensors)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.op)
def test_samples(row, record_property):
    op = getattr(family, row.op)
    ran, refused = set(), Counter()
    for dtype in dtypes_of(op):
        for info in infos(row):
            if dtype not in info.supported_dtypes("cpu"):
                continue
            for sample in islice(info.sample_inputs("cpu", dtype), SAMPLES):
                reason = compare(row, op, sample)
                if reason is None:
                    ran.add(dtype)
                else:
                    refused[reason] += 1
    supported = {d for info in infos(row) for d in info.supported_dtypes("cpu")}
    assert ran == set(dtypes_of(op)) & supported
    for reason, count in refused.items():
        record_property(f"refused: {reason}", count)
    assert set(refused) == REFUSED.get(row.op, set()), dict(refused)


def compare(row, op, sample) -> str | None:
    """The results are PyTorch's; or why the operator does not take the sample."""
    found = arguments(op, sample)
    if isinstance(found, str):
        return found
    params, tensors = found
    wanted = row.function(*tensors, **params)
    got = op(**params)(*tensors)
    assert got.is_contiguous()
    torch.testing.assert_close(got, wanted, rtol=0, atol=0, equal_nan=True, check_stride=False)
    zeros = wanted == 0
    if wanted.dtype.is_floating_point:
        assert torch.equal(got[zeros].signbit(), wanted[zeros].signbit())
    return None


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.op)
def test_errors_are_errors_here(row):
    """What PyTorch refuses, an operator refuses."""
    op = getattr(family, row.op)
    for info in infos(row):
        if info.error_inputs_func is None:
            continue
        for item in info.error_inputs("cpu"):
            found = arguments(op, item.sample_input)
            if isinstance(found, str):
                continue
            params, tensors = found
            with pytest.raises(item.error_type):
                row.function(*tensors, **params)
            with pytest.raises((CallError, item.error_type)):
                op(**params)(*tensors)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.op)
def test_dtypes_are_torchs(row):
    """The entry takes what PyTorch takes on a CPU, but for what one signature cannot say."""
    op = getattr(family, row.op)
    declared = set(dtypes_of(op))
    torchs = {dtype for info in infos(row) for dtype in info.supported_dtypes("cpu")}
    known = {torch.complex32, torch.uint16, torch.uint32, torch.uint64}
    assert torchs - declared - known <= LEFT_OUT.get(row.op, set())


#: What torch takes and an entry does not, with the entry's reason.
LEFT_OUT: dict[str, set[torch.dtype]] = {
    # torch refuses to take the absolute value of booleans but for the dtype's sake.
    "AbsFwdOp": {torch.bool},
}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.op)
def test_classes_are_as_if_written(row):
    op = getattr(family, row.op)
    assert op.__name__ in family.__all__ and op.__module__ == "tileops.elementwise"
    assert all(len(line) <= 92 for line in op.__doc__.splitlines())


@pytest.mark.parametrize(
    "row", [row for row in ACTIVATIONS if row.op != "SoftplusFwdOp"], ids=lambda row: row.op
)
def test_in_place_writes_and_returns_the_input(row):
    op = getattr(family, row.op)
    for x in (torch.randn(4, 6), torch.randn(6, 4).t()):
        wanted, version = row.function(x), x._version
        assert op()(x) is not x and x._version == version
        assert op(inplace=True)(x) is x and x._version > version
        torch.testing.assert_close(x, wanted, rtol=0, atol=0)
    leaf = torch.randn(3, requires_grad=True)
    with pytest.raises(CallError, match="must not require grad"):
        op(inplace=True)(leaf)
