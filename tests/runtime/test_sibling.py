"""Gradients through a Bwd sibling, on a pair of operators of the test's own."""

import pytest
import torch

from tests.runtime import own
from tileops.runtime.dispatch import record_implementations
from tileops.runtime.op import Op
from tileops.runtime.reference import ImplementationError
from tileops.runtime.sibling import sibling_of

PAIR = """
CubeFwdOp:
  family: own
  ref_api: none
  status: implemented
  signature:
    forall: {{N: Dim}}
    params:
      factor: {{type: float, default: 1.0}}
    inputs:
      x: {{dtype: float32, shape: "[N]"}}
      shift: {{dtype: float32, shape: "[N]", optional: true}}
    outputs:
      y: {{dtype: float32, shape: "[N]"}}
      square: {{dtype: float32, shape: "[N]"}}
  workloads:
    - {{label: one, N: 4}}
    - {{label: two, some: [shift], N: 4}}
  roofline: {{flops: "3 * N"}}
CubeBwdOp:
  family: own
  ref_api: none
  status: {status}
  signature:
    forall: {{N: Dim}}
    params:
      factor: {{type: float, default: 1.0}}
    inputs:
      dy: {{dtype: float32, shape: "[N]"}}
      square: {{dtype: float32, shape: "[N]"}}
    outputs:
      dx: {{dtype: float32, shape: "[N]"}}
  workloads:
    - {{label: one, N: 4}}
  roofline: {{flops: "3 * N"}}
"""


def cube(x, shift=None, *, factor=1.0):
    y = factor * x**3
    return (y if shift is None else y + shift), x * x


def pair(status="implemented", answer=None):
    """The forward class, whose backward asks the sibling and declines a gradient of `square`."""

    def backward(grads, outputs, x, shift=None, *, factor):
        dy, dsquare = grads
        if dsquare is not None:
            return None
        if answer is not None:
            return answer(x)
        dx = bound("CubeBwdOp").packet()(dy, outputs[1], factor=factor)
        return {"x": dx, "shift": dy}

    members = {"reference": staticmethod(cube), "backward": staticmethod(backward)}
    forward = type("CubeFwdOp", (Op,), members)
    made = {"CubeFwdOp": forward}
    if status == "implemented":
        made["CubeBwdOp"] = lambda dy, square, *, factor=1.0: 3 * factor * square * dy
    registry = own.load(PAIR.format(status=status), **made)
    bound = registry.bound
    return forward


def gradients(call, *inputs):
    given = [item.clone().requires_grad_() for item in inputs]
    with record_implementations() as served:
        call(*given).sum().backward()
    names = [item.operator for item in served]
    return [item.grad for item in given], names


X, SHIFT = torch.tensor([1.0, 2.0, 3.0]), torch.ones(3)


def test_the_sibling_serves_the_backward():
    op = pair()(factor=2.0)
    (dx, dshift), names = gradients(lambda x, s: op(x, s)[0], X, SHIFT)
    assert names == ["own_cube_fwd", "own_cube_bwd"]
    assert dx.tolist() == [6, 24, 54] and dshift.tolist() == [1, 1, 1]


def test_a_compiled_backward_holds_the_siblings_node():
    op = pair()(factor=2.0)
    graphs = []

    def show(graph, inputs):
        graphs.append([str(node.target) for node in graph.graph.nodes])
        return graph.forward

    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    backend = aot_autograd(
        fw_compiler=lambda graph, inputs: make_boxed_func(show(graph, inputs))
    )
    compiled = torch.compile(lambda x: op(x)[0], backend=backend, fullgraph=True)
    (dx,), names = gradients(compiled, X)
    assert dx.tolist() == [6, 24, 54] and names[-1] == "own_cube_bwd"
    assert any("own_cube_bwd" in target for target in graphs[-1])
    inductor = torch.compile(lambda x: op(x)[0], fullgraph=True, dynamic=True)
    assert gradients(inductor, X)[0][0].tolist() == [6, 24, 54]


def test_a_declined_call_and_a_double_backward_take_the_reference():
    op = pair()
    (dx,), names = gradients(lambda x: op()(x)[1], X)
    assert names == ["own_cube_fwd"] and dx.tolist() == [2, 4, 6]
    x = X.double().float().requires_grad_()
    (first,) = torch.autograd.grad(op()(x)[0].sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [6, 12, 18]
    assert torch.func.grad(lambda x: op()(x)[0].sum())(X).tolist() == [3, 12, 27]


def test_a_spec_only_sibling_is_not_asked():
    op = pair("spec-only")()
    (dx,), names = gradients(lambda x: op(x)[0], X)
    assert names == ["own_cube_fwd"] and dx.tolist() == [3, 12, 27]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda x: {"shift": x}, r"gradient of x by name, got \['shift'\]"),
        (lambda x: x, "gradient of x by name, got Tensor"),
        (lambda x: {"x": x.double()}, "must give torch.float32 of 1 axes on cpu for x"),
    ],
)
def test_wrong_gradients_are_told(answer, text):
    op = pair(answer=answer)()
    with pytest.raises(ImplementationError, match=text):
        gradients(lambda x: op(x)[0], X)


def test_names_of_siblings():
    assert sibling_of("GQADenseFwdOp") == "GQADenseBwdOp" and sibling_of("CubeBwdOp") == ""
