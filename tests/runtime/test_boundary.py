"""Boundary policies: which one holds, what each leaves of a call in the graph, and its values."""

import pytest
import torch
import torch.nn.functional as F
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch._inductor.utils import run_and_get_code
from torch._subclasses.fake_tensor import FakeTensorMode

import tileops
from tests.devices import compiles, gpu
from tests.runtime import own
from tileops.norm import RMSNormFwdOp
from tileops.runtime.boundary import POLICIES, policy_of

ops = torch.ops.tileops


@pytest.fixture(autouse=True)
def cold():
    torch._dynamo.reset()
    with torch._inductor.config.patch(force_disable_caches=True):
        yield
    tileops.boundary_policy(None)
    torch._dynamo.reset()


@pytest.fixture
def driver(monkeypatch):
    """Stands for the driver of an H200: what torch asks while it records a kernel."""
    triton = pytest.importorskip("triton")
    from triton.backends.compiler import GPUTarget

    class Driver:
        def get_current_target(self):
            return GPUTarget("cuda", 90, 32)

    monkeypatch.setattr(triton.runtime.driver, "_active", Driver())


def norm_and_softmax(x, w):
    return ops.reduction_softmax_fwd(
        ops.norm_rms_norm_fwd(x, w, normalized_shape=[x.shape[-1]]), dim=-1
    )


def after_aot(function, *args, dynamic=False):
    """The targets in the graphs, forward and backward, that AOT hands to its compiler."""
    found = []

    def keep(module, inputs):
        found.append([str(n.target) for n in module.graph.nodes if n.op == "call_function"])
        return make_boxed_func(module.forward)

    backend = aot_autograd(fw_compiler=keep, bw_compiler=keep)
    torch._dynamo.reset()
    compiled = torch.compile(function, backend=backend, fullgraph=True, dynamic=dynamic)
    with FakeTensorMode():
        tensors = [a() if callable(a) else a for a in args]
        compiled(*tensors)
    return found


def cuda(*shape):
    return lambda: torch.empty(*shape, device="cuda", dtype=torch.bfloat16)


def count(targets, text):
    return sum(text in target for target in targets)


def test_the_later_and_the_nearer_word_counts():
    def policy(op="RMSNormFwdOp"):
        return policy_of(None, op)

    assert policy() == tileops.Policy()
    with tileops.boundary_policy("reference"):
        assert policy() == tileops.Policy("reference", "reference")
        with tileops.boundary_policy(tileops.Policy(cuda="kernel"), RMSNormFwdOp, "AddFwdOp"):
            assert policy() == tileops.Policy(cuda="kernel") == policy("AddFwdOp")
            assert policy("GELUFwdOp") == tileops.Policy("reference", "reference")
        with tileops.boundary_policy(None, "RMSNormFwdOp"):
            # Single words go; the one for every operator stays.
            assert policy() == tileops.Policy("reference", "reference")
        with tileops.boundary_policy(None):
            assert policy() == tileops.Policy()
    assert policy() == tileops.Policy()
    tileops.boundary_policy("kernel", "RMSNormFwdOp")
    assert policy() == tileops.Policy("kernel", "kernel")
    tileops.boundary_policy("opaque")
    assert policy() == tileops.Policy()


def test_unknown_words_are_refused():
    with pytest.raises(tileops.CallError, match="one of opaque, kernel, reference, got 'inline'"):
        tileops.boundary_policy("inline")
    with pytest.raises(tileops.CallError, match="'NoSuchFwdOp' must be the name of a registered"):
        tileops.boundary_policy("opaque", "NoSuchFwdOp")


def test_compile_caches_know_the_policy():
    def tag():
        return torch.compiler.config.cache_key_tag

    before = tag()
    with tileops.boundary_policy("reference", "RMSNormFwdOp"):
        inside = tag()
    assert inside != before == tag()
    tileops.boundary_policy("reference", "RMSNormFwdOp")
    assert tag() == inside
    tileops.boundary_policy(None)
    assert tag() == before


def test_a_reference_is_fused():
    x, w = torch.randn(16, 64), torch.randn(64)
    expected = F.softmax(F.rms_norm(x, (64,), w), -1)
    with tileops.boundary_policy("reference"):
        result, (code,) = run_and_get_code(torch.compile(norm_and_softmax, fullgraph=True), x, w)
    torch.testing.assert_close(result, expected)
    assert "tileops." not in code
    torch._dynamo.reset()
    with tileops.boundary_policy("opaque"):
        result, (code,) = run_and_get_code(torch.compile(norm_and_softmax, fullgraph=True), x, w)
    torch.testing.assert_close(result, expected)
    assert "tileops.norm_rms_norm_fwd" in code


DECIDES = """
DecidesFwdOp:
  family: own
  ref_api: none
  status: implemented
  signature:
    forall: {N: Dim}
    inputs:
      x: {dtype: float32, shape: "[N]"}
    outputs:
      y: {dtype: float32, shape: "[N]"}
  workloads:
    - {label: one, N: 4}
  roofline: {flops: "N"}
"""


