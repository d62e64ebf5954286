"""Elementwise operators in compiled code: as few kernels as PyTorch's own functions become."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.backends.common import aot_autograd
from torch._inductor import metrics
from torch._inductor.utils import run_and_get_code
from torch._subclasses.fake_tensor import FakeTensorMode

import tileops
import tileops.elementwise as family
from tests.devices import gpu
from tileops.runtime.op import Op

OPS = torch.ops.tileops


def ours(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Ten of them, broadcast and not, with parameters and without."""
    z = OPS.elementwise_add_fwd(x, y, alpha=2)
    z = OPS.elementwise_mul_fwd(z, y)
    z = OPS.elementwise_silu_fwd(z)
    z = OPS.elementwise_clamp_scalar_fwd(z, min=-1.0, max=1.5)
    z = OPS.elementwise_maximum_fwd(z, x)
    z = OPS.elementwise_where_fwd(OPS.elementwise_gt_fwd(z, y), z, y)
    z = OPS.elementwise_sub_fwd(z, x)
    z = OPS.elementwise_tanh_fwd(z)
    return OPS.elementwise_gelu_fwd(z, approximate="tanh")


def theirs(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The same of PyTorch's own."""
    z = F.silu(torch.add(x, y, alpha=2) * y)
    z = torch.maximum(torch.clamp(z, min=-1.0, max=1.5), x)
    z = torch.where(z > y, z, y) - x
    return F.gelu(torch.tanh(z), approximate="tanh")


def kernels(function: Callable[..., Any], *tensors: torch.Tensor) -> tuple[int, str]:
    """How many kernels Inductor makes of it, and their code."""
    torch._dynamo.reset()
    metrics.reset()
    with torch._inductor.config.patch(force_disable_caches=True):
        _, codes = run_and_get_code(torch.compile(function, fullgraph=True), *tensors)
    return metrics.generated_kernel_count, "\n".join(codes)


class Nodes:
    """A backend that notes the operators of the graphs that AOT makes, and runs these."""

    def __init__(self) -> None:
        self.targets: list[list[str]] = []
        self.backend = aot_autograd(fw_compiler=self._keep, bw_compiler=self._keep)

    def _keep(self, module: torch.fx.GraphModule, _: Any) -> Any:
        calls = [node for node in module.graph.nodes if node.op == "call_function"]
        self.targets.append([str(node.target) for node in calls])
        return module


def nodes(function: Callable[..., Any], *tensors: torch.Tensor, dynamic: bool = False) -> Nodes:
    found = Nodes()
    torch._dynamo.reset()
    torch.compile(function, backend=found.backend, fullgraph=True, dynamic=dynamic)(*tensors)
    return found


def test_a_chain_is_as_few_kernels_as_torchs() -> None:
    x, y = torch.randn(64, 96), torch.randn(96)
    count, code = kernels(ours, x, y)
    assert count == kernels(theirs, x, y)[0] == 1
    assert "tileops" not in code
    with tileops.boundary_policy("opaque"):
        assert "tileops.elementwise_silu_fwd" in kernels(ours, x, y)[1]


def test_training_is_as_few_kernels_as_torchs() -> None:
    counts = []
    for function in (ours, theirs):
        x = torch.randn(64, 96, requires_grad=True)
        torch._dynamo.reset()
        metrics.reset()
        compiled = torch.compile(function, fullgraph=True)
        torch.autograd.grad(compiled(x, torch.randn(96)).sum(), x)
        counts.append(metrics.generated_kernel_count)
    assert counts[0] <= counts[1]


@gpu
def test_a_chain_is_as_few_kernels_on_a_gpu() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.randn(512, 1024, device="cuda", dtype=dtype)
        y = torch.randn(1024, device="cuda", dtype=dtype)
        count, code = kernels(ours, x, y)
        assert count == kernels(theirs, x, y)[0] == 1
        assert "torch.ops.tileops" not in code


@pytest.mark.parametrize("dynamic", [False, True])
def test_aot_sees_what_it_sees_of_torch_on_cuda(dynamic) -> None:
    """Inductor is given the same graph, so that its kernels are the same; no GPU is needed."""
    with FakeTensorMode():
        x, y = torch.empty(64, 96, device="cuda"), torch.empty(96, device="cuda")
        mine, other = (nodes(f, x, y, dynamic=dynamic).targets for f in (ours, theirs))
    copies = {"aten.clone.default"}
    assert [[t for t in graph if t not in copies] for graph in mine] == other
    assert not any("tileops" in target for graph in mine for target in graph)


def own_nodes(function: Callable[..., Any], *tensors: torch.Tensor) -> list[str]:
    """The nodes of the graph that Dynamo makes."""
    seen: list[str] = []

    def backend(module: torch.fx.GraphModule, _: Any) -> Any:
        seen.extend(str(node.target) for node in module.graph.nodes if node.op == "call_function")
        return module

    torch._dynamo.reset()
    torch.compile(function, backend=backend, fullgraph=True)(*tensors)
    return seen


def test_dynamo_keeps_the_nodes() -> None:
    found = own_nodes(ours, torch.randn(8, 6), torch.randn(6))
    assert len(found) == 10 and all(name.startswith("tileops.elementwise_") for name in found)


@pytest.mark.parametrize("policy", ["reference", "opaque"])
def test_values_are_the_same_under_either_policy(policy) -> None:
    """Of every size in one graph, in training too."""
    y = torch.randn(6, dtype=torch.float64)
    found = Nodes()
    torch._dynamo.reset()
    with tileops.boundary_policy(policy):
        compiled = torch.compile(ours, backend=found.backend, fullgraph=True, dynamic=True)
        for rows in (8, 9, 300):
            x = torch.randn(rows, 6, dtype=torch.float64, requires_grad=True)
            got, wanted = compiled(x, y), theirs(x, y)
            torch.testing.assert_close(got, wanted)
            gradients = (torch.autograd.grad(value.sum(), x)[0] for value in (got, wanted))
            torch.testing.assert_close(*gradients)
    assert len(found.targets) == 2
    inlined = not any("tileops" in target for target in found.targets[0])
    assert inlined == (policy == "reference")


def test_unbacked_sizes() -> None:
    x, y = torch.randn(8, 6), torch.randn(6)
    wanted = theirs(x, y)
    torch._dynamo.reset()
    torch._dynamo.decorators.mark_unbacked(x, 0)
    found = Nodes()
    compiled = torch.compile(ours, backend=found.backend, fullgraph=True)
    torch.testing.assert_close(compiled(x, y), wanted)
    assert not any("tileops" in target for graph in found.targets for target in graph)


@pytest.mark.parametrize("policy", ["reference", "opaque"])
def test_in_place_operators_write_in_a_compiled_chain(policy) -> None:
    relu, elu = family.ReLUFwdOp(inplace=True), family.ELUFwdOp(alpha=0.5, inplace=True)

    def chain(x: torch.Tensor) -> torch.Tensor:
        x = OPS.elementwise_add_fwd(x, x)
        elu(x)
        return relu(x) + 1

    def written(x: torch.Tensor) -> torch.Tensor:
        return relu(x)

    x = torch.randn(7, 5)
    found = Nodes()
    torch._dynamo.reset()
    with tileops.boundary_policy(policy):
        result = torch.compile(chain, backend=found.backend, fullgraph=True)(x)
        torch.testing.assert_close(result, F.relu(2 * x) + 1)
        wanted = F.relu(x)
        torch.compile(written, backend=found.backend, fullgraph=True)(x)
    assert torch.equal(x, wanted)
    inlined = not any("tileops" in target for graph in found.targets for target in graph)
    assert inlined == (policy == "reference")


def elementwise() -> Iterator[type[Op]]:
    return (getattr(family, name) for name in family.__all__)


def test_every_operator_is_fused() -> None:
    for op in elementwise():
        takes = op.bound().header.takes_tensors
        assert (op.policy.cpu, op.policy.cuda) == ("reference", "reference") or not takes
