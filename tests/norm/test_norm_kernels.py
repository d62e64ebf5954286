"""The kernels against the float64 references, in the interpreter and on a GPU."""

from __future__ import annotations

import math

import pytest
import torch

from tests.devices import DEVICES, gpu
from tileops.norm import FusedAddRMSNormFwdOp, LayerNormFwdOp, RMSNormFwdOp
from tileops.testing.tolerance import assert_close
from tileops.testing.values import poisoned, serve, stride_variants

DTYPES = (torch.float16, torch.bfloat16, torch.float32)


def check_rms(x, weight, trailing: int = 1, eps: float | None = 1e-6, only=None) -> str:
    params = {"normalized_shape": list(x.shape[-trailing:]), "eps": eps}
    y = poisoned(x.shape, x.dtype, x.device)
    served = serve(RMSNormFwdOp, [y], [x, weight], params, only)
    wide = None if weight is None else weight.double()
    exact = RMSNormFwdOp.reference(x.double(), wide, **params)
    assert_close(y, exact, x.dtype, math.prod(params["normalized_shape"]))
    return served


def check_add(x, residual, weight, only=None) -> str:
    y, total = poisoned(x.shape, x.dtype, x.device), poisoned(x.shape, x.dtype, x.device)
    params = {"eps": 1e-6}
    served = serve(FusedAddRMSNormFwdOp, [y, total], [x, residual, weight], params, only)
    exact, exact_total = FusedAddRMSNormFwdOp.reference(
        x.double(), residual.double(), weight.double(), **params
    )
    assert_close(y, exact, x.dtype, x.shape[-1])
    assert_close(total, exact_total, x.dtype)
    return served


def check_layer(x, weight, bias, trailing: int = 1, only=None) -> str:
    params = {"normalized_shape": list(x.shape[-trailing:]), "eps": 1e-5}
    y = poisoned(x.shape, x.dtype, x.device)
    served = serve(LayerNormFwdOp, [y], [x, weight, bias], params, only)
    wide = [None if t is None else t.double() for t in (weight, bias)]
    exact = LayerNormFwdOp.reference(x.double(), *wide, **params)
    assert_close(y, exact, x.dtype, math.prod(params["normalized_shape"]))
    return served


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape",
    [(5, 37), (1, 1), (301, 8), (2, 3, 64), (3, 1000), (64,), (3, 1300), (2, 2049), (2, 2, 5120)],
)
def test_rows(device, dtype, shape) -> None:
    x, r = torch.randn(2, *shape, device=device).to(dtype)
    w, b = torch.randn(2, shape[-1], device=device).to(dtype)
    assert check_rms(x, w) == "row"
    assert check_rms(x, None, eps=None) == "row"
    assert check_add(x, r, w) == "row"
    assert check_layer(x, w, b) == "row"
    assert check_layer(x, None, b) == "row"
    assert check_layer(x, w, None) == "row"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("trailing", [1, 2, 3])
def test_strides(device, trailing) -> None:
    x = torch.randn(3, 2, 4, 10, device=device, dtype=torch.bfloat16)
    w = torch.randn(x.shape[-trailing:], device=device, dtype=torch.bfloat16)
    for _how, view in stride_variants(x):
        check_rms(view, w, trailing)
        check_layer(view, w, w, trailing)
        if trailing == 1:
            check_add(view, x.flip(0), w)
    for _how, weight in stride_variants(w):
        check_rms(x, weight, trailing)


@pytest.mark.parametrize("device", DEVICES)
def test_expanded_and_swapped_batches(device) -> None:
    x = torch.randn(4, 1, 6, 16, device=device, dtype=torch.float16).expand(4, 3, 6, 16)
    w = torch.randn(1, device=device, dtype=torch.float16).expand(16)
    check_rms(x, w)
    check_rms(x.transpose(1, 2), w)
    check_add(x, x.flip(1), w)
    check_layer(x.permute(2, 0, 1, 3), w, w)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("only", ["split_row", "long_row"])
@pytest.mark.parametrize("length", [8192, 12289])
def test_long_rows(device, only, length) -> None:
    x, r = torch.randn(2, 2, 3, length, device=device).to(torch.bfloat16) * 2 + 5
    w, b = torch.randn(2, length, device=device).to(torch.bfloat16)
    check_rms(x, w, only=only)
    check_rms(x.transpose(0, 1), None, only=only)
    check_add(x, r, w, only=only)
    check_layer(x, w, b, only=only)
    check_layer(x.transpose(0, 1), None, None, only=only)


@pytest.mark.parametrize("device", DEVICES)
def test_the_mean_may_be_far_from_zero(device) -> None:
    x = torch.randn(2, 9000, device=device) + 1000
    y = poisoned(x.shape, x.dtype, device)
    exact = LayerNormFwdOp.reference(x.double(), normalized_shape=[9000])
    for only in ("row", "split_row", "long_row"):
        serve(LayerNormFwdOp, [y], [x, None, None], {"normalized_shape": [9000]}, only)
        assert float((y - exact).norm() / exact.norm()) < 2e-4


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf, 0.0])
@pytest.mark.parametrize("only", ["row", "split_row", "long_row"])
def test_special_values(device, special, only) -> None:
    x = torch.randn(3, 5000, device=device)
    x[1] = special
    x[2, 3] = special
    check_rms(x, None, only=only)
    check_layer(x, None, None, only=only)


@pytest.mark.parametrize("device", DEVICES)
def test_offsets_past_two_to_the_31(device) -> None:
    store = torch.empty(2**31 + 64, dtype=torch.bfloat16, device=device)
    x = store.as_strided((2, 64), (2**31, 1))
    x.copy_(torch.randn(2, 64, device=device))
    w = torch.ones(64, dtype=torch.bfloat16, device=device)
    check_rms(x, w)
    check_rms(x, w, only="long_row")
    check_add(x, x, w)
    check_layer(x, w, w)


@gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape",
    [(2048, 4096), (2048, 5120), (512, 16384), (4096, 32, 128), (300, 40000), (4, 102400)],
)
def test_full_size(dtype, shape) -> None:
    x, r = torch.randn(2, *shape, device="cuda").to(dtype)
    w, b = torch.randn(2, shape[-1], device="cuda").to(dtype)
    check_rms(x, w)
    check_add(x, r, w)
    check_layer(x, w, b)


@gpu
def test_more_than_two_to_the_31_elements() -> None:
    x = torch.randn(2**19 + 3, 4096, device="cuda", dtype=torch.bfloat16)
    y = poisoned(x.shape, x.dtype, "cuda")
    serve(RMSNormFwdOp, [y], [x, None], {"normalized_shape": [4096], "eps": 1e-6})
    for rows in (slice(0, 64), slice(-64, None)):
        exact = RMSNormFwdOp.reference(x[rows].double(), normalized_shape=[4096], eps=1e-6)
        assert_close(y[rows], exact, torch.bfloat16, 4096)
    assert not bool(y.isnan().any())
