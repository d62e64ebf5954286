"""Gradients: an operator's backward is its sibling, or its reference recomputed and differentiated.

In: an overload's layout. Out: the function that its Autograd kernel calls when a gradient is
wanted. The autograd.Function behind it has the ctx form, which an Autograd kernel needs (the
setup_context form fails there), and is built on first use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tileops.runtime import sibling, spread
from tileops.runtime.bound import Bound, Layout
from tileops.runtime.errors import CallError
from tileops.runtime.reference import call_reference

_lock = threading.Lock()
# How torch names a function without derivative.
_NO_DERIVATIVE = "derivative for aten::"


def applier(bound: Bound, layout: Layout, run: Callable[..., Any]) -> Callable[..., Any]:
    """The overload's call with a backward attached; all arguments positional, in schema order."""
    writes = bool(layout.overload.written)
    built: type[torch.autograd.Function] | None = None

    def apply(*args: Any) -> Any:
        nonlocal built
        if writes:
            refuse_writes(bound, layout, args)
        if built is None:
            with _lock:
                if built is None:
                    built = _function(bound, layout, run)
        return built.apply(*args)

    return apply


_plain_keys: dict[int, bool] = {}


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor has the dispatch keys of a fresh one of its device and nothing else.

    Subclasses, wrappers, lazy conjugates and sparse layouts have others, and need the dispatcher.
    """
    keys = torch._C._dispatch_keys(tensor).raw_repr()
    known = _plain_keys.get(keys)
    if known is None:
        known = False
        if tensor.device.type in ("cpu", "cuda"):
            usual = torch.empty(0, device=tensor.device)
            with torch.inference_mode():
                inference = torch.empty(0, device=tensor.device)
            known = keys in (
                torch._C._dispatch_keys(usual).raw_repr(),
                torch._C._dispatch_keys(inference).raw_repr(),
            )
        _plain_keys[keys] = known
    return known


def refuse_writes(bound: Bound, layout: Layout, args: Sequence[Any]) -> None:
    """Raises for a call whose gradient would be lost in a tensor that it writes."""
    subject = bound.header.operator
    written = layout.overload.written
    for argument, value in zip(layout.arguments, args, strict=True):
        if argument.name in written and value.requires_grad:
            raise CallError(
                f"{subject}: {argument.name} is written and must not require grad; "
                "detach it or call under torch.no_grad()"
            )
    kept = [name for name in layout.bound_outputs if name]
    if kept or not layout.returned:
        name = kept[0] if kept else written[0]
        raise CallError(
            f"{subject}: an input requires grad, but {name} is written in place and takes no part "
            "in autograd; call under torch.no_grad()"
        )


def _function(
    bound: Bound, layout: Layout, run: Callable[..., Any]
) -> type[torch.autograd.Function]:
    operator = getattr(bound.packet(), layout.overload.name)
    positional = sum(not a.keyword_only for a in layout.arguments)
    keyword_names = tuple(a.name for a in layout.arguments if a.keyword_only)
    tensor_positions = tuple(i for i, a in enumerate(layout.arguments) if a.is_tensor)
    written = layout.overload.written
    written_positions = {i for i, a in enumerate(layout.arguments) if a.name in written}
    by_sibling = sibling.gradient(bound, layout) if bound.header.differentiable else None
    if bound.header.differentiable:
        backward = _backward(bound, layout, by_sibling)
    else:
        backward = _refusal(bound)
    holds = bool(spread.objects(bound.operator))

    def forward(ctx: Any, *args: Any) -> Any:
        ctx.set_materialize_grads(False)
        ctx.present = present = [i for i in tensor_positions if args[i] is not None]
        # The backward needs what a written input held before the call.
        saved = [args[i].clone() if i in written_positions else args[i] for i in present]
        rest = list(args)
        for i in tensor_positions:
            rest[i] = None
        ctx.rest = rest
        ctx.objects = spread.given() if holds else None
        keywords = dict(zip(keyword_names, args[positional:], strict=True))
        if torch._C._len_torch_dispatch_stack() == 0 and all(is_plain(args[i]) for i in present):
            result = run(*args[:positional], **keywords)
        else:
            with torch._C._AutoDispatchBelowAutograd():
                result = operator(*args[:positional], **keywords)
        codes = _codes(result)
        if codes:
            ctx.mark_non_differentiable(*codes)
        results = result if isinstance(result, tuple) else (result,)
        ctx.device = next((t.device for t in results if t is not None), None)
        if by_sibling is not None:
            saved += results
        ctx.save_for_backward(*saved)
        return result

    name = f"{bound.header.op}_{layout.overload.name}"
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (torch.autograd.Function,), members)


def _codes(result: Any) -> list[torch.Tensor]:
    """The results that are codes beside other floats: eight-bit ones, which are no more a function
    to differentiate than integers are."""
    if type(result) is not tuple:
        return []
    floats = [item for item in result if item is not None and item.is_floating_point()]
    codes = [item for item in floats if item.dtype.itemsize == 1]
    return codes if len(codes) < len(floats) else []


def _refusal(bound: Bound) -> Callable[..., Any]:
    def backward(ctx: Any, *grads: Any) -> Any:
        raise _no_gradient(bound)

    return backward


def _no_gradient(bound: Bound) -> CallError:
    return CallError(
        f"{bound.header.operator}: has no gradient, since its outputs are integers, booleans or "
        "quantized; call it under torch.no_grad() or on detached inputs"
    )


def transform_refusal(bound: Bound) -> Callable[[Sequence[Any]], None]:
    """For an operator without gradient: raises when a tensor is being differentiated by torch.func
    or carries a tangent; rounding would otherwise give zeros. vmap alone passes."""

    def refuse(tensors: Sequence[Any]) -> None:
        levels = _differentiating_levels()
        for tensor in tensors:
            if tensor is not None and (_is_differentiated(tensor, levels) or _has_tangent(tensor)):
                raise _no_gradient(bound)

    return refuse


def _differentiating_levels() -> frozenset[int]:
    functorch = torch._C._functorch
    kinds = (functorch.TransformType.Grad, functorch.TransformType.Jvp)
    stack = functorch.get_interpreter_stack() or ()
    return frozenset(layer.level() for layer in stack if layer.key() in kinds)


def _is_differentiated(tensor: torch.Tensor, levels: frozenset[int]) -> bool:
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(tensor):
        if functorch.maybe_get_level(tensor) in levels:
            return True
        tensor = functorch.get_unwrapped(tensor)
    return False


def _has_tangent(tensor: torch.Tensor) -> bool:
    forward_ad = torch.autograd.forward_ad
    return forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None


def _backward(
    bound: Bound, layout: Layout, by_sibling: sibling.Gradient | None
) -> Callable[..., Any]:
    evaluate = _evaluator(bound, layout)
    returned = layout.returned

    def backward(ctx: Any, *grads: Any) -> Any:
        wanted = [i for i in ctx.present if ctx.needs_input_grad[i]]
        answer: list[Any] = [None] * len(ctx.rest)
        if all(grad is None for grad in grads):
            return tuple(answer)
        # Grad mode in a backward means that it will be differentiated itself.
        again = torch.is_grad_enabled()
        args = list(ctx.rest)
        saved_inputs = ctx.saved_tensors[: len(ctx.present)]
        if by_sibling is not None and not again:
            for position, saved in zip(ctx.present, saved_inputs, strict=True):
                args[position] = saved
            outputs = ctx.saved_tensors[len(ctx.present) :]
            with spread.giving(ctx.objects or {}):
                gradients = by_sibling(args, outputs, grads, wanted)
            if gradients is not None:
                for i, gradient in zip(wanted, gradients, strict=True):
                    answer[i] = gradient
                return tuple(answer)
        with torch.enable_grad(), spread.giving(ctx.objects or {}):
            for position, saved in zip(ctx.present, saved_inputs, strict=True):
                if position not in wanted:
                    args[position] = saved.detach()
                elif again:
                    args[position] = saved.view_as(saved)
                else:
                    args[position] = saved.detach().requires_grad_()
            outputs = evaluate(args, ctx.device)
            pairs = [
                (outputs[position], grad)
                for position, grad in zip(returned, grads, strict=True)
                if grad is not None and outputs[position].requires_grad
            ]
            if not pairs:
                # What the gradient arrives for depends on none of the inputs that want one.
                for i in wanted:
                    answer[i] = torch.zeros_like(args[i])
                return tuple(answer)
            try:
                found = torch.autograd.grad(
                    [output for output, _ in pairs],
                    [args[i] for i in wanted],
                    [grad for _, grad in pairs],
                    create_graph=again,
                    allow_unused=True,
                    materialize_grads=True,
                )
            except RuntimeError as error:
                if _NO_DERIVATIVE not in str(error):
                    raise
                raise CallError(
                    f"{bound.header.operator}: has no gradient, since PyTorch has none of what it "
                    f"is computed by: {error}"
                ) from None
        for i, gradient in zip(wanted, found, strict=True):
            answer[i] = gradient
        return tuple(answer)

    return backward


def _evaluator(bound: Bound, layout: Layout) -> Callable[..., tuple[Any, ...]]:
    """The reference on the overload's arguments in schema order; its outputs as a tuple."""
    split = layout.split()

    def evaluate(args: Sequence[Any], device: torch.device) -> tuple[Any, ...]:
        reference = bound.implementation().reference  # type: ignore[attr-defined]
        tensors = [args[i] for i in split.positional]
        keywords = {item.name: item.of(args) for item in split.keywords}
        results = call_reference(reference, device, tensors, keywords, layout.placed)
        return results if type(results) is tuple else (results,)

    return evaluate
