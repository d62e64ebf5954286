"""The elementwise references against PyTorch's own functions and formulas."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from tileops.elementwise import AddFwdOp, AlibiFwdOp, GELUFwdOp, SiLUAndMulFwdOp, SinusoidalFwdOp
from tileops.testing.tolerance import assert_close
from tileops.testing.values import stride_variants

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_is_torchs(dtype, approximate) -> None:
    x = (torch.randn(4, 5, 6) * 3).to(dtype)
    for how, view in stride_variants(x):
        y = GELUFwdOp.reference(view, approximate=approximate)
        assert y.is_contiguous() and y.data_ptr() != view.data_ptr(), how
        exact = F.gelu(x.double(), approximate=approximate)
        # torch's float32 vectors take an erf that is right to 2e-7 of 1 (seen on 2.13, CPU).
        torch.testing.assert_close(y.double(), exact, rtol=torch.finfo(dtype).eps, atol=2e-6)


@pytest.mark.parametrize("dtype", [torch.bool, *INTEGERS, *FLOATS])
def test_add_is_torchs(dtype) -> None:
    a = torch.randint(-100, 100, (4, 1, 6)).to(dtype)
    b = torch.randint(-100, 100, (5, 1)).to(dtype)
    for alpha in (1, 3, 0):
        y = AddFwdOp.reference(a, b, alpha=alpha)
        assert y.is_contiguous() and torch.equal(y, torch.add(a, b, alpha=alpha))
    assert AddFwdOp.reference(a.expand(4, 5, 6), b).is_contiguous()


@pytest.mark.parametrize(
    ("dtype", "alpha"), [(torch.int32, 1.0), (torch.uint8, 256), (torch.float32, True)]
)
def test_add_refuses_what_torch_refuses(dtype, alpha) -> None:
    x = torch.ones(2, dtype=dtype)
    with pytest.raises(RuntimeError):
        AddFwdOp.reference(x, x, alpha=alpha)


@pytest.mark.parametrize("dtype", FLOATS)
def test_silu_and_mul_is_its_formula(dtype) -> None:
    x = (torch.randn(5, 24) * 3).to(dtype)
    exact = F.silu(x[:, :12].double()) * x[:, 12:].double()
    for how, view in stride_variants(x):
        y = SiLUAndMulFwdOp.reference(view)
        assert y.is_contiguous(), how
        assert_close(y, exact, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("seq_len", "d_model"), [(7, 6), (300, 5), (1, 1), (0, 4), (3, 0)])
def test_sinusoidal_is_its_formula(dtype, seq_len, d_model) -> None:
    y = SinusoidalFwdOp.reference(seq_len=seq_len, d_model=d_model, out_dtype=dtype, device="cpu")
    assert y.shape == (seq_len, d_model) and y.dtype == dtype and y.is_contiguous()
    for p in range(0, seq_len, 13):
        for c in range(d_model):
            angle = p / 10000 ** ((c - c % 2) / d_model)
            want = math.cos(angle) if c % 2 else math.sin(angle)
            assert abs(y[p, c].item() - want) <= 2 * torch.finfo(dtype).eps + angle * 2**-52


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("seq_len", "num_heads"), [(6, 8), (5, 12), (3, 1), (0, 4), (3, 0)])
def test_alibi_is_the_papers(dtype, seq_len, num_heads) -> None:
    params = {"seq_len": seq_len, "num_heads": num_heads, "out_dtype": dtype, "device": "cpu"}
    y = AlibiFwdOp.reference(**params)
    assert y.shape == (num_heads, seq_len, seq_len) and y.dtype == dtype and y.is_contiguous()
    for head, slope in enumerate(slopes(num_heads)):
        distance = torch.arange(seq_len)[:, None] - torch.arange(seq_len)
        want = (-slope * distance.abs().double()).to(dtype)
        torch.testing.assert_close(y[head], want, rtol=torch.finfo(dtype).eps, atol=0)


def slopes(heads: int) -> list[float]:
    """As the paper's own code makes them."""
    if heads == 0:
        return []
    whole = 2 ** math.floor(math.log2(heads))
    found = [2 ** (-8 * (i + 1) / whole) for i in range(whole)]
    return found if whole == heads else found + slopes(2 * whole)[0::2][: heads - whole]


def test_references_are_differentiable() -> None:
    x = torch.randn(3, 8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: GELUFwdOp.reference(x, approximate="tanh"), (x,))
    assert torch.autograd.gradcheck(lambda x: SiLUAndMulFwdOp.reference(x), (x,))
    assert torch.autograd.gradcheck(lambda x: AddFwdOp.reference(x, x[:1], alpha=2.5), (x,))
