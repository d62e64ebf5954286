"""Every operator of the table on PyTorch's own samples: values, dtype and shape, for every dtype."""

from __future__ import annotations

import warnings
from collections import Counter

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

import tileops.reduction as family
from tests.devices import gpu
from tileops.reduction.table import TABLE
from tileops.runtime.errors import CallError

INFOS: dict[str, list] = {}
for info in op_db:
    INFOS.setdefault(info.name, []).append(info)

#: Samples that an entry refuses by design, of one dtype: how many, by reason.
REFUSED = {"ProdFwdOp": {"no dim": 13}}
#: And further ones of booleans.
OF_BOOLEANS = {"ProdFwdOp": {"dtype is bool": 2}}
#: What torch takes on a CPU and an entry does not, with the entry's reason.
LEFT_OUT = {
    # torch answers uint8 with uint8 here, and one signature has one result dtype.
    "AllFwdOp": {torch.uint8},
    "AnyFwdOp": {torch.uint8},
    # With a dtype torch drops the imaginary parts.
    "LogSoftmaxFwdOp": {torch.complex64, torch.complex128},
}
UNKNOWN = {torch.complex32, torch.uint16, torch.uint32, torch.uint64}


def infos(row):
    return INFOS[row.api.removeprefix("torch.").removeprefix("nn.functional.")]


def dtypes_of(op):
    return [getattr(torch, name) for name in op.bound().operator.signature.indices["T"].names]


def parameters(op, sample):
    """The sample's arguments as the operator's parameters, or why it has none for them."""
    names = [param.name for param in op.bound().operator.signature.params]
    given = dict(sample.kwargs)
    args = list(sample.args)
    if args and isinstance(args[0], bool):
        given["unbiased"] = args.pop(0)
    given |= dict(zip(names, args, strict=False))
    if "unbiased" in given:
        given["correction"] = int(given.pop("unbiased"))
    if "dim" not in given and "dim" in names and op.__name__ == "ProdFwdOp":
        return "no dim"
    if given.get("dtype") == torch.bool:
        return "dtype is bool"
    assert set(given) <= set(names), given
    return given


def torchs(info, sample):
    """What torch gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return info.op(sample.input, *sample.args, **sample.kwargs)


def flat(results):
    return list(results) if isinstance(results, tuple) else [results]


def run(row, device, dtypes):
    op = getattr(family, row.op)
    for dtype in dtypes:
        refused = Counter()
        for info in infos(row):
            if dtype not in info.supported_dtypes(device):
                continue
            for sample in info.sample_inputs(device, dtype):
                params = parameters(op, sample)
                if isinstance(params, str):
                    refused[params] += 1
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    got = op(**params)(sample.input)
                for mine, wanted in zip(flat(got), flat(torchs(info, sample)), strict=True):
                    assert mine.is_contiguous()
                    exact = {"rtol": 0, "atol": 0} if device == "cpu" else {}
                    torch.testing.assert_close(
                        mine, wanted, equal_nan=True, check_stride=False, **exact
                    )
        if any(dtype in info.supported_dtypes(device) for info in infos(row)):
            wanted = REFUSED.get(row.op, {})
            if dtype == torch.bool:
                wanted = wanted | OF_BOOLEANS.get(row.op, {})
            assert dict(refused) == wanted, dtype


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.op)
def test_samples(row):
    run(row, "cpu", dtypes_of(getattr(family, row.op)))


@gpu
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.op)
def test_samples_on_a_gpu(row):
    run(row, "cuda", dtypes_of(getattr(family, row.op)))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.op)
def test_dtypes_are_torchs(row):
    """The entry takes what PyTorch takes on a CPU, but for what one signature cannot say."""
    declared = set(dtypes_of(getattr(family, row.op)))
    torchs = {dtype for info in infos(row) for dtype in info.supported_dtypes("cpu")}
    assert torchs - declared - UNKNOWN == LEFT_OUT.get(row.op, set())


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.op)
def test_classes_are_as_if_written(row):
    op = getattr(family, row.op)
    assert op.__name__ in family.__all__ and op.__module__ == "tileops.reduction"
    assert all(len(line) <= 92 for line in op.__doc__.splitlines())


def test_errors_are_torchs():
    x = torch.randn(2, 3)
    for row in TABLE:
        op = getattr(family, row.op)
        with pytest.raises(CallError, match=r"valid_axes|axis|axes"):
            op(dim=2)(x)
        if row.name not in ("prod", "argmax", "argmin"):
            with pytest.raises(CallError):
                op(dim=[0, -2])(x)
    nothing = torch.randn(3, 0)
    for op in (family.AmaxFwdOp, family.AminFwdOp, family.ArgmaxFwdOp, family.ArgminFwdOp):
        assert op(dim=0)(nothing).shape == (0,)
        with pytest.raises(CallError):
            op(dim=1)(nothing)
        with pytest.raises(CallError):
            op()(nothing)
