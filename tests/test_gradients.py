"""Gradients of every implemented entry, on one shrunk row each.

The reference in float64 is held to finite differences; the operator to the reference, however a
gradient is asked for and whatever strides it arrives with. Operators without gradient say so.
"""

from __future__ import annotations

import math

import pytest
import torch

import tileops
from tests.test_values import wide
from tileops.testing.cases import Case, Row, rows

SIZE = 24
IMPLEMENTED = [entry.name for entry in tileops.registry.entries if entry.status == "implemented"]
#: PyTorch has no derivative of these, though their results are floats.
WITHOUT = {"FloorDivideFwdOp"}


def floating(tensors) -> list[torch.Tensor]:
    """What may have a gradient: eight-bit floats are codes."""
    return [t for t in tensors if t is not None and t.is_floating_point() and t.itemsize > 1]


def is_code(value) -> bool:
    return isinstance(value, torch.dtype) and value.itemsize == 1


def chosen(name: str) -> Row | None:
    """A row that writes nothing and has a floating input, in the widest dtype that there is."""
    found = [
        row for row in rows(name)
        if row.overload == "default" and any("float" in str(d) for d in row.case.dtypes.values())
    ]  # fmt: skip
    order = ("float64", "float32", "bfloat16", "float16")

    def rank(row: Row) -> int:
        kinds = set(map(str, row.case.dtypes.values()))
        return next((i for i, kind in enumerate(order) if kind in kinds), len(order))

    return min(found, key=rank, default=None)


ROWS = {name: chosen(name) for name in IMPLEMENTED}
DIFFERENTIABLE = [
    row for name, row in ROWS.items()
    if row is not None and name not in WITHOUT
    and tileops.registry.bound(name).header.differentiable
]  # fmt: skip
every_row = pytest.mark.parametrize("row", DIFFERENTIABLE, ids=lambda row: row.op)


class Called:
    """A case as functions of its floating inputs alone, and those inputs."""

    def __init__(self, row: Row, double: bool = False) -> None:
        torch.manual_seed(0)
        self.case: Case = row.tensors("cpu", max_elements=SIZE)
        self.op = row.bound.op_class
        self.declared = row.case.signature.inputs
        self.names = [n for n, t in self.case.inputs.items() if t is not None
                      and t.is_floating_point() and row.case.signature.tensor(n) is not None]  # fmt: skip
        given = {n: wide(t) if double else t for n, t in self.case.inputs.items()}
        self.others = {n: t for n, t in given.items() if n not in self.names}
        self.inputs = tuple(given[n].detach() for n in self.names)
        params = {n: wide(v) if double and not is_code(v) else v
                  for n, v in self.case.params.items()}  # fmt: skip
        # Differences of infinities are NaN.
        infinite = {n for n, v in params.items() if isinstance(v, float) and not math.isfinite(v)}
        self.params = params | dict.fromkeys(infinite, 0.5)
        if not all(o.isfinite().all() for o in self.reference(*self.inputs)):
            # Outside of what a logarithm or a root is defined for.
            self.inputs = tuple(t.abs() + 0.5 for t in self.inputs)
        self.positions = {id(t): n for n, t in self.case.inputs.items() if t is not None}

    def leaves(self) -> tuple[torch.Tensor, ...]:
        return tuple(t.detach().clone().requires_grad_() for t in self.inputs)

    def reference(self, *inputs: torch.Tensor):
        given = self.others | dict(zip(self.names, inputs, strict=True))
        positional = [given.get(t.name) for t in self.declared if not t.kw_only]
        keywords = {t.name: given.get(t.name) for t in self.declared if t.kw_only}
        return floating_results(self.op.reference(*positional, **keywords, **self.params))

    def operator(self, *inputs: torch.Tensor):
        new = dict(zip(self.names, inputs, strict=True))

        def swap(value):
            name = self.positions.get(id(value)) if isinstance(value, torch.Tensor) else None
            return new.get(name, value)

        args = [swap(value) for value in self.case.args]
        kwargs = {name: swap(self.params.get(name, value)) if isinstance(value, float) else swap(
            value) for name, value in self.case.kwargs.items()}  # fmt: skip
        return floating_results(self.case.overload(*args, **kwargs))


