"""The softmax reference against PyTorch's own function."""

from __future__ import annotations

import math

import pytest
import torch

from tileops.reduction import SoftmaxFwdOp
from tileops.testing.tolerance import assert_close
from tileops.testing.values import stride_variants

softmax = SoftmaxFwdOp.reference


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("dim", [0, 1, -1, None])
def test_it_is_torchs(dtype, dim) -> None:
    x = torch.randn(4, 5, 6, dtype=dtype) * 4
    for how, view in stride_variants(x):
        y = softmax(view, dim=dim)
        assert y.is_contiguous() and y.data_ptr() != view.data_ptr(), how
        assert_close(y, torch.softmax(view.double(), -1 if dim is None else dim), dtype, 6)


def test_dtype_casts_before_everything() -> None:
    x = torch.randn(3, 50) * 10
    y = softmax(x, dim=-1, dtype=torch.bfloat16)
    assert y.dtype == torch.bfloat16
    assert_close(y, torch.softmax(x.bfloat16().double(), -1), torch.bfloat16, 50)
    assert softmax(x.half(), dim=0, dtype=torch.float32).dtype == torch.float32


def test_a_row_of_minus_infinities_is_nan_and_scalars_are_one() -> None:
    assert bool(softmax(torch.full((2, 3), -math.inf)).isnan().all())
    assert softmax(torch.tensor(5.0)).item() == 1.0
    assert softmax(torch.tensor(5.0), dim=0).item() == 1.0


def test_it_is_differentiable() -> None:
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: softmax(x, dim=0), (x,))
