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
OTHER = "a parameter that the entry does not have"
#: The refusals of each operator; those left out take every sample.
REFUSED = {"AddFwdOp": {BOOL}}


def infos(row):
    """PyTorch's descriptions of the operator's function, a variant each."""
    return PARAMETERS[row.api.removeprefix("torch.").removeprefix("Tensor.")]


def dtypes_of(op):
    return [getattr(torch, name) for name in op.bound().operator.signature.indices["T"].names]


def arguments(op, sample):
    """The sample as a call of the operator: (parameters, tensors), or why there is none."""
    signature = op.bound().operator.signature
    tensors = [sample.input, *sample.args]
    names = [param.name for param in signature.params if param.name != "inplace"]
    count = len(signature.inputs)
    params = dict(zip(names, tensors[count:], strict=False)) | dict(sample.kwargs)
    params.pop("inplace", None)
    tensors = tensors[:count]
    if isinstance(params.get("alpha"), bool):
        return BOOL
    if not set(params) <= set(names) or len(sample.args) > count - 1 + len(names):
        return OTHER
    if any(not isinstance(t, torch.Tensor) for t in tensors):
        return NUMBER
    if len({t.dtype for t in tensors}) > 1:
        return MIXED
    return params, tensors


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