def test_a_reference_that_decides_by_an_unknown_size_keeps_its_node():
    decides = own.classes(DECIDES, DecidesFwdOp=lambda x: x * 2 if x.shape[0] > 5 else x + x)
    op = decides["DecidesFwdOp"]()

    def part(x, length):
        n = length.item()
        torch._check(n >= 0)
        return op(x[:n])

    found = []

    def keep(module, inputs):
        found.extend(str(n.target) for n in module.graph.nodes if n.op == "call_function")
        return make_boxed_func(module.forward)

    x, length = torch.randn(9), torch.tensor(7)
    with (
        torch._dynamo.config.patch(capture_scalar_outputs=True),
        tileops.boundary_policy("reference"),
    ):
        compiled = torch.compile(part, backend=aot_autograd(fw_compiler=keep), fullgraph=True)
        assert torch.equal(compiled(x, length), x[:7] * 2)
        assert count(found, "own_decides_fwd") == 1
        # A known size is no obstacle.
        torch.compile(op, backend=aot_autograd(fw_compiler=keep), fullgraph=True)(x)
        assert count(found, "own_decides_fwd") == 1


@compiles
def test_kernels_become_nodes(driver):
    with tileops.boundary_policy("kernel"):
        (targets,) = after_aot(norm_and_softmax, cuda(64, 4096), cuda(4096))
    assert count(targets, "triton_kernel_wrapper") == 2 and count(targets, "tileops") == 0


@compiles
def test_kernels_stay_out_of_the_dynamo_graph(driver):
    seen = []

    def backend(module, inputs):
        seen.extend(str(n.target) for n in module.graph.nodes if n.op == "call_function")
        return module.forward

    with tileops.boundary_policy("kernel"), FakeTensorMode():
        x, w = cuda(64, 4096)(), cuda(4096)()
        torch.compile(norm_and_softmax, backend=backend, fullgraph=True)(x, w)
    assert count(seen, "tileops") == 2 and len(seen) == 2


def relu(x):
    return ops.elementwise_relu_fwd(x)


def product(x):
    return ops.gemm_fwd(x, x, trans_b=True)


def attended(x):
    return ops.attention_gqa_dense_fwd(x, x, x, is_causal=True)


def split_rows(x):
    return ops.reduction_softmax_fwd(x, dim=-1, target="triton")


@compiles
@pytest.mark.parametrize(
    ("function", "args"),
    [
        pytest.param(split_rows, [cuda(64, 4096)], id="explicit-target"),
        pytest.param(relu, [cuda(64, 4096)], id="a-kernel-that-takes-a-function"),
        pytest.param(attended, [cuda(1, 256, 4, 64)], id="kernels-that-inductor-cannot-compile"),
        pytest.param(product, [cuda(4096, 4096)], id="a-kernel-that-takes-descriptors"),
    ],
)
def test_what_cannot_be_inlined_keeps_its_node(driver, function, args):
    with tileops.boundary_policy("kernel"):
        (targets,) = after_aot(function, *args)
    assert count(targets, "tileops") == 1 and count(targets, "triton_kernel_wrapper") == 0


@compiles
def test_without_a_driver_the_node_stays():
    if torch.cuda.is_available():
        pytest.skip("there is a driver here")
    with tileops.boundary_policy("kernel"):
        (targets,) = after_aot(norm_and_softmax, cuda(64, 4096), cuda(4096))
    assert count(targets, "tileops") == 2


@compiles
@pytest.mark.parametrize("width", [64, 4096, 40000])
def test_a_symbolic_number_of_rows_is_inlined_without_a_guard(driver, width):
    found = []

    def keep(module, inputs):
        found.append([str(n.target) for n in module.graph.nodes if n.op == "call_function"])
        return make_boxed_func(module.forward)

    def norm(x, w):
        return ops.norm_rms_norm_fwd(x, w, normalized_shape=[width])

    compiled = torch.compile(norm, backend=aot_autograd(fw_compiler=keep), fullgraph=True)
    with tileops.boundary_policy("kernel"), FakeTensorMode():
        for rows in (300, 7, 8, 40000):
            compiled(cuda(rows, width)(), cuda(width)())
    # The second size makes the rows symbolic, and the others are served by that graph.
    assert len(found) == 2
    assert all(count(targets, "triton_kernel_wrapper") == 1 for targets in found)
    assert all(count(targets, "tileops") == 0 for targets in found)


@compiles
def test_a_launcher_that_decides_by_a_symbolic_size_keeps_the_node(driver):
    with tileops.boundary_policy("kernel"):
        (targets,) = after_aot(
            lambda x: ops.reduction_sum_fwd(x, dim=[1]), cuda(300, 4096), dynamic=True
        )
        assert count(targets, "tileops") == 1 and count(targets, "triton_kernel_wrapper") == 0
        (targets,) = after_aot(norm_and_softmax, cuda(300, 4096), cuda(4096), dynamic=True)
    # The width is symbolic too, and blocks are sized by it.
    assert count(targets, "tileops") == 2 and count(targets, "triton_kernel_wrapper") == 0


@gpu
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("dynamic", [False, True])
def test_values_are_the_same_under_every_policy(policy, dynamic):
    # In float32, so that what is rounded between the operators hardly shows.
    x = torch.randn(64, 4096, device="cuda")
    w = torch.randn(4096, device="cuda")
    weights = w.clone().requires_grad_()
    expected = norm_and_softmax(x, w)

    def close(got, wanted):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-6)

    with tileops.boundary_policy(policy):
        compiled = torch.compile(norm_and_softmax, fullgraph=True, dynamic=dynamic)
        for rows in (64, 33, 1):
            close(compiled(x[:rows], w), expected[:rows])
        with torch.inference_mode():
            close(compiled(x, w), expected)
        with torch.autocast("cuda", torch.float16):
            close(compiled(x, w), expected)
        (gradient,) = torch.autograd.grad(compiled(x, weights).square().sum(), weights)
    (wanted,) = torch.autograd.grad(norm_and_softmax(x, weights).square().sum(), weights)
    close(gradient, wanted)
