"""What a compiled model relies on, one function per property, each on one call.

In: a `Call`. Out: the result, or `CheckFailed` with one sentence. Every check starts cold: Dynamo
is reset, and no compile cache is read.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tileops.testing.call import Call
from tileops.testing.faults import CheckFailed, Fault
from tileops.testing.inductor import know_the_machine
from tileops.testing.tensors import layouts

__all__ = [
    "CheckFailed",
    "check_dynamic",
    "check_fake",
    "check_inductor",
    "check_opcheck",
    "check_opcheck_of_node",
    "check_static",
    "check_unbacked",
    "cold",
    "fake_result",
    "variants",
]

Backend = Callable[[Any, Any], Any]


@contextmanager
def cold() -> Iterator[None]:
    """Nothing compiled before counts: Dynamo starts anew, and caches on disk are not read."""
    torch._dynamo.reset()
    with torch._inductor.config.patch(force_disable_caches=True):
        yield
    torch._dynamo.reset()


class Frames:
    """A backend that keeps the graphs it is given and runs them as they are, or as `inner` does."""

    def __init__(self, inner: str | None = None) -> None:
        self.graphs: list[torch.fx.Graph] = []
        self._inner = inner

    def __call__(self, module: Any, inputs: Any) -> Any:
        self.graphs.append(module.graph)
        if self._inner is None:
            return module.forward
        if self._inner == "inductor":
            know_the_machine()
        return torch._dynamo.lookup_backend(self._inner)(module, inputs)


def check_static(call: Call, *, backend: str | None = None, callee: Any = None) -> Any:
    """A cold compile with fullgraph=True gives one graph with one node, the operator's own."""
    frames = Frames(backend)
    with cold():
        result = _run(call, frames, callee, dynamic=False)
    _one_own_node(call, frames)
    return result


def check_dynamic(
    calls: Sequence[Call], *, backend: str | None = None, callee: Any = None
) -> list[Any]:
    """Calls that differ in sizes share one frame under dynamic=True."""
    frames = Frames(backend)
    with cold():
        compiled = torch.compile(
            calls[0].function(callee), backend=frames, fullgraph=True, dynamic=True
        )
        results = [_invoke(call, compiled) for call in calls]
    if len(frames.graphs) != 1:
        raise CheckFailed(
            f"{_name(calls[0])}: {len(calls)} sizes must be one frame, got {len(frames.graphs)};"
            " the fake or the class branches on a size, or takes it as a number",
            Fault.FRAMES,
        )
    _one_own_node(calls[0], frames)
    return results


def check_unbacked(call: Call, *, backend: str | None = None, callee: Any = None) -> Any:
    """The call compiles when nothing is known of the sizes that its `unbacked` names."""
    frames = Frames(backend)
    axes: dict[str, list[int]] = {}
    for name, axis in call.unbacked:
        axes.setdefault(name, []).append(axis)

    def mark(name: str, tensor: torch.Tensor) -> torch.Tensor:
        if name not in axes:
            return tensor
        twin = tensor.detach()
        for axis in axes[name]:
            torch._dynamo.decorators.mark_unbacked(twin, axis)
        return twin

    with cold():
        try:
            result = _run(call.with_tensors(mark), frames, callee, dynamic=None)
        except CheckFailed as error:
            error.fault = Fault.UNBACKED
            raise
    _one_own_node(call, frames)
    return result


def check_fake(call: Call) -> list[torch.Tensor | None]:
    """The fake's shape, dtype, strides and device are those of the real results, which are fresh;
    nothing but what the schema declares is written. Returns the real results."""
    faked = fake_result(call)
    before = call.cloned()
    real = _flat(call())
    _same_metadata(call, faked, real, "the fake")
    _fresh(call, real)
    for name, tensor in call.tensors.items():
        if name not in call.written and not _same_bits(tensor, before.tensors[name]):
            raise CheckFailed(
                f"{_name(call)}: {name} must be declared as written, the call changes it",
                Fault.WRITE,
            )
    return real


