"""The reference as an implementation: called, its results checked, and put where they belong.

In: a checked call. Out: one result per output. The reference writes nothing: after its outputs it
returns the new values of the written inputs that no output is, and this module copies them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tileops.runtime.bound import Bound, Layout

Spec = tuple[Sequence[int], torch.dtype]
Results = list[torch.Tensor | None]


class ImplementationError(RuntimeError):
    """An implementation gave something else than its operator declares: a fault of its author."""


class Reference:
    """The reference of one overload."""

    def __init__(self, bound: Bound, layout: Layout) -> None:
        self._bound = bound
        self._layout = layout
        self._subject = bound.header.operator
        self._outputs = tuple(output.name for output in bound.operator.outputs)
        self._function: Callable[..., Any] | None = None

    def __call__(self, *tensors: Any, **keywords: Any) -> Any:
        """The reference itself; CallError when the entry is spec-only."""
        if self._function is None:
            self._function = self._bound.implementation().reference  # type: ignore[attr-defined]
        return self._function(*tensors, **keywords)

    def plain(
        self,
        device: torch.device,
        specs: Sequence[Spec | None],
        tensors: tuple[Any, ...],
        keywords: dict[str, Any],
        bound: tuple[torch.Tensor | None, ...] = (),
        unbound: tuple[torch.Tensor, ...] = (),
    ) -> Any:
        """The call as plain PyTorch, on tensors of any sort, with symbolic sizes too."""
        results = call_reference(self, device, tensors, keywords, self._layout.placed)
        return self.returned(self._place(False, results, device, specs, bound, unbound))

    def real(
        self,
        device: torch.device,
        specs: Sequence[Spec | None],
        tensors: tuple[Any, ...],
        keywords: dict[str, Any],
        bound: tuple[torch.Tensor | None, ...] = (),
        unbound: tuple[torch.Tensor, ...] = (),
    ) -> Any:
        """The call on tensors that have memory and sizes."""
        results = call_reference(self, device, tensors, keywords, self._layout.placed)
        return self.finish(results, device, specs, tensors, keywords, bound, unbound)

    def finish(
        self,
        results: Any,
        device: torch.device,
        specs: Sequence[Spec | None],
        tensors: tuple[Any, ...],
        keywords: dict[str, Any],
        bound: tuple[torch.Tensor | None, ...] = (),
        unbound: tuple[torch.Tensor, ...] = (),
    ) -> Any:
        """Makes of what the reference returned what the operator returns, or says what is wrong."""
        placed = self._place(True, results, device, specs, bound, unbound)
        inputs = (*tensors, *keywords.values())
        return self.returned([fresh(result, inputs) for result in placed])

    def returned(self, results: Results) -> Any:
        """The results that the overload returns, in the form that torch expects."""
        positions = self._layout.returned
        if len(positions) == 1:
            return results[positions[0]]
        return tuple(results[position] for position in positions) if positions else None

    def _place(
        self,
        real: bool,
        results: Any,
        device: torch.device,
        specs: Sequence[Spec | None],
        bound: tuple[torch.Tensor | None, ...],
        unbound: tuple[torch.Tensor, ...],
    ) -> Results:
        """Checks the results and writes those that go into arguments."""
        if type(results) is not tuple:
            results = () if results is None and not specs else (results,)
        expected = len(specs) + len(unbound)
        if len(results) != expected:
            raise ImplementationError(
                f"{self._subject}: the reference must return {expected} results, got {len(results)}"
            )
        placed = [
            self._check(position, result, spec, device, real)
            for position, (result, spec) in enumerate(zip(results, specs, strict=False))
        ]
        for given, value in zip(bound, placed, strict=False):
            if given is not None and value is not None:
                given.copy_(value)
        for written, value in zip(unbound, results[len(specs) :], strict=True):
            written.copy_(value)
        return placed

    def _check(
        self, position: int, result: Any, spec: Spec | None, device: torch.device, real: bool
    ) -> torch.Tensor | None:
        """One result against its declaration; a wrong dtype would corrupt memory under Inductor."""
        if spec is None and result is None:
            return None
        if (
            spec is not None
            and isinstance(result, torch.Tensor)
            and result.dtype is spec[1]
            and result.device == device
            # Comparing symbolic sizes would guard on them.
            and (result.shape == spec[0] if real else result.dim() == len(spec[0]))
        ):
            return result if result.is_contiguous() else result.contiguous()
        name = self._outputs[position]
        if spec is None or not isinstance(result, torch.Tensor):
            wanted = "None" if spec is None else "a tensor"
            raise ImplementationError(
                f"{self._subject}: the reference must give {wanted} for {name}, got {type(result)}"
            )
        raise ImplementationError(
            f"{self._subject}: the reference must give {spec[1]}{list(spec[0])} on {device} for "
            f"{name}, got {result.dtype}{list(result.shape)} on {result.device}"
        )


def autocast_is_on(device: torch.device) -> bool:
    """Whether autocast would change dtypes on that device."""
    kind = device.type
    return kind in ("cpu", "cuda") and torch.is_autocast_enabled(kind)


def call_reference(
    reference: Callable[..., Any],
    device: torch.device,
    tensors: Sequence[Any],
    keywords: dict[str, Any],
    placed: bool = False,
) -> Any:
    """The reference with its own dtypes: an operator's are declared, and autocast changes none.

    `placed`: the call device is the default one meanwhile, where no argument may tell which it is.
    """
    if placed:
        with device:
            return call_reference(reference, device, tensors, keywords)
    if autocast_is_on(device):
        with torch.autocast(device.type, enabled=False):
            return reference(*tensors, **keywords)
    return reference(*tensors, **keywords)


def fresh(result: torch.Tensor | None, inputs: Sequence[Any]) -> torch.Tensor | None:
    """The result, or a copy of it when it is an input or a view of one: none may be returned."""
    if result is None:
        return None
    shared = any(value is result for value in inputs)
    # Inference tensors do not know whether they are views.
    if not shared and (result._is_view() or result.is_inference()):
        shared = not own_memory(result, *inputs)
    return result.clone() if shared else result


def own_memory(result: torch.Tensor, *inputs: Any) -> bool:
    """Whether the result shares no storage with an input."""
    memory = result.untyped_storage().data_ptr()
    return not any(
        isinstance(value, torch.Tensor) and value.untyped_storage().data_ptr() == memory
        for value in inputs
    )
