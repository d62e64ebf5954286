"""The kernels of two and three tensors against PyTorch in the tensors' own dtype and device."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import tileops.elementwise as family
from tests.devices import DEVICES, gpu
from tileops.elementwise.table import BINARY
from tileops.testing.tolerance import assert_close
from tileops.testing.values import poisoned, serve, stride_variants

SPECIAL = (
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 2.5),
    *(1e-3, -7.0, 10.0, 1e-8, 6e4, -6e4, 1e20, -3e38, 0.3333333333333333, 100.0, 2047.0, 8388609.0),
)
#: The interpreter flushes these in bfloat16.
DENORMAL = (1e-40, -1e-40, 1e-45, 1.1754942e-38)

binary = pytest.mark.parametrize("row", BINARY, ids=lambda row: row.op)
#: Whose results are a rounding or two from PyTorch's; all others are equal to them.
APPROXIMATE = {"PowFwdOp"}
#: PyTorch itself is of two minds about the sign of a zero: the CPU's vectors and its scalars differ.
EITHER_ZERO = {"MaximumFwdOp", "MinimumFwdOp"}


def dtypes_of(op) -> list[torch.dtype]:
    names = op.bound().operator.signature.indices["T"].names
    return [d for d in (getattr(torch, name) for name in names) if not d.is_complex]


def numbers(dtype: torch.dtype, count: int, device) -> torch.Tensor:
    """Special values, then random ones."""
    if dtype.is_floating_point:
        special = SPECIAL if dtype == torch.bfloat16 else SPECIAL + DENORMAL
        x = torch.cat([torch.tensor(special).double(), torch.randn(count).double() * 3])
        return x.float().to(dtype).to(device) if dtype.itemsize == 1 else x.to(dtype).to(device)
    if dtype == torch.bool:
        return torch.randint(0, 2, (count,), device=device).bool()
    limits = torch.iinfo(dtype)
    ends = torch.tensor([limits.min, limits.max, 0, 1, 2, 3, 7], device=device)
    low = max(limits.min, -(10**6))
    return torch.cat([ends, torch.randint(low, 100, (count,), device=device)]).to(dtype)


def takes(row, dtype: torch.dtype, device) -> bool:
    """The interpreter has no libdevice, which float64 powers are left to."""
    return (row.op, dtype, device) != ("PowFwdOp", torch.float64, "cpu")


def right_hand(row, b: torch.Tensor) -> torch.Tensor:
    """No integer is divided by zero: that raises on the CPU, and means nothing on a GPU."""
    divides = row.op in ("RemainderFwdOp", "FloorDivideFwdOp", "DivFwdOp")
    return torch.where(b == 0, 1, b) if divides and not b.is_floating_point() else b


def same(row, got, wanted) -> None:
    """Equal, NaNs and the signs of zeros included, or close where rounding differs.

    The interpreter cuts bfloat16 off instead of rounding it.
    """
    cut = wanted.dtype == torch.bfloat16 and wanted.device.type == "cpu"
    if (cut or row.op in APPROXIMATE) and wanted.is_floating_point():
        assert_close(got, wanted.double(), wanted.dtype)
        return
    torch.testing.assert_close(got, wanted, rtol=0, atol=0, equal_nan=True)
    if wanted.is_floating_point() and row.op not in EITHER_ZERO:
        zeros = wanted == 0
        assert torch.equal(got[zeros].signbit(), wanted[zeros].signbit())


def expected(row, inputs, params) -> torch.Tensor:
    """What PyTorch gives; on the CPU its vectors have no remainder of operands far apart.

    Its floored quotients of half precision are computed in float32 on a GPU, as ours are, and
    rounded at every step on the CPU.
    """
    a, b = inputs[:2]
    floors = row.op == "FloorDivideFwdOp" or params.get("rounding_mode") == "floor"
    if floors and a.dtype in (torch.float16, torch.bfloat16):
        wide = [x.float() for x in inputs]
        return getattr(family, row.op).reference(*wide, **params).to(a.dtype)
    wanted = getattr(family, row.op).reference(*inputs, **params)
    if row.op != "RemainderFwdOp" or not a.is_floating_point() or a.is_cuda:
        return wanted
    a, b = torch.broadcast_tensors(a.double(), b.double())
    left = torch.from_numpy(np.fmod(a.numpy(), b.numpy())).to(wanted.dtype)
    left = torch.where((left != 0) & ((left < 0) != (b < 0)), left + b.to(wanted.dtype), left)
    return torch.where(wanted.isnan(), left, wanted)


def check(row, inputs, params=None) -> str:
    op = getattr(family, row.op)
    given = {p.name: p.default for p in op.bound().operator.signature.params} | (params or {})
    jumps = row.op == "FloorDivideFwdOp" or given.get("rounding_mode") is not None
    if jumps and inputs[0].dtype == torch.bfloat16 and inputs[0].device.type == "cpu":
        # Cut off and not rounded, a quotient falls on the other side of a whole number.
        inputs = [x.half() for x in inputs]
    if jumps:
        # On the CPU a single divisor is another case, whose steps are rounded otherwise.
        return compare(row, inputs, given, [x.clone() for x in torch.broadcast_tensors(*inputs)])
    return compare(row, inputs, given, inputs)


def compare(row, inputs, given, alike) -> str:
    """The kernel on the inputs against PyTorch on tensors like them."""
    wanted = expected(row, alike, given)
    got = poisoned(wanted.shape, wanted.dtype, wanted.device)
    served = serve(getattr(family, row.op), [got], inputs, given)
    same(row, got, wanted)
    return served


@pytest.mark.parametrize("device", DEVICES)
@binary
def test_every_dtype_and_pair_of_special_values(device, row) -> None:
    for dtype in dtypes_of(getattr(family, row.op)):
        if not takes(row, dtype, device):
            continue
        x = numbers(dtype, 20, device)
        a, b = torch.meshgrid(x, x, indexing="ij")
        b = right_hand(row, b.contiguous())
        assert check(row, [a.contiguous(), b]) == "flat"
        check(row, [a, b])
        check(row, [x[-7], right_hand(row, x)])
        assert check(row, [x, right_hand(row, x[-1])]) == "flat"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mode", ["trunc", "floor"])
def test_rounding_modes(device, mode) -> None:
    (row,) = (row for row in BINARY if row.op == "DivFwdOp")
    for dtype in dtypes_of(family.DivFwdOp):
        if dtype == torch.bool:
            continue  # torch rounds no quotient of booleans
        x = numbers(dtype, 40, device)
        a, b = torch.meshgrid(x, x, indexing="ij")
        b = right_hand(row, b.contiguous())
        check(row, [a.contiguous(), b], {"rounding_mode": mode})


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["RemainderFwdOp", "FloorDivideFwdOp"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_quotients_of_every_size(device, name, dtype) -> None:
    """Exact remainders, however far apart the exponents are."""
    (row,) = (row for row in BINARY if row.op == name)
    widest = 120 if dtype != torch.float64 else 1000
    a = torch.ldexp(torch.randn(200).double(), torch.randint(-widest, widest, (200,)))
    b = torch.ldexp(torch.randn(200).double(), torch.randint(-widest, widest, (200,)))
    check(row, [a.to(dtype).to(device), b.to(dtype).to(device)])
    near = (a * torch.randint(-(2**20), 2**20, (200,))).to(dtype)
    check(row, [near.to(device), a.to(dtype).to(device)])


@pytest.mark.parametrize("device", DEVICES)
@binary
def test_strides(device, row) -> None:
    dtype = dtypes_of(getattr(family, row.op))[-1]
    dtype = torch.float32 if dtype.is_floating_point else dtype
    x = numbers(dtype, 200, device)[-120:].view(3, 4, 10)
    y = right_hand(row, x.flip(0))
    for _how, view in stride_variants(x):
        check(row, [view, y])
        check(row, [x[0], right_hand(row, view)])
    for other in (y[0], y[:, :1], y[:, :, :1], y[0, 0, 0], y[:, :1, :1], y[0, :, 0][:, None]):
        check(row, [x, other])
        check(row, [other, y])
    check(row, [x[:, :1].expand(3, 50, 10), y[0, 0]])


@gpu
@binary
def test_full_size(row) -> None:
    """On random bits and on plain numbers, dense, broadcast and crossed."""
    for dtype in dtypes_of(getattr(family, row.op)):
        a = numbers(dtype, 2**22, "cuda")[-(2**22) :].view(2**11, 2**11)
        b = right_hand(row, a.flip(0))
        check(row, [a, b])
        check(row, [a, b[:, :1]])
        check(row, [a.t(), b])
        check(row, [a[0], b])
