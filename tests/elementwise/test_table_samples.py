"""Every operator of the table on PyTorch's own samples: values, dtype, shape, on the CPU."""

from __future__ import annotations

from itertools import islice

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

import tileops.elementwise as family
from tileops.elementwise.table import TABLE
from tileops.runtime.errors import CallError

SAMPLES = 4
PARAMETERS = {}
for info in op_db:
    PARAMETERS.setdefault(info.name, []).append(info)


def infos(row):
    """PyTorch's descriptions of the operator's function, a variant each."""
    return PARAMETERS[row.api.removeprefix("torch.")]


def dtypes_of(op):
    return [getattr(torch, name) for name in op.bound().operator.signature.indices["T"].names]


def arguments(op, sample):
    """The sample as a call of the operator, or None: (parameters, tensors)."""
    signature = op.bound().operator.signature
    tensors = [sample.input, *sample.args]
    names = [param.name for param in signature.params if param.name != "inplace"]
    count = len(signature.inputs)
    params = dict(zip(names, tensors[count:], strict=False)) | dict(sample.kwargs)
    params.pop("inplace", None)
    if not set(params) <= set(names):
        return None
    return params, tensors[:count]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.op)
def test_samples(row):
    op = getattr(family, row.op)
    ran = set()
    for dtype in dtypes_of(op):
        for info in infos(row):
            if dtype not in info.supported_dtypes("cpu"):
                continue
            samples = info.sample_inputs("cpu", dtype)
            for sample in islice(samples, SAMPLES):
                if compare(row, op, sample):
                    ran.add(dtype)
    supported = {d for info in infos(row) for d in info.supported_dtypes("cpu")}
    assert ran == set(dtypes_of(op)) & supported


def compare(row, op, sample) -> bool:
    """Whether the operator takes the sample; where it does, the results are torch's."""
    found = arguments(op, sample)
    if found is None:
        return False
    params, tensors = found
    if any(not isinstance(t, torch.Tensor) for t in tensors):
        return False
    wanted = row.function(*tensors, **params)
    if wanted.dtype != specified(op, params, tensors):
        # One dtype for a result: samples that mix dtypes are refused.
        assert len({t.dtype for t in tensors}) > 1
        return False
    got = op(**params)(*tensors)
    assert got.is_contiguous()
    torch.testing.assert_close(got, wanted, rtol=0, atol=0, equal_nan=True, check_stride=False)
    zeros = wanted == 0
    if wanted.dtype.is_floating_point:
        assert torch.equal(got[zeros].signbit(), wanted[zeros].signbit())
    return True


def specified(op, params, tensors):
    """The result's dtype as the entry has it, or None where it refuses the call."""
    try:
        return op(**params)(*(t.to("meta") for t in tensors)).dtype
    except CallError:
        return None


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