def floating_results(results) -> tuple[torch.Tensor, ...]:
    return tuple(floating(results if isinstance(results, tuple) else (results,)))


def gradients(function, inputs, cotangents):
    outputs = function(*inputs)
    pairs = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if o.requires_grad]
    if not pairs:
        return tuple(torch.zeros_like(t) for t in inputs)
    return torch.autograd.grad(
        [o for o, _ in pairs], inputs, [c for _, c in pairs], allow_unused=True,
        materialize_grads=True,
    )  # fmt: skip


def strided(outputs) -> dict[str, list[torch.Tensor]]:
    """The same kind of cotangents in the layouts in which they arrive."""
    torch.manual_seed(1)
    dense = [torch.randn_like(o) for o in outputs]
    return {
        "dense": dense,
        "expanded": [torch.ones((), dtype=o.dtype).expand(o.shape) for o in outputs],
        "transposed": [d.mT.contiguous().mT if d.dim() > 1 else d for d in dense],
        "part of a cat": [torch.cat([d, d], -1)[..., : d.shape[-1]] if d.dim() else d for d in dense],
    }  # fmt: skip


@every_row
def test_the_reference_against_finite_differences(row):
    called = Called(row, double=True)
    inputs = called.leaves()
    if not any(o.requires_grad for o in called.reference(*inputs)):
        return
    assert torch.autograd.gradcheck(called.reference, inputs, fast_mode=True, atol=1e-4)


@every_row
def test_the_operator_against_its_reference(row):
    called = Called(row)
    wanted_outputs = called.reference(*called.leaves())
    for name, cotangents in strided(wanted_outputs).items():
        wanted = gradients(called.reference, called.leaves(), cotangents)
        got = gradients(called.operator, called.leaves(), cotangents)
        torch.testing.assert_close(got, wanted, msg=lambda text, name=name: f"{name}: {text}")


@every_row
def test_transforms_and_a_second_use(row):
    called = Called(row)
    cotangents = strided(called.reference(*called.inputs))["dense"]
    wanted = gradients(called.reference, called.leaves(), cotangents)
    _, vjp = torch.func.vjp(called.operator, *called.inputs)
    torch.testing.assert_close(vjp(tuple(cotangents)), wanted)

    def twice(*inputs):
        return tuple(a + b for a, b in zip(
            called.operator(*inputs), called.operator(*inputs), strict=True))  # fmt: skip

    doubled = gradients(twice, called.leaves(), cotangents)
    torch.testing.assert_close(doubled, tuple(2 * g for g in wanted))


@every_row
def test_a_compiled_backward_is_that_of_eager(row):
    called = Called(row)
    cotangents = strided(called.reference(*called.inputs))["dense"]
    wanted = gradients(called.operator, called.leaves(), cotangents)
    torch._dynamo.reset()
    compiled = torch.compile(called.operator, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(gradients(compiled, called.leaves(), cotangents), wanted)
    torch._dynamo.reset()


@pytest.mark.parametrize("name", sorted(WITHOUT))
def test_a_derivative_that_pytorch_lacks_is_named(name):
    called = Called(ROWS[name])
    (output,) = called.operator(*called.leaves())
    with pytest.raises(
        tileops.CallError, match=rf"{ROWS[name].bound.header.operator}: has no grad"
    ):
        output.sum().backward()


@pytest.mark.parametrize(
    "row",
    [
        row for name, row in ROWS.items()
        if row is not None and not tileops.registry.bound(name).header.differentiable
    ],
    ids=lambda row: row.op,
)  # fmt: skip
def test_an_operator_without_gradient_gives_none_or_says_so(row):
    called = Called(row)
    if next(item.written for item in row.bound.header.overloads if item.name == row.overload):
        with pytest.raises(tileops.CallError, match="is written and must not require grad"):
            called.operator(*called.leaves())
        return
    outputs = called.operator(*called.leaves())
    for output in outputs:
        if output.requires_grad:
            with pytest.raises(tileops.CallError, match="has no gradient"):
                output.sum().backward(retain_graph=True)
