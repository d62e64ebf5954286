"""Operators generated from the shipped manifest, with classes of this test: effects above all."""

import pytest
import torch
import torch.nn.functional as F

from tileops.codegen.catalog import load_catalog
from tileops.manifest.fingerprint import spec_folder
from tileops.runtime.errors import CallError
from tileops.runtime.op import Op
from tileops.runtime.registry import Registry

NAMESPACE = "tileops_generated"


def relu(input, *, inplace=False):
    return F.relu(input)


def batch_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, *, training, momentum, eps
):
    axes = [axis for axis in range(input.dim()) if axis != 1]
    shape = [1, -1] + [1] * (input.dim() - 2)
    if training:
        mean, var = input.mean(axes), input.var(axes, correction=0)
    else:
        mean, var = running_mean, running_var
    invstd = torch.rsqrt(var + eps)
    y = (input - mean.view(shape)) * invstd.view(shape)
    if weight is not None:
        y = y * weight.view(shape)
    if bias is not None:
        y = y + bias.view(shape)
    if not training:
        return y, None, None
    if running_mean is None:
        return y, mean, invstd
    count = input.numel() // input.shape[1]
    return (
        y, mean, invstd,
        torch.lerp(running_mean, mean, momentum),
        torch.lerp(running_var, var * count / (count - 1), momentum),
    )  # fmt: skip


class Generated(Op):
    """Base of the classes here."""


def make(name, reference):
    return type(name, (Generated,), {"reference": staticmethod(reference)})


CLASSES = {
    "ReLUFwdOp": make("ReLUFwdOp", relu),
    "BatchNormFwdOp": make("BatchNormFwdOp", batch_norm),
}
CATALOG = load_catalog(spec_folder())
REGISTRY = Registry(
    [header for header in CATALOG.headers if header.op in CLASSES],
    CATALOG.operator,
    NAMESPACE,
    CLASSES,
)
Generated.registry = REGISTRY
REGISTRY.register()
ops = getattr(torch.ops, NAMESPACE)


@pytest.fixture(autouse=True)
def cold():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("backend", [None, "aot_eager", "inductor"])
def test_an_in_place_parameter_chooses_the_overload(backend):
    fresh, inplace = CLASSES["ReLUFwdOp"](), CLASSES["ReLUFwdOp"](inplace=True)
    if backend is not None:
        fresh = torch.compile(fresh, backend=backend, fullgraph=True)
        inplace = torch.compile(inplace, backend=backend, fullgraph=True)
    x = torch.randn(3, 4)
    expected = F.relu(x)
    y = fresh(x)
    assert y is not x
    torch.testing.assert_close(y, expected)
    same = inplace(x)
    torch.testing.assert_close(same, expected)
    torch.testing.assert_close(x, expected)
    if backend is None:
        assert same is x


def test_the_wrong_overload_names_the_right_one():
    x = torch.randn(3, 4)
    with pytest.raises(CallError, match=r"call elementwise_relu_fwd\.writes_input$"):
        ops.elementwise_relu_fwd(x, inplace=True)
    with pytest.raises(CallError, match=r"call elementwise_relu_fwd\.default$"):
        ops.elementwise_relu_fwd.writes_input(x, inplace=False)


@pytest.mark.parametrize("backend", [None, "inductor"])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("running", [False, True])
def test_batch_norm_writes_its_statistics_only_in_training(backend, training, running):
    if not training and not running:
        return
    op = CLASSES["BatchNormFwdOp"](training=training)
    call = op if backend is None else torch.compile(op, backend=backend, fullgraph=True)
    x = torch.randn(4, 3, 5, requires_grad=True)
    weight, bias = torch.randn(3, requires_grad=True), torch.randn(3)
    stats = (torch.randn(3), torch.rand(3)) if running else (None, None)
    expected_stats = tuple(None if s is None else s.clone() for s in stats)
    y, mean, invstd = call(x, *stats, weight, bias)
    expected = F.batch_norm(x, *expected_stats, weight, bias, training)
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(stats, expected_stats)
    assert (mean is None) == (invstd is None) == (not training)
    got = torch.autograd.grad(y.square().sum(), (x, weight))
    torch.testing.assert_close(got, torch.autograd.grad(expected.square().sum(), (x, weight)))


def test_opcheck_of_every_branch():
    x, stats = torch.randn(4, 3), (torch.zeros(3), torch.ones(3))
    batch_norm = ops.norm_batch_norm_fwd
    torch.library.opcheck(batch_norm.default, (x, *stats), {})
    torch.library.opcheck(batch_norm.default, (x,), {"training": True})
    writes = batch_norm.writes_running_mean_running_var
    torch.library.opcheck(writes, (x, *stats), {"training": True})
    torch.library.opcheck(ops.elementwise_relu_fwd.writes_input, (x,), {"inplace": True})
