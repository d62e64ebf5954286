"""The kernels of cumulative sums and products against the float64 reference."""

from __future__ import annotations

import math

import pytest
import torch

import tileops.reduction as family
from tests.devices import DEVICES, gpu
from tileops.reduction.table import SCANS
from tileops.testing.tolerance import assert_close
from tileops.testing.values import poisoned, serve, stride_variants

BY_NAME = {row.name: getattr(family, row.op) for row in SCANS}
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
DTYPES = (*FLOATS, torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def values(name, shape, dtype, device):
    """Random elements whose products stay near 1."""
    x = torch.randn(shape, device=device)
    if dtype == torch.bool:
        return x > 0
    if not dtype.is_floating_point:
        return (x * 3).abs().to(dtype) if dtype == torch.uint8 else (x * 3).to(dtype)
    return (1 + x / 300 if name == "cumprod" else x).to(dtype)


def check(name, x, dim, dtype=None) -> str:
    op = BY_NAME[name]
    read = x if dtype is None else x.to(dtype)
    wanted = op.reference(read.double() if read.is_floating_point() else read, dim=dim)
    out_dtype = read.dtype if read.is_floating_point() or dtype is not None else torch.int64
    output = poisoned(x.shape, out_dtype, x.device)
    served = serve(op, [output], [x], {"dim": dim, "dtype": dtype})
    length = x.shape[dim] if x.dim() else 1
    assert_close(
        output, wanted.to(output.device), out_dtype, length**2 if "prod" in name else length
    )
    return served


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BY_NAME)
def test_small(device, name, dtype) -> None:
    for shape, dim in (((5, 37), 1), ((5, 37), 0), ((2, 12, 9), 1), ((), 0)):
        assert check(name, values(name, shape, dtype, device), dim) == "direct"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_strides(device, dim) -> None:
    x = values("cumsum", (2, 3, 2, 10), torch.float32, device)
    for _how, view in stride_variants(x):
        check("cumsum", view, dim)
    check("cumsum", x[:, :1].expand(2, 4, 2, 10), dim)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("shape", "dim", "served"),
    [((9, 5003), 1, "direct"), ((1, 20001), 1, "split"), ((9000, 3), 0, "split")],
)
def test_long(device, shape, dim, served) -> None:
    for dtype in (torch.bfloat16, torch.int32, torch.float64):
        got = check("cumsum", values("cumsum", shape, dtype, device), dim)
        assert got == served or device != "cpu"
    if device != "cpu" or shape[-1] < 10:
        check("cumprod", values("cumprod", shape, torch.float32, device), dim)


@pytest.mark.parametrize("device", DEVICES)
def test_dtype_casts_first(device) -> None:
    x = torch.randn(4, 30, device=device) * 9
    for dtype in (torch.float16, torch.float64, torch.int8, torch.int64):
        check("cumsum", x, 1, dtype)
    check("cumsum", x > 0, 1, torch.int8)
    check("cumprod", (x > 0).int() + 1, 0, torch.float32)


@pytest.mark.parametrize("device", DEVICES)
def test_special_values(device) -> None:
    x = torch.randn(5, 70, device=device)
    x[0, 3], x[1, 4], x[2, 5] = math.nan, math.inf, -math.inf
    x[3, 5], x[3, 6] = math.inf, -math.inf
    x[4, 8], x[4, 9] = 0.0, math.inf
    for name in BY_NAME:
        check(name, x if name == "cumsum" else x.sign(), 1)


@pytest.mark.parametrize("device", DEVICES)
def test_complex_sums_are_of_their_parts(device) -> None:
    x = torch.randn(3, 5, dtype=torch.complex64, device=device)
    for view in (x, x.conj(), x.t()):
        for dim in (0, 1):
            got = torch.empty(view.shape, dtype=x.dtype, device=device).fill_(math.nan)
            serve(BY_NAME["cumsum"], [got], [view], {"dim": dim, "dtype": None})
            torch.testing.assert_close(got, torch.cumsum(view, dim).contiguous())


@pytest.mark.parametrize("device", DEVICES)
def test_offsets_past_two_to_the_31(device) -> None:
    store = torch.empty(2**31 + 64, dtype=torch.bfloat16, device=device)
    x = store.as_strided((2, 64), (2**31, 1))
    x.copy_(torch.randn(2, 64, device=device))
    check("cumsum", x[:, :64], 0)
    check("cumsum", x, 1)


@gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize(
    ("shape", "dim"),
    [
        ((4, 102400), 1),
        ((300, 50257), 1),
        ((65536, 64), 1),
        ((2048, 4096), 1),
        ((16, 1024, 512), 1),
        ((8192, 1024), 0),
        ((2**22,), 0),
    ],
)
def test_full_size(name, shape, dim, dtype) -> None:
    check(name, values(name, shape, dtype, "cuda"), dim)
