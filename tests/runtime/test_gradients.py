"""Gradients: gradcheck, functorch transforms, forward mode, refusals, checkpointing, compiled."""

import pytest
import torch
import torch.nn.functional as F
from torch.utils import checkpoint

from tests.runtime import sample_operators as sample
from tileops.runtime.errors import CallError

ops = getattr(torch.ops, sample.NAMESPACE)


def norm(x, w=None):
    return ops.rms_norm_fwd(x, w, normalized_shape=[4], eps=1e-3)


def plain_norm(x, w=None):
    return F.rms_norm(x, (4,), w, 1e-3)


def doubles(*shape, grad=True):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=grad)


@pytest.mark.parametrize("check", [torch.autograd.gradcheck, torch.autograd.gradgradcheck])
def test_gradcheck(check):
    assert check(norm, (doubles(3, 4), doubles(4)))
    assert check(norm, (doubles(3, 4),))
    assert check(norm, (doubles(3, 4, grad=False), doubles(4)))
    assert check(
        lambda x, r, w: ops.fused_add_rms_norm_fwd(x, r, w, eps=1e-3),
        (doubles(3, 4), doubles(3, 4), doubles(4)),
    )
    assert check(lambda x: ops.mean_saving_fwd(x, save=True), (doubles(3, 4),))
    assert check(lambda x: ops.mean_saving_fwd(x)[0], (doubles(3, 4),))


def test_one_tensor_twice_and_unused_outputs():
    x, w = doubles(3, 4), doubles(4)
    y, _ = ops.fused_add_rms_norm_fwd(x, x, w)
    (got,) = torch.autograd.grad(y.sum(), x)
    (expected,) = torch.autograd.grad(F.rms_norm(x + x, (4,), w, 1e-6).sum(), x)
    torch.testing.assert_close(got, expected)
    _, total = ops.fused_add_rms_norm_fwd(x, doubles(3, 4), w)
    gx, gw = torch.autograd.grad(total.sum(), (x, w))
    assert torch.equal(gx, torch.ones_like(x)) and torch.equal(gw, torch.zeros_like(w))


def test_expanded_gradients_and_a_retained_graph():
    x = doubles(3, 4)
    y = norm(x)
    first = torch.autograd.grad(y.sum(), x, retain_graph=True)
    second = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(first, second)


def test_a_saved_input_that_changed_is_noticed():
    x = doubles(3, 4)
    leaf = x * 1
    y = norm(leaf)
    leaf.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_functorch_transforms_match_plain_pytorch():
    x, w = doubles(3, 4, grad=False), doubles(4, grad=False)
    v = doubles(3, 4, grad=False)
    func = torch.func
    pairs = [
        lambda f: func.grad(lambda a: f(a, w).square().sum())(x),
        lambda f: func.grad(lambda a, b: f(a, b).square().sum(), argnums=(0, 1))(x, w),
        lambda f: func.vjp(lambda a: f(a, w), x)[1](v),
        lambda f: func.jvp(lambda a: f(a, w), (x,), (v,)),
        lambda f: func.vmap(lambda a: f(a, w))(x),
        lambda f: func.vmap(func.grad(lambda a: f(a, w).square().sum()))(x),
        lambda f: func.hessian(lambda a: f(a, w).square().sum())(x),
        lambda f: func.jacfwd(lambda a: f(a, w))(x),
    ]
    for transform in pairs:
        torch.testing.assert_close(transform(norm), transform(plain_norm))


def test_vmap_over_an_absent_output():
    x = torch.randn(5, 3, 4)
    doubled, mean = torch.func.vmap(lambda a: ops.mean_saving_fwd(a), out_dims=(0, None))(x)
    assert mean is None
    torch.testing.assert_close(doubled, x * 2)


def test_compiled_transforms():
    x, w = torch.randn(3, 4), torch.randn(4)

    def function(a):
        return torch.func.grad(lambda t: norm(t, w).square().sum())(a)

    torch.testing.assert_close(
        torch.compile(function, backend="aot_eager", fullgraph=True)(x), function(x)
    )