def check_inductor(call: Call) -> None:
    """Compiled by Inductor, the call gives what the eager one gives, written arguments included.

    The metadata is compared first: a real result that differs from its fake corrupts memory.
    """
    eager = call.cloned()
    expected = check_fake(eager)
    got = call.cloned()
    result = _flat(check_static(got, backend="inductor"))
    _same_metadata(call, expected, result, "the eager call")
    pairs = [(f"result {at}", *pair) for at, pair in enumerate(zip(result, expected, strict=True))]
    pairs += [(name, got.tensors[name], eager.tensors[name]) for name in call.tensors]
    for name, left, right in pairs:
        if left is None or right is None:
            continue
        try:
            torch.testing.assert_close(*_comparable(left, right), equal_nan=True)
        except AssertionError as error:
            raise CheckFailed(
                f"{_name(call)}: {name} must have the eager call's values when compiled: "
                + str(error).partition("\n\n")[0],
                Fault.VALUES,
            ) from None


def check_opcheck(call: Call, traced: bool = True) -> None:
    """torch.library.opcheck, and the aliasing that it does not look at.

    Without `traced` its AOT trace is left out.
    """
    try:
        results = _flat(call.cloned()())
    except Exception as error:
        raise CheckFailed(
            f"{_name(call)}: the real call must succeed, got {type(error).__name__}: {error}",
            Fault.RESULT,
        ) from error
    _fresh(call, results)
    if any(t is not None and _differentiable(t) and bool(t.isnan().any()) for t in results):
        # opcheck takes a NaN for another one: off to where a logarithm is a number.
        call = call.with_tensors(lambda _, t: t.detach().abs().requires_grad_(t.requires_grad))
    tests = _opchecks(call, results, traced)
    try:
        torch.library.opcheck(call.overload, call.args, dict(call.kwargs), test_utils=tests)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise CheckFailed(
            f"{_name(call)}: must pass opcheck, got {reason[:600]}", Fault.OPCHECK
        ) from error


def check_opcheck_of_node(call: Call) -> None:
    """What opcheck finds without tracing, which all calls of one graph need but once."""
    check_opcheck(call, traced=False)


def variants(call: Call, keep: Sequence[str] = ()) -> Iterator[tuple[str, Call]]:
    """The call with its tensors laid out otherwise, and requiring grad.

    `keep` names the arguments that must be contiguous.
    """
    yield "contiguous", call
    movable = {name: tensor for name, tensor in call.tensors.items() if name not in keep}
    for wanted in dict.fromkeys(way for tensor in movable.values() for way, _ in layouts(tensor)):
        yield (
            wanted,
            call.with_tensors(
                lambda name, t, way=wanted: dict(layouts(t)).get(way, t) if name in movable else t
            ),
        )
    floating = [t for t in call.tensors.values() if _differentiable(t)]
    if floating and not call.written:
        yield (
            "requires grad",
            call.with_tensors(
                lambda _, t: t.detach().clone().requires_grad_() if _differentiable(t) else t
            ),
        )


def fake_result(call: Call) -> list[torch.Tensor | None]:
    """What the operator's fake says of the call."""
    mode = FakeTensorMode()
    with mode:
        return _flat(call.with_tensors(lambda _, t: mode.from_tensor(t, static_shapes=True))())


# --- parts ----------------------------------------------------------------------------------------


def _run(call: Call, frames: Frames, callee: Any, dynamic: bool | None) -> Any:
    compiled = torch.compile(call.function(callee), backend=frames, fullgraph=True, dynamic=dynamic)
    return _invoke(call, compiled)


def _invoke(call: Call, compiled: Callable[..., Any]) -> Any:
    try:
        return compiled(*call.moving())
    except Exception as error:
        reason = " ".join(str(error).split())
        raise CheckFailed(
            f"{_name(call)}: must compile with fullgraph=True, got {type(error).__name__}: "
            f"{reason[:2000]}",
            Fault.GRAPH,
        ) from error


def _one_own_node(call: Call, frames: Frames) -> None:
    if len(frames.graphs) != 1:
        raise CheckFailed(
            f"{_name(call)}: must be one graph, got {len(frames.graphs)}", Fault.GRAPH
        )
    packet = call.overload._schema.name.replace("::", ".")
    own, other = [], []
    for node in frames.graphs[0].nodes:
        if node.op in ("placeholder", "output", "get_attr"):
            continue
        target = str(node.target)
        if target == packet or target.startswith(packet + "."):
            own.append(target)
        elif not _is_bookkeeping(node):
            other.append(target)
    if len(own) != 1 or other:
        raise CheckFailed(
            f"{_name(call)}: the graph must hold one node, its own, got {own + other}",
            Fault.NODES,
        )


