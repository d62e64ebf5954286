"""From a checked call to its implementation: which one, what it is given, what it gave back.

In: a call that `infer` accepted. Out: its results. Triton launchers write outputs that are
allocated here; the reference returns its results (reference.py). Where a launcher comes from is
targets.py; how it launches is launch.py.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch

from tileops.runtime import overlap, relaunch, targets
from tileops.runtime.bound import Bound, Layout
from tileops.runtime.errors import CallError
from tileops.runtime.launch import call_on
from tileops.runtime.reference import ImplementationError, Reference, Results, Spec

logger = logging.getLogger("tileops")


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


_recorder: ContextVar[list[Served] | None] = ContextVar("tileops_served", default=None)
_logged: set[tuple[str, str]] = set()


@contextmanager
def record_implementations() -> Iterator[list[Served]]:
    """Collects a `Served` for every operator that runs inside, compiled graphs included."""
    served: list[Served] = []
    token = _recorder.set(served)
    targets.attention.change(1)
    try:
        yield served
    finally:
        targets.attention.change(-1)
        _recorder.reset(token)


class Dispatcher:
    """Serves the calls of one overload."""

    def __init__(self, bound: Bound, layout: Layout) -> None:
        self._bound = bound
        self._layout = layout
        self._keyword_tensors = layout.keyword_tensors()
        self._subject = bound.header.operator
        self._choices: dict[Any, tuple[str, tuple[Candidate, ...]]] = {}
        #: The launches of earlier calls, by what they depend on.
        self.kept = relaunch.KeptLaunches()
        self.reference = Reference(bound, layout)
        #: Devices whose calls without any target the reference serves.
        self.by_reference: set[torch.device] = set()
        targets.on_change(self._choices.clear)
        targets.on_change(self.by_reference.clear)
        targets.on_change(self.kept.forget)

    # Choosing -------------------------------------------------------------------------------

    def kernels(self, device: torch.device) -> tuple[Candidate, ...]:
        """The Triton launchers that are tried for calls on `device`."""
        name, candidates = self._choose(None, device)
        return candidates if name == targets.TRITON.name else ()

    def _choose(
        self, target: str | None, device: torch.device
    ) -> tuple[str, tuple[Candidate, ...]]:
        """The name of the target and its launchers in order; none means the reference."""
        name = target if target is not None else targets.default_target()
        key = (name, device)
        choice = self._choices.get(key)
        if choice is None:
            chosen = targets.choose(self._subject, name, device)
            choice = (chosen.name, self._candidates(chosen, name is not None))
            self._choices[key] = choice
            if name is None and not choice[1]:
                self.by_reference.add(device)
        return choice

    def _candidates(self, target: targets.Target, named: bool) -> tuple[Candidate, ...]:
        op = self._bound.header.op
        if target is targets.EAGER:
            return ()
        kernels = getattr(self._bound.implementation(), "kernel_types", {})
        if target is targets.TRITON and (kernels or not named):
            return tuple(Candidate(name, _lazy(kernel.load)) for name, kernel in kernels.items())
        if op not in target.implementations:
            having = [targets.TRITON.name] if kernels else []
            having += [targets.EAGER.name]
            having += [t.name for t in targets.targets() if op in t.implementations]
            raise CallError(
                f"{self._subject}: target {target.name!r} does not implement {op}; "
                f"targets that do: {', '.join(having)}"
            )
        return (Candidate(target.name, target.implementations[op]),)

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
        *,
        key: Hashable = None,
    ) -> Any:
        """Runs a checked call whose written tensors are not all empty.

        `key` is what the launches of a call depend on, where they may be kept.
        """
        name, candidates = self._choose(target, device)
        declined: list[tuple[str, str]] = []
        if candidates:
            outputs = allocate(device, specs, bound)
            if self._layout.overload.written:
                sources = overlap.separate(self._layout, tensors, keywords, outputs, bound)
                if not _same(sources[0], tensors) or not _same(
                    sources[1].values(), keywords.values()
                ):
                    key = None
                tensors, keywords = sources
            if name != targets.TRITON.name:
                key = None
            served = self._launch(name, candidates, key, device, outputs, tensors, keywords)
            if not isinstance(served, list):
                _written(outputs, bound, unbound)
                self._record(device, name, *served)
                return self.reference.returned(outputs)
            declined = served
            self._log(declined)
        result = self.reference.real(device, specs, tensors, keywords, bound, unbound)
        if _recorder.get() is not None:
            self._record(device, "eager", "reference", declined)
        return result

    def _launch(
        self,
        target: str,
        candidates: Sequence[Candidate],
        key: Hashable,
        device: torch.device,
        outputs: Results,
        tensors: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> tuple[str, Sequence[tuple[str, str]]] | list[tuple[str, str]]:
        """Which candidate served and who declined before it, or the list of who all declined."""
        call = call_on(device)
        memory: tuple[Any, ...] = ()
        if key is not None:
            others = [keywords[name] for name in self._keyword_tensors]
            memory = relaunch.memory(outputs, (*tensors, *others))
            kept = self.kept.find(key)
            if kept is not None:
                kept.again(memory)
                return kept.implementation, kept.declined
            call = relaunch.RecordingCall(device, call.capability)
        declined: list[tuple[str, str]] = []
        for candidate in candidates:
            reason = candidate.launch(call, *outputs, *tensors, **keywords)
            if reason is None:
                if isinstance(call, relaunch.RecordingCall):
                    served = (candidate.name, tuple(declined))
                    returned = self.reference.returned
                    self.kept.keep(key, call, served, memory, len(outputs), returned)
                return candidate.name, declined
            if not isinstance(reason, str):
                raise ImplementationError(
                    f"{self._subject}: {candidate.name} of target {target!r} must write its "
                    "outputs and return None, or a reason to decline, got "
                    f"{type(reason).__name__}"
                )
            declined.append((candidate.name, reason))
        return declined

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


def allocate(
    device: torch.device,
    specs: Sequence[Spec | None],
    bound: tuple[torch.Tensor | None, ...] = (),
) -> Results:
    """What a launcher writes: contiguous tensors, the passed ones where they are."""
    outputs: Results = []
    for position, spec in enumerate(specs):
        given = bound[position] if bound else None
        if given is not None and given.is_contiguous():
            outputs.append(given)
        elif spec is None:
            outputs.append(None)
        else:
            outputs.append(torch.empty(spec[0], dtype=spec[1], device=device))
    return outputs


def _same(these: Iterable[Any], those: Iterable[Any]) -> bool:
    return all(this is that for this, that in zip(these, those, strict=True))


def _written(
    outputs: Results,
    bound: tuple[torch.Tensor | None, ...],
    unbound: tuple[torch.Tensor, ...],
) -> None:
    """After a launch: passed tensors that are not contiguous get their values; all are newer."""
    for written in (*bound, *unbound):
        if written is not None:
            bump(written)
    for given, output in zip(bound, outputs, strict=False):
        if given is not None and output is not None and output is not given:
            given.copy_(output)


def bump(tensor: torch.Tensor) -> None:
    """Tells autograd that a raw kernel wrote the tensor; gradients would be silently wrong."""
    if not tensor.is_inference():
        torch.autograd.graph.increment_version(tensor)


def _lazy(load: Callable[[], Callable[..., str | None]]) -> Callable[..., str | None]:
    """A kernel's launcher, imported when it is first tried."""
    found: Callable[..., str | None] | None = None

    def launch(*args: Any, **kwargs: Any) -> str | None:
        nonlocal found
        if found is None:
            try:
                found = load()
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] != "triton":
                    raise
                return "triton is not installed"
        return found(*args, **kwargs)

    return launch