def test_forward_mode_is_not_silently_zero():
    import torch.autograd.forward_ad as fwad

    x, v = torch.randn(3, 4), torch.randn(3, 4)
    with fwad.dual_level():
        dual = fwad.make_dual(x, v)
        got = fwad.unpack_dual(norm(dual)).tangent
        expected = fwad.unpack_dual(plain_norm(dual)).tangent
    torch.testing.assert_close(got, expected)


def test_an_operator_without_gradient_refuses_in_backward():
    x = torch.randn(3, 4, requires_grad=True)
    q, scale = ops.quant_fwd(x)
    assert not q.requires_grad
    with pytest.raises(CallError, match="quant_fwd: has no gradient, since its outputs are"):
        scale.sum().backward()
    compiled = torch.compile(lambda t: ops.quant_fwd(t)[1], backend="aot_eager", fullgraph=True)
    with pytest.raises(Exception, match="quant_fwd: has no gradient"):
        compiled(x)
    with pytest.raises(CallError, match="quant_fwd: has no gradient"):
        torch.func.grad(lambda t: ops.quant_fwd(t)[1].sum())(torch.randn(3, 4))
    with pytest.raises(CallError, match="quant_fwd: has no gradient"):
        torch.func.jvp(ops.quant_fwd, (torch.randn(3, 4),), (torch.randn(3, 4),))
    assert torch.func.vmap(lambda t: ops.quant_fwd(t)[1])(torch.randn(3, 4)).shape == (3, 1)


def test_written_tensors_take_no_part():
    x, y = torch.randn(3, 4, requires_grad=True), torch.randn(3, 4)
    with pytest.raises(CallError, match="x is written and must not require grad"):
        ops.shift_fwd(x * 1, y)
    with pytest.raises(CallError, match="out is written in place and takes no part in autograd"):
        ops.scale_fwd(x, y, out=torch.empty(3, 4))
    with pytest.raises(CallError, match="x is written in place and takes no part in autograd"):
        ops.shift_fwd(y, x)
    with torch.no_grad():
        ops.scale_fwd(x, y, out=torch.empty(3, 4))


def test_gradient_beside_a_written_input():
    x, running = doubles(5, 4), torch.zeros(4, dtype=torch.float64)
    y = ops.running_fwd.writes_running(x, running, training=True)
    torch.testing.assert_close(running, 0.1 * x.detach().mean(0))
    (got,) = torch.autograd.grad(y.square().sum(), x)
    (expected,) = torch.autograd.grad((x - x.mean(0)).square().sum(), x)
    torch.testing.assert_close(got, expected)

    compiled = torch.compile(sample.CLASSES["RunningFwdOp"](training=True), fullgraph=True)
    fresh = torch.zeros(4, dtype=torch.float64)
    (again,) = torch.autograd.grad(compiled(x, fresh).square().sum(), x)
    torch.testing.assert_close(again, expected)
    torch.testing.assert_close(fresh, running)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing(reentrant):
    x, w = doubles(3, 4), doubles(4)
    checkpoint.checkpoint(norm, x, w, use_reentrant=reentrant).square().sum().backward()
    torch.testing.assert_close(
        (x.grad, w.grad), torch.autograd.grad(plain_norm(x, w).square().sum(), (x, w))
    )


def test_selective_checkpointing_sees_the_operator():
    seen = []

    def policy(context, operator, *args, **kwargs):
        seen.append(str(operator))
        return checkpoint.CheckpointPolicy.MUST_SAVE

    x = doubles(3, 4)
    y = checkpoint.checkpoint(
        norm, x, use_reentrant=False,
        context_fn=lambda: checkpoint.create_selective_checkpoint_contexts(policy),
    )  # fmt: skip
    y.sum().backward()
    assert f"{sample.NAMESPACE}.rms_norm_fwd.default" in seen


def test_autocast_backward_keeps_dtypes():
    x = torch.randn(3, 4, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = norm(x)
        y.sum().backward()
    assert x.grad.dtype is torch.float32