def _opchecks(call: Call, results: Sequence[torch.Tensor | None], traced: bool) -> tuple[str, ...]:
    """opcheck's tests; two do arithmetic that torch lacks: that of schemas with eight-bit floats as
    inputs, and that of gradients with them as results, or with codes beside floats."""
    given = call.tensors.values()
    found = ["test_autograd_registration", "test_faketensor"]
    if not any(map(_is_eight_bit, given)):
        found.append("test_schema")
    kinds = {t.is_floating_point() for t in results if t is not None}
    summed = len(kinds) < 2 and not any(map(_is_eight_bit, results))
    if traced and (summed or not any(t.requires_grad for t in given)):
        found.append("test_aot_dispatch_dynamic")
    return tuple(found)


def _is_eight_bit(tensor: torch.Tensor | None) -> bool:
    return tensor is not None and tensor.is_floating_point() and tensor.dtype.itemsize == 1


def _is_bookkeeping(node: torch.fx.Node) -> bool:
    """Taking a result out of a tuple, arithmetic on sizes, and what is asserted about them.

    Under dynamic=True a float that a class holds is such a number too, read by an `item` node.
    """
    if node.target is operator.getitem:
        return True
    value = node.meta.get("example_value")
    number = isinstance(value, int | torch.SymInt | torch.SymBool | torch.SymFloat)
    return number or str(node.target).startswith("aten._assert_scalar")


def _same_metadata(call: Call, wanted: Sequence[Any], got: Sequence[Any], whose: str) -> None:
    fault = Fault.RESULT if whose == "the fake" else Fault.VALUES
    if len(wanted) != len(got):
        raise CheckFailed(
            f"{_name(call)}: must return {len(wanted)} results as {whose} does, got {len(got)}",
            fault,
        )
    for at, (left, right) in enumerate(zip(wanted, got, strict=True)):
        if left is None or right is None:
            if left is not right:
                raise CheckFailed(
                    f"{_name(call)}: result {at} must be None exactly where {whose} has None",
                    fault,
                )
            continue
        for what, a, b in (
            ("shape", tuple(left.shape), tuple(right.shape)),
            ("dtype", left.dtype, right.dtype),
            ("strides", _strides(left), _strides(right)),
            ("device", left.device, right.device),
        ):
            if a != b:
                raise CheckFailed(
                    f"{_name(call)}: the {what} of result {at} must be {a} as {whose} has it,"
                    f" got {b}",
                    fault,
                )


def _strides(tensor: torch.Tensor) -> tuple[int, ...]:
    """The strides that address something: Inductor compares no others."""
    if tensor.numel() == 0:
        return ()
    return tuple(s for n, s in zip(tensor.shape, tensor.stride(), strict=True) if n != 1)


def _fresh(call: Call, results: Sequence[torch.Tensor | None]) -> None:
    """No result shares storage with an argument or another result."""
    seen = {
        tensor.untyped_storage()._cdata: name
        for name, tensor in call.tensors.items()
        if tensor.numel()
    }
    for at, result in enumerate(results):
        if result is None or not result.numel():
            continue
        memory = result.untyped_storage()._cdata
        if memory in seen:
            raise CheckFailed(
                f"{_name(call)}: result {at} must have memory of its own, it shares that of"
                f" {seen[memory]}",
                Fault.MEMORY,
            )
        seen[memory] = f"result {at}"


def _flat(results: Any) -> list[torch.Tensor | None]:
    if results is None:
        return []
    return list(results) if isinstance(results, tuple | list) else [results]


def _same_bits(left: torch.Tensor, right: torch.Tensor) -> bool:
    left, right = left.detach().contiguous(), right.detach().contiguous()
    if not left.numel():
        return True
    if left.dim() == 0:
        left, right = left.reshape(1), right.reshape(1)
    return torch.equal(left.view(torch.uint8), right.view(torch.uint8))


def _comparable(left: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Eight-bit floats are compared as wider ones."""
    if left.dtype.is_floating_point and left.dtype.itemsize == 1:
        return left.float(), right.float()
    return left, right


def _differentiable(tensor: torch.Tensor) -> bool:
    floating = tensor.is_floating_point() and not _is_eight_bit(tensor)
    return floating or tensor.is_complex()


def _name(call: Call) -> str:
    return str(call.overload._schema.name)
