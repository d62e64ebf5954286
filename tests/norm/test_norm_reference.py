"""The references against PyTorch's own functions, in float64 and in each dtype."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from tileops.norm import FusedAddRMSNormFwdOp, LayerNormFwdOp, RMSNormFwdOp
from tileops.testing.tolerance import assert_close
from tileops.testing.values import stride_variants

HALVES = (torch.float16, torch.bfloat16, torch.float32)
EPSILON = torch.finfo(torch.float32).eps


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("normalized_shape", [(16,), (6, 16)])
@pytest.mark.parametrize("eps", [None, 1e-3])
def test_rms_norm_is_torchs(dtype, normalized_shape, eps) -> None:
    x = torch.randn(4, 6, 16, dtype=dtype)
    w = torch.randn(normalized_shape, dtype=dtype)
    for how, view in stride_variants(x):
        for weight in (None, w):
            y = RMSNormFwdOp.reference(view, weight, normalized_shape=normalized_shape, eps=eps)
            exact = F.rms_norm(
                view.double(),
                normalized_shape,
                None if weight is None else weight.double(),
                EPSILON if eps is None else eps,
            )
            assert y.is_contiguous(), how
            assert_close(y, exact, dtype, 96)
            assert_close(y, F.rms_norm(view, normalized_shape, weight, eps), dtype, 96)


@pytest.mark.parametrize("dtype", HALVES)
def test_layer_norm_is_torchs(dtype) -> None:
    x = torch.randn(4, 6, 16, dtype=dtype) + 3
    w, b = torch.randn(2, 16, dtype=dtype)
    for how, view in stride_variants(x):
        for weight, bias in ((None, None), (w, None), (None, b), (w, b)):
            y = LayerNormFwdOp.reference(view, weight, bias, normalized_shape=[16], eps=1e-5)
            wide = [None if t is None else t.double() for t in (weight, bias)]
            assert y.is_contiguous(), how
            assert_close(y, F.layer_norm(view.double(), (16,), *wide), dtype, 16)
            assert_close(y, F.layer_norm(view, (16,), weight, bias), dtype, 16)


@pytest.mark.parametrize("dtype", HALVES)
def test_fused_add_returns_the_norm_of_the_unrounded_sum_and_the_sum(dtype) -> None:
    x, r = torch.randn(2, 5, 7, 32, dtype=dtype)
    w = torch.randn(32, dtype=dtype)
    y, total = FusedAddRMSNormFwdOp.reference(x, r, w, eps=1e-6)
    exact = x.double() + r.double()
    assert_close(y, F.rms_norm(exact, (32,), w.double(), 1e-6), dtype, 32)
    assert torch.equal(total, x + r)
    assert y.is_contiguous() and total.is_contiguous()


def test_outputs_are_fresh() -> None:
    x = torch.randn(3, 8)
    kept = x.clone()
    for y in (
        RMSNormFwdOp.reference(x, normalized_shape=[8]),
        LayerNormFwdOp.reference(x, normalized_shape=[8]),
        *FusedAddRMSNormFwdOp.reference(x, torch.zeros(3, 8), torch.ones(8)),
    ):
        y.fill_(7)
    assert torch.equal(x, kept)


@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf, 0.0])
def test_special_values_are_torchs(special) -> None:
    x = torch.randn(3, 8)
    x[1] = special
    x[2, 3] = special
    y = RMSNormFwdOp.reference(x, normalized_shape=[8], eps=0.0)
    torch.testing.assert_close(y, F.rms_norm(x, (8,), eps=0.0), equal_nan=True)
    y = LayerNormFwdOp.reference(x, normalized_shape=[8])
    torch.testing.assert_close(y, F.layer_norm(x, (8,)), equal_nan=True)


@pytest.mark.parametrize("op", [RMSNormFwdOp, LayerNormFwdOp])
def test_references_are_differentiable(op) -> None:
    x = torch.randn(3, 8, dtype=torch.float64, requires_grad=True)
    w = torch.randn(8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x, w: op.reference(x, w, normalized_shape=[8], eps=1e-5), (x, w)
    )
