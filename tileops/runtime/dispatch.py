"""From a checked call to its implementation: which one, what it is given, what it gave back.

In: a call that `infer` accepted. Out: its results. Triton launchers write outputs that are allocated
here; the reference returns its results, which are checked and handed on. Where a launcher comes
from is targets.py; how it launches is launch.py.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch

from tileops.runtime import overlap, targets
from tileops.runtime.bound import Bound, Layout
from tileops.runtime.errors import CallError
from tileops.runtime.launch import call_on

logger = logging.getLogger("tileops")

Spec = tuple[Sequence[int], torch.dtype]


@dataclass(frozen=True, slots=True)
class Served:
    """One call that ran: which implementation of which target served it, and who declined, why."""

    operator: str
    overload: str
    device: torch.device
    target: str
    implementation: str
    declined: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A launcher that may serve a call."""

    name: str
    launch: Callable[..., str | None]


_NOBODY: list[tuple[str, str]] = []
_recorder: ContextVar[list[Served] | None] = ContextVar("tileops_served", default=None)
_logged: set[tuple[str, str]] = set()


@contextmanager
def record_implementations() -> Iterator[list[Served]]:
    """Collects a `Served` for every operator that runs inside, compiled graphs included."""
    served: list[Served] = []
    token = _recorder.set(served)
    try:
        yield served
    finally:
        _recorder.reset(token)


class ImplementationError(RuntimeError):
    """An implementation gave something else than its operator declares: a fault of its author."""


