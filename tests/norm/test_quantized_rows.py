"""RMSNorm of a sum with codes of its rows: reference and kernels."""

from __future__ import annotations

import math

import pytest
import torch

from tests.devices import DEVICES, gpu
from tileops.norm import FusedAddRMSNormFwdOp, FusedAddRMSNormPerTokenQuantFwdOp
from tileops.norm.reference import CODES
from tileops.testing.tolerance import assert_close
from tileops.testing.values import poisoned, serve, stride_variants

OP = FusedAddRMSNormPerTokenQuantFwdOp
EIGHT = list(CODES)
every_code = pytest.mark.parametrize("quant_dtype", EIGHT)


def by_kernel(x, residual, weight, only=None, **params):
    q = torch.full(x.shape, 85, dtype=torch.uint8, device=x.device).view(params["quant_dtype"])
    scale = poisoned((*x.shape[:-1], 1), torch.float32, x.device)
    total = poisoned(x.shape, x.dtype, x.device)
    params = {"eps": 1e-6, "scale_ub": None} | params
    served = serve(OP, [q, scale, total], [x, residual, weight], params, only)
    return (q, scale, total), served


def check(results, x, residual, weight, quant_dtype, scale_ub=None) -> None:
    """Holds codes to float64 values: a code is the nearest to its value."""
    q, scale, total = results
    wide = [t.double() for t in (x, residual, weight)]
    y, exact_total = FusedAddRMSNormFwdOp.reference(*wide, eps=1e-6)
    wanted = OP.reference(*wide, quant_dtype=quant_dtype, eps=1e-6, scale_ub=scale_ub)[1]
    assert_close(scale, wanted, torch.float32, x.shape[-1])
    assert_close(total, exact_total, x.dtype)
    limit = CODES[quant_dtype]
    value = (y / scale.double()).clamp(-limit, limit)
    step = torch.ones_like(value)
    if quant_dtype != torch.int8:
        step = 2.0 ** (value.abs().clamp(min=2.0**-6).log2().floor() - 3)
    off = (q.double() - value).abs()
    assert bool((off <= step * 0.5 + value.abs() * 1e-5).all()), float((off / step).max())


@every_code
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("shape", [(5, 37), (2, 3, 64), (64,), (3, 1300)])
def test_rows(quant_dtype, device, dtype, shape) -> None:
    x, r = torch.randn(2, *shape, device=device).to(dtype)
    w = torch.randn(shape[-1], device=device).to(dtype)
    for only in ("row", "long_row"):
        results, served = by_kernel(x, r, w, only, quant_dtype=quant_dtype)
        check(results, x, r, w, quant_dtype)
        assert served == only
    bound = {"scale_ub": 0.5} if quant_dtype != torch.int8 else {}
    results, served = by_kernel(x, r, w, quant_dtype=quant_dtype, **bound)
    check(results, x, r, w, quant_dtype, **bound)
    assert served == "row"


@every_code
@pytest.mark.parametrize("device", DEVICES)
def test_strides_and_lengths(quant_dtype, device) -> None:
    x, r = torch.randn(2, 3, 1, 10, device=device)
    w = torch.randn(20, device=device)[::2]
    for _how, view in stride_variants(x):
        check(by_kernel(view, r, w, quant_dtype=quant_dtype)[0], x, r, w, quant_dtype)
    x, r, w = torch.randn(3, 16400, device=device)
    results, served = by_kernel(x, r, w, quant_dtype=quant_dtype)
    assert served == "long_row"
    check(results, x, r, w, quant_dtype)


def special() -> list[torch.Tensor]:
    x, r = torch.randn(2, 5, 40)
    r[0], x[0] = 0.0, 0.0
    x[1, 3], x[2, 5], r[3, 1] = math.nan, math.inf, -math.inf
    return [x, r, torch.ones(40)]


def check_special(q, scale, total, x, r, quant_dtype) -> None:
    least = 2.0**-23 if quant_dtype == torch.int8 else 1 / (448 * 512)
    assert float(scale[0]) == pytest.approx(least, rel=1e-6)
    assert not bool(q[0].float().any())
    assert bool(scale[1:4].isnan().all()) and bool(scale[4].isfinite().all())
    bad = q[1:4].float()
    assert bool((bad == 0).all() if quant_dtype == torch.int8 else bad.isnan().all())
    torch.testing.assert_close(total, x + r, equal_nan=True)


@every_code
def test_special_values_in_the_reference(quant_dtype) -> None:
    x, r, w = special()
    check_special(*OP.reference(x, r, w, quant_dtype=quant_dtype), x, r, quant_dtype)
    w[7] = math.inf
    q, scale, _ = OP.reference(x, r, w, quant_dtype=quant_dtype)
    assert bool(scale[4].isinf())
    assert bool((q[4, 7].float().isnan()) if quant_dtype != torch.int8 else q[4, 7] == 0)


@every_code
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("only", ["row", "long_row"])
def test_special_values(quant_dtype, device, only) -> None:
    x, r, w = (t.to(device) for t in special())
    results, _ = by_kernel(x, r, w, only, quant_dtype=quant_dtype)
    check_special(*results, x, r, quant_dtype)
    w[7] = math.inf
    results, _ = by_kernel(x, r, w, only, quant_dtype=quant_dtype)
    wanted = OP.reference(x, r, w, quant_dtype=quant_dtype)
    for mine, theirs in zip(results, wanted, strict=True):
        torch.testing.assert_close(mine.float(), theirs.float(), equal_nan=True)


@every_code
def test_the_reference(quant_dtype) -> None:
    for shape in ((5, 37), (2, 3, 64), (3, 0)):
        x, r = torch.randn(2, *shape)
        w = torch.randn(shape[-1])
        results = OP.reference(x, r, w, quant_dtype=quant_dtype)
        assert all(t.is_contiguous() for t in results)
        if shape[-1]:
            check(results, x, r, w, quant_dtype)
    if quant_dtype != torch.int8:
        x, r = torch.randn(2, 4, 16)
        q, scale, _ = OP.reference(x, r, torch.ones(16), quant_dtype=quant_dtype, scale_ub=0.25)
        assert float(scale.max()) == pytest.approx(0.25 / 448)
        assert float(q.float().abs().max()) == 448


@gpu
@every_code
@pytest.mark.parametrize("shape", [(2048, 4096), (64, 8192), (4096, 7168), (300, 40000)])
def test_full_size(quant_dtype, shape) -> None:
    x, r = torch.randn(2, *shape, device="cuda").bfloat16()
    w = torch.randn(shape[-1], device="cuda").bfloat16()
    check(by_kernel(x, r, w, quant_dtype=quant_dtype)[0], x, r, w, quant_dtype)
