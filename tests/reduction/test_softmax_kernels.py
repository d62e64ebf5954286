"""The softmax kernels against the float64 reference, in the interpreter and on a GPU."""

from __future__ import annotations

import math

import pytest
import torch

from tests.devices import DEVICES, gpu
from tileops.reduction import LogSoftmaxFwdOp, SoftmaxFwdOp
from tileops.testing.tolerance import assert_close
from tileops.testing.values import poisoned, serve, stride_variants

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def check(x, dim: int | None = None, dtype=None, only=None, op=SoftmaxFwdOp) -> str:
    out_dtype = dtype or x.dtype
    y = poisoned(x.shape, out_dtype, x.device)
    served = serve(op, [y], [x], {"dim": dim, "dtype": dtype}, only)
    exact = op.reference(x.to(out_dtype).double(), dim=dim)
    assert_close(y, exact, out_dtype, x.shape[dim if dim is not None else -1] if x.dim() else 1)
    return served


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 37), (1, 1), (301, 8), (2, 3, 64), (3, 1000), (64,), ()])
def test_rows(device, dtype, shape) -> None:
    x = (torch.randn(shape, device=device) * 5).to(dtype)
    assert check(x) == "row"
    assert check(x, -1) == "row"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(37, 5), (3, 100, 70), (2, 200, 3)])
def test_columns(device, dtype, shape) -> None:
    x = (torch.randn(shape, device=device) * 5).to(dtype)
    assert check(x, -2) == "column"
    assert check(x, 0) == "column"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dim", [0, 1, 2, 3])
def test_strides(device, dim) -> None:
    x = torch.randn(3, 2, 4, 10, device=device, dtype=torch.bfloat16)
    for _how, view in stride_variants(x):
        check(view, dim)
    check(x[:, :1].expand(3, 5, 4, 10), dim)
    check(x[..., :1], dim)


@pytest.mark.parametrize("device", DEVICES)
def test_size_one_axes_after_the_last_are_rows(device) -> None:
    assert check(torch.randn(3, 40, 1, 1, device=device), 1) == "row"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("only", ["split_row", "long_row"])
@pytest.mark.parametrize("length", [8192, 12289])
def test_long_rows(device, only, length) -> None:
    x = torch.randn(2, 3, length, device=device) * 5
    check(x.bfloat16(), only=only)
    check(x.transpose(0, 1), only=only)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("only", ["split_row", "long_row"])
def test_long_rows_that_start_anywhere(device, only) -> None:
    lengths = (1, 2, 7, 9, 15, 17, 23, 4097) if only == "long_row" else (4097, 4102, 8191)
    for length in lengths:
        rows = 9 if only == "long_row" else 6  # few enough to be split
        x = torch.randn(rows, length, device=device) * 5
        x[3] = -math.inf
        x[3, -1] = 1.0
        x[4, 0] = math.nan
        check(x.bfloat16(), only=only)
        check(x.double(), only=only)
        # A view that starts at no multiple of 16 bytes.
        check(x.half().flatten()[length:].view(rows - 1, length), only=only)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((2, 2100, 5), torch.bfloat16), ((3000, 40), torch.float32), ((4100, 3), torch.float64)],
)
def test_columns_longer_than_registers_and_barely_shorter(device, shape, dtype) -> None:
    x = (torch.randn(shape, device=device) * 5).to(dtype)
    check(x, -2, only="column")
    check(x[..., :2000, :], -2, only="column")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("source", "dtype"),
    [
        (torch.float32, torch.float16),
        (torch.float32, torch.bfloat16),
        (torch.float16, torch.float32),
        (torch.float32, torch.float64),
    ],
)
def test_dtype_casts_first(device, source, dtype) -> None:
    x = (torch.randn(4, 300, device=device) * 8).to(source)
    if device == "cpu" and dtype == torch.bfloat16:
        # Triton's interpreter truncates float32 to bfloat16 where GPUs round (seen on 3.9).
        x = x.bfloat16().to(source)
    check(x, dtype=dtype)
    check(x, 0, dtype=dtype)
    check(x, only="long_row", dtype=dtype)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf, 1e30])
@pytest.mark.parametrize("only", ["row", "split_row", "long_row", "column"])
def test_special_values(device, special, only) -> None:
    x = torch.randn(4, 9000 if only != "column" else 100, device=device)
    x[1] = special
    x[2, 3] = special
    x[3, : x.shape[1] // 2] = special
    if only == "column":
        check(x.t(), 0, only=only)
        check(x.t().contiguous(), 0, only=only)
    else:
        check(x, only=only)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("only", ["row", "split_row", "long_row", "column"])
def test_the_logarithm(device, only) -> None:
    for dtype in (torch.bfloat16, torch.float32, torch.float64):
        x = torch.randn(4, 8193 if only != "column" else 100, device=device) * 5
        x[1] = -math.inf
        x[2, 3], x[2, 5] = -math.inf, 80.0
        x[3, 7] = math.nan
        x = x.to(dtype)
        if only == "column":
            check(x.t(), 0, only=only, op=LogSoftmaxFwdOp)
        else:
            check(x, 1, only=only, op=LogSoftmaxFwdOp)


@pytest.mark.parametrize("device", DEVICES)
def test_the_logarithm_along_torchs_axis_and_of_integers(device) -> None:
    for shape in ((), (5,), (3, 4), (2, 3, 4), (2, 2, 3, 2)):
        check(torch.randn(shape, device=device), op=LogSoftmaxFwdOp)
    for source in (torch.int8, torch.bool, torch.int64):
        x = torch.randint(-5, 6, (6, 9), device=device).to(source)
        for dim in (0, None):
            check(x, dim, torch.float32, op=LogSoftmaxFwdOp)


@pytest.mark.parametrize("device", DEVICES)
def test_offsets_past_two_to_the_31(device) -> None:
    store = torch.empty(2**31 + 64, dtype=torch.bfloat16, device=device)
    x = store.as_strided((2, 64), (2**31, 1))
    x.copy_(torch.randn(2, 64, device=device))
    check(x)
    check(x, 0)
    check(x, only="long_row")
    check(x.t(), 0)


@gpu
@pytest.mark.parametrize("op", [SoftmaxFwdOp, LogSoftmaxFwdOp])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("shape", "dim"),
    [
        ((1024, 4096), -1),
        ((256, 32768), -1),
        ((4, 102400), -1),
        ((300, 50257), -1),
        ((8, 2048, 1024), 1),
        ((65536, 64), -1),
    ],
)
def test_full_size(op, dtype, shape, dim) -> None:
    check((torch.randn(shape, device="cuda") * 5).to(dtype), dim, op=op)


@gpu
def test_more_than_two_to_the_31_elements() -> None:
    x = torch.randn(2**19 + 3, 4096, device="cuda", dtype=torch.bfloat16)
    y = poisoned(x.shape, x.dtype, "cuda")
    serve(SoftmaxFwdOp, [y], [x], {})
    for rows in (slice(0, 64), slice(-64, None)):
        assert_close(y[rows], torch.softmax(x[rows].double(), -1), torch.bfloat16, 4096)
    assert not bool(y.isnan().any())