class Dispatcher:
    """Serves the calls of one overload."""

    def __init__(self, bound: Bound, layout: Layout) -> None:
        self._bound = bound
        self._layout = layout
        self._subject = bound.header.operator
        self._choices: dict[Any, tuple[str, tuple[Candidate, ...]]] = {}
        self._reference: Callable[..., Any] | None = None
        self._outputs = tuple(output.name for output in bound.operator.outputs)
        targets.on_change(self._choices.clear)

    # Choosing -------------------------------------------------------------------------------

    def _choose(
        self, target: str | None, device: torch.device
    ) -> tuple[str, tuple[Candidate, ...]]:
        """The name of the target and its launchers in order; none means the reference."""
        name = target if target is not None else targets.default_target()
        key = (name, device)
        choice = self._choices.get(key)
        if choice is None:
            chosen = targets.choose(self._subject, name, device)
            choice = (chosen.name, self._candidates(chosen))
            self._choices[key] = choice
        return choice

    def _candidates(self, target: targets.Target) -> tuple[Candidate, ...]:
        op = self._bound.header.op
        if target is targets.EAGER:
            return ()
        if target is targets.TRITON:
            kernels = getattr(self._bound.implementation(), "kernel_types", {})
            return tuple(Candidate(name, _lazy(kernel.path)) for name, kernel in kernels.items())
        if op not in target.implementations:
            having = [t.name for t in targets.targets() if op in t.implementations]
            raise CallError(
                f"{self._subject}: target {target.name!r} does not implement {op}; "
                f"targets that do: {', '.join(['triton', 'eager', *having])}"
            )
        return (Candidate(target.name, target.implementations[op]),)

    def ready(self, device: torch.device) -> bool:
        """Whether the reference serves a call without `target`, with nobody to tell about it."""
        if (
            _recorder.get() is not None
            or targets.default_target() is not None
            or torch.is_autocast_enabled(device.type)
        ):
            return False
        choice = self._choices.get((None, device))
        if choice is None:
            choice = self._choose(None, device)
        return not choice[1]

    def implementation(self, *tensors: Any, **keywords: Any) -> Any:
        """The reference."""
        if self._reference is None:
            self._reference = reference_of(self._bound)
        return self._reference(*tensors, **keywords)

    # Serving --------------------------------------------------------------------------------

    def serve(
        self,
        target: str | None,
        device: torch.device,
        specs: Sequence[Spec | None],
        tensors: tuple[Any, ...],
        keywords: dict[str, Any],
        bound: tuple[torch.Tensor | None, ...] = (),
        unbound: tuple[torch.Tensor, ...] = (),
    ) -> Any:
        """Runs a checked call whose written tensors are not all empty."""
        name, candidates = self._choose(target, device)
        if candidates:
            declined: list[tuple[str, str]] = []
            for candidate in candidates:
                results = self._launch(
                    candidate, declined, device, specs, tensors, keywords, bound, unbound
                )
                if results is not None:
                    self._record(device, name, candidate.name, declined)
                    return self._returned(results)
            self._log(declined)
        else:
            declined = _NOBODY
        results = self._evaluate(True, device, specs, tensors, keywords, bound, unbound)
        if _recorder.get() is not None:
            self._record(device, "eager", "reference", declined)
        return self._returned(results)

    def _launch(
        self,
        candidate: Candidate,
        declined: list[tuple[str, str]],
        device: torch.device,
        specs: Sequence[Spec | None],
        tensors: tuple[Any, ...],
        keywords: dict[str, Any],
        bound: tuple[torch.Tensor | None, ...],
        unbound: tuple[torch.Tensor, ...],
    ) -> list[torch.Tensor | None] | None:
        """The outputs that a launcher wrote, or None when it declined."""
        outputs: list[torch.Tensor | None] = []
        for position, spec in enumerate(specs):
            given = bound[position] if bound else None
            if given is not None and given.is_contiguous():
                outputs.append(given)
            elif spec is None:
                outputs.append(None)
            else:
                outputs.append(torch.empty(spec[0], dtype=spec[1], device=device))
        if self._layout.overload.written:
            tensors, keywords = overlap.separate(self._layout, tensors, keywords, outputs, bound)
        reason = candidate.launch(call_on(device), *outputs, *tensors, **keywords)
        if reason is not None:
            declined.append((candidate.name, reason))
            return None
        for written in (*bound, *unbound):
            if written is not None:
                bump(written)
        for position, given in enumerate(bound):
            output = outputs[position]
            if given is not None and output is not None and output is not given:
                given.copy_(output)
        return outputs

    def evaluate(
        self,
        device: torch.device,
        specs: Sequence[Spec | None],
        tensors: tuple[Any, ...],
        keywords: dict[str, Any],
        bound: tuple[torch.Tensor | None, ...] = (),
        unbound: tuple[torch.Tensor, ...] = (),
    ) -> Any:
        """The call as plain PyTorch, on tensors of any sort, with symbolic sizes too."""
        return self._returned(
            self._evaluate(False, device, specs, tensors, keywords, bound, unbound)
        )

    def _evaluate(
        self,
        real: bool,
        device: torch.device,
        specs: Sequence[Spec | None],
        tensors: tuple[Any, ...],
        keywords: dict[str, Any],
        bound: tuple[torch.Tensor | None, ...],
        unbound: tuple[torch.Tensor, ...],
    ) -> list[torch.Tensor | None]:
        """Calls the reference and checks its results; `real` tensors have memory and sizes."""
        reference = self._reference
        if reference is None:
            reference = self._reference = reference_of(self._bound)
        results = call_reference(reference, device, tensors, keywords)
        return self._checked(real, results, device, specs, tensors, keywords, bound, unbound)

    def finish(
        self,
        results: Any,
        device: torch.device,
        specs: Sequence[Spec | None],
        tensors: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        """Makes of a reference's results what the operator returns, or says what is wrong."""
        return self._returned(
            self._checked(True, results, device, specs, tensors, keywords, (), ())
        )

    def _checked(
        self,
        real: bool,
        results: Any,
        device: torch.device,
        specs: Sequence[Spec | None],
        tensors: tuple[Any, ...],
        keywords: dict[str, Any],
        bound: tuple[torch.Tensor | None, ...],
        unbound: tuple[torch.Tensor, ...],
    ) -> list[torch.Tensor | None]:
        """Checks the results and writes those that go into arguments."""
        if type(results) is not tuple:
            results = () if results is None and not specs else (results,)
        expected = len(specs) + len(unbound)
        if len(results) != expected:
            raise ImplementationError(
                f"{self._subject}: the reference must return {expected} results, "
                f"got {len(results)}"
            )
        checked = [
            None
            if spec is None and result is None
            else self._check(position, result, spec, device, real)
            for position, (result, spec) in enumerate(zip(results, specs, strict=False))
        ]
        if self._layout.overload.written:
            for given, value in zip(bound, checked, strict=False):
                if given is not None and value is not None:
                    given.copy_(value)
            for written, value in zip(unbound, results[len(specs) :], strict=True):
                written.copy_(value)
        if real:
            inputs = (*tensors, *keywords.values())
            return [fresh(result, inputs) for result in checked]
        return checked

    def _check(
        self, position: int, result: Any, spec: Spec | None, device: torch.device, real: bool
    ) -> torch.Tensor:
        """One result against its declaration; a wrong dtype would corrupt memory under Inductor."""
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

    def _returned(self, results: list[torch.Tensor | None]) -> Any:
        returned = self._layout.returned
        if len(returned) == 1:
            return results[returned[0]]
        return tuple(results[position] for position in returned) if returned else None

    def _record(
        self,
        device: torch.device,
        target: str,
        implementation: str,
        declined: Sequence[tuple[str, str]],
    ) -> None:
        served = _recorder.get()
        if served is not None:
            name = self._layout.overload.name
            served.append(
                Served(self._subject, name, device, target, implementation, tuple(declined))
            )

    def _log(self, declined: Sequence[tuple[str, str]]) -> None:
        """One line for each reason, however often it is given."""
        reasons = "; ".join(f"{name}: {reason}" for name, reason in declined)
        if (self._subject, reasons) not in _logged:
            _logged.add((self._subject, reasons))
            logger.info("%s: served by the PyTorch reference (%s)", self._subject, reasons)


def reference_of(bound: Bound) -> Callable[..., Any]:
    """The PyTorch implementation; CallError when the entry is spec-only."""
    return bound.implementation().reference  # type: ignore[attr-defined, no-any-return]


def call_reference(
    reference: Callable[..., Any],
    device: torch.device,
    tensors: Sequence[Any],
    keywords: dict[str, Any],
) -> Any:
    """The reference with its own dtypes: an operator's are declared, and autocast changes none."""
    if torch.is_autocast_enabled(device.type):
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


def bump(tensor: torch.Tensor) -> None:
    """Tells autograd that a raw kernel wrote the tensor; gradients would be silently wrong."""
    if not tensor.is_inference():
        torch.autograd.graph.increment_version(tensor)


def _lazy(path: str) -> Callable[..., str | None]:
    """The launcher at "package.module:function", imported when it is first tried."""
    found: Callable[..., str | None] | None = None

    def launch(*args: Any, **kwargs: Any) -> str | None:
        nonlocal found
        if found is None:
            module, _, function = path.partition(":")
            try:
                found = getattr(importlib.import_module(module), function)
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] != "triton":
                    raise
                return "triton is not installed"
        return found(*args, **kwargs)

    return launch
