"""Dropout: a seed's elements on every device, in the backward and in compiled code; torch's own."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

import tileops
from tests.devices import DEVICES, gpu
from tileops.elementwise import DropoutFwdOp
from tileops.runtime.errors import CallError
from tileops.testing.values import launcher_of, poisoned, serve, stride_variants

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def splitmix(seed: int, index: int) -> int:
    """The generator as its author wrote it, on unbounded integers."""
    mask = 2**64 - 1
    z = (seed + (index + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return (z ^ (z >> 31)) >> 40


@pytest.mark.parametrize("seed", [0, 1, -1, 2026, 2**63 - 1, -(2**63)])
def test_the_elements_that_stay_are_the_seeds(seed) -> None:
    y = DropoutFwdOp(p=0.3, seed=seed)(torch.ones(5, 40))
    kept = [splitmix(seed, i) >= 0.3 * 2**24 for i in range(200)]
    assert (y != 0).flatten().tolist() == kept


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.999, 1.0])
def test_the_share_that_stays(p) -> None:
    y = DropoutFwdOp(p=p, seed=3)(torch.ones(10**6))
    share = (y != 0).double().mean().item()
    assert abs(share - (1 - p)) <= 5 * math.sqrt(p * (1 - p) / 10**6)
    if p < 1:
        assert y.max().item() == pytest.approx(1 / (1 - p))
    other = DropoutFwdOp(p=p, seed=4)(torch.ones(10**6))
    together = ((y != 0) & (other != 0)).double().mean().item()
    assert abs(together - (1 - p) ** 2) <= 5e-3


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_kernel(device, dtype) -> None:
    x = torch.randn(3, 4, 50, device=device).to(dtype)
    x[0, 0, :3] = torch.tensor([math.nan, math.inf, -0.0])
    for seed, p in ((11, 0.4), (-(2**63), 0.1), (5, 1.0), (5, 0.0), (2**40, 0.75)):
        params = {"p": p, "training": True, "seed": seed}
        for _, view in stride_variants(x):
            wanted = DropoutFwdOp.reference(view, **params)
            got = poisoned(x.shape, dtype, device)
            serve(DropoutFwdOp, [got], [view], params)
            rtol = torch.finfo(dtype).eps if dtype == torch.bfloat16 else 1e-7
            torch.testing.assert_close(got, wanted, rtol=rtol, atol=0, equal_nan=True)


def test_what_pytorch_does_itself() -> None:
    x = torch.empty(4, device="meta")
    launch = launcher_of(DropoutFwdOp, "tile")
    assert "draws" in launch(None, x, x, p=0.5, training=True, seed=None)
    assert "copies" in launch(None, x, x, p=0.5, training=False, seed=3)


@pytest.mark.parametrize("p", [0.0, 0.4, 1.0])
def test_without_a_seed_it_is_torchs(p) -> None:
    x = torch.randn(40, 50, requires_grad=True)
    torch.manual_seed(7)
    y = DropoutFwdOp(p=p)(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    torch.manual_seed(7)
    wanted = F.dropout(x, p)
    torch.testing.assert_close(y, wanted, rtol=0, atol=0)
    assert torch.equal(gradient, torch.autograd.grad(wanted.sum(), x)[0])
    assert torch.equal(DropoutFwdOp(p=p, training=False)(x), x)


def backward_is_forwards(function, x) -> None:
    """Of ones: the gradient is the factor of every element."""
    y = function(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(y, x * gradient)
    assert 0 < (gradient == 0).sum() < gradient.numel()


@pytest.mark.parametrize("policy", ["reference", "opaque"])
@pytest.mark.parametrize("seed", [None, 5])
def test_the_backward_draws_nothing(policy, seed) -> None:
    op = DropoutFwdOp(p=0.3, seed=seed)
    x = torch.randn(64, 8, requires_grad=True)
    backward_is_forwards(op, x)
    torch._dynamo.reset()
    with tileops.boundary_policy(policy):
        compiled = torch.compile(op, fullgraph=True)
        for rows in (64, 9, 10):
            backward_is_forwards(compiled, torch.randn(rows, 8, requires_grad=True))
    if seed is not None:
        assert torch.equal(compiled(x), op(x))


@pytest.mark.parametrize("policy", ["reference", "opaque"])
def test_two_draws_differ(policy) -> None:
    op = DropoutFwdOp()
    x = torch.ones(1000)
    assert not torch.equal(op(x), op(x))
    torch._dynamo.reset()
    with tileops.boundary_policy(policy):
        first, second = torch.compile(lambda x: (op(x), op(x)), fullgraph=True)(x)
    assert not torch.equal(first, second)


def test_in_place() -> None:
    x = torch.randn(30, 20)
    wanted = DropoutFwdOp(p=0.2, seed=9)(x)
    strided = x.t().contiguous().t()
    assert DropoutFwdOp(p=0.2, seed=9, inplace=True)(strided) is strided
    assert torch.equal(strided, wanted)
    with pytest.raises(CallError, match="must not require grad"):
        DropoutFwdOp(inplace=True)(x.requires_grad_())


@pytest.mark.parametrize("p", [-0.1, 1.5, math.nan])
def test_probabilities(p) -> None:
    with pytest.raises(CallError, match="0 <= p <= 1"):
        DropoutFwdOp(p=p)(torch.ones(3))


def test_gradients_of_a_seed() -> None:
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    op = DropoutFwdOp(p=0.4, seed=1)
    assert torch.autograd.gradcheck(op, x) and torch.autograd.gradgradcheck(op, x)


@gpu
@pytest.mark.parametrize("dtype", FLOATS)
def test_full_size(dtype) -> None:
    x = torch.randn(4096, 4099, device="cuda").to(dtype)
    for view in (x, x.t()):
        y = DropoutFwdOp(p=0.1, seed=77)(view)
        wanted = DropoutFwdOp.reference(view, p=0.1, training=True, seed=77)
        torch.testing.assert_close(y, wanted, rtol=1e-7, atol=0)
    backward_is_forwards(DropoutFwdOp(p=0.1, seed=77), x.requires_grad_())
    backward_is_forwards(DropoutFwdOp(p=0.1), x)
