"""The kernels of the table against PyTorch in float64, in the interpreter and on a GPU."""

from __future__ import annotations

import math

import pytest
import torch

import tileops.elementwise as family
from tests.devices import DEVICES, gpu
from tileops.elementwise.table import TABLE, UNARY
from tileops.testing.tolerance import assert_close
from tileops.testing.values import launcher_of, poisoned, serve, stride_variants

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
SPECIAL = (
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-20, -1e-20, 1e-8, -1e-3, 0.5, -0.5, 1.5, 2.5),
    *(-2.5, 1.0, -1.0, 0.49999997, 88.5, 89.0, -88.0, -100.0, 3e38, -3e38, 6e4, -30.0, 20.0, -0.3),
    *(8388609.0, 4503599627370497.0),
)
#: The interpreter flushes these in bfloat16.
DENORMAL = (1e-40, -1e-40, 1e-45)

unary = pytest.mark.parametrize("row", UNARY, ids=lambda row: row.op)


def dtypes_of(row) -> list[torch.dtype]:
    signature = getattr(family, row.op).bound().operator.signature
    found = [getattr(torch, name) for name in signature.indices["T"].names]
    return [d for d in found if not d.is_complex and d.itemsize > (1 if d.is_floating_point else 0)]


def values(dtype, count: int = 200) -> torch.Tensor:
    """Special values of the dtype, then random ones."""
    if dtype.is_floating_point:
        special = SPECIAL if dtype == torch.bfloat16 else SPECIAL + DENORMAL
        x = torch.tensor(special, dtype=torch.float64)
        return torch.cat([x, torch.randn(count, dtype=torch.float64) * 3]).to(dtype)
    x = torch.randint(-100, 100, (count,)).to(dtype)
    if dtype == torch.bool:
        return x
    limits = torch.iinfo(dtype)
    return torch.cat([torch.tensor([limits.min, limits.max, 0, 1], dtype=dtype), x])


def check(row, inputs, params=None) -> str:
    """The kernel's results are the reference's in float64, rounded; zeros have its signs."""
    op, params = getattr(family, row.op), dict(params or {})
    torchs = op.reference(*(x.cpu() for x in inputs), **params)
    wanted = torchs
    if torchs.is_floating_point() and inputs[-1].is_floating_point():
        wide = (x.cpu().double() if x.is_floating_point() else x.cpu() for x in inputs)
        wanted = op.reference(*wide, **params)
    got = poisoned(wanted.shape, torchs.dtype, inputs[0].device)
    served = serve(op, [got], list(inputs), params)
    assert_close(got.cpu(), wanted, torchs.dtype)
    if torchs.is_floating_point():
        zeros = torchs == 0
        assert torch.equal(got.cpu()[zeros].signbit(), torchs[zeros].signbit())
    return served


@pytest.mark.parametrize("device", DEVICES)
@unary
def test_every_dtype(device, row) -> None:
    for dtype in dtypes_of(row):
        assert check(row, [values(dtype).to(device)]) == "flat"


@pytest.mark.parametrize("device", DEVICES)
@unary
def test_strides(device, row) -> None:
    dtype = dtypes_of(row)[-1]
    x = values(dtype)[-120:].view(3, 4, 10).to(device)
    for _how, view in stride_variants(x):
        check(row, [view])
    check(row, [x[:, :1].expand(3, 50, 10)])
    check(row, [x[0, 0, 0]])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("decimals", [1, 3, -1, 0])
def test_round_to_decimals(device, dtype, decimals) -> None:
    """Of the same dtype: what scaling does to a value near a tie is part of the answer."""
    x = torch.cat([torch.randn(300) * 40, torch.arange(40) + 0.5]).to(device, dtype)
    y = poisoned(x.shape, dtype, device)
    serve(family.RoundFwdOp, [y], [x], {"decimals": decimals})
    torch.testing.assert_close(y, torch.round(x, decimals=decimals), rtol=0, atol=0)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.op)
def test_what_is_left_to_the_reference(row) -> None:
    op = getattr(family, row.op)
    for name in op.bound().operator.signature.indices["T"].names:
        dtype = getattr(torch, name)
        if dtype in dtypes_of(row):
            continue
        x = torch.empty(3, dtype=dtype, device="meta")
        inputs = [x for _ in op.bound().operator.signature.inputs]
        for launcher in op.kernel_types:
            reason = launcher_of(op, launcher)(None, x, *inputs)
            assert reason == f"{dtype} is left to the reference"


@gpu
@unary
def test_full_size(row) -> None:
    for dtype in dtypes_of(row):
        x = values(dtype, 2**22).to("cuda")
        assert check(row, [x]) == "flat"
        check(row, [x[: 2**22].view(2**11, 2**11).t()])


@gpu
def test_more_than_two_to_the_31_elements() -> None:
    x = torch.randint(-100, 100, (2**31 + 1000,), device="cuda", dtype=torch.int8)
    y = poisoned(x.shape, x.dtype, "cuda")
    serve(family.NegFwdOp, [y], [x])
    assert torch.equal(y[-1000:], -x[-1000:]) and torch.equal(y[:1000], -x[:1000])
