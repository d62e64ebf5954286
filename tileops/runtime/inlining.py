"""A call's Triton launches or its reference in the graph that AOT builds.

In: a checked call on functional tensors. Out: its results, its kernels recorded through
torch.library.wrap_triton, so that Inductor makes the launches; or NotImplemented, where the call
keeps its node: no kernel serves it, no driver is there, a kernel takes functions as arguments, or a
launcher or the reference decides by a size that is not known.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from tileops.runtime.dispatch import Dispatcher, allocate
from tileops.runtime.launch import Call
from tileops.runtime.reference import Spec


class _NotInlined(Exception):
    """The launch cannot be part of a graph."""


class _GraphCall(Call):
    """A call whose launches become nodes."""

    __slots__ = ()

    def launch(self, kernel: Any, grid: tuple[int, ...], *args: Any, **options: Any) -> None:
        """Records the launch; grids may be symbolic, and empty when they run."""
        if any(_is_unfit(value) for value in (*args, *options.values())):
            raise _NotInlined
        torch.library.wrap_triton(kernel)[grid](*args, **options)


def _is_unfit(argument: Any) -> bool:
    """Functions, and integers of more than 32 bits, which Inductor takes for narrower ones or, in
    torch 2.11, fails on."""
    return hasattr(argument, "fn") or (type(argument) is int and not -(2**31) <= argument < 2**31)


def inliner(dispatcher: Dispatcher) -> Callable[..., Any]:
    """What records the calls of one overload."""

    def record(
        device: torch.device,
        specs: Sequence[Spec | None],
        tensors: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        capability = _capability(device)
        candidates = dispatcher.kernels(device) if capability else ()
        if not candidates:
            return NotImplemented
        call = _GraphCall(device, capability)
        with _without_guards((*tensors, *keywords.values())):
            outputs = allocate(device, specs)
            for candidate in candidates:
                if candidate.launch(call, *outputs, *tensors, **keywords) is None:
                    return dispatcher.reference.returned(outputs)
        return NotImplemented

    return record


def attempt(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `function` puts into the graph in place of a call, or NotImplemented.

    What it recorded before it met a size that it cannot do without has no users, and goes.
    """
    try:
        return function(*args, **kwargs)
    except _refusals():
        return NotImplemented
    except (TypeError, RuntimeError) as error:
        # A launcher that keeps its plans by size hashes it; one that makes a tensor descriptor asks
        # for an address.
        if not any(text in str(error) for text in ("SymInt", "data pointer")):
            raise
        return NotImplemented


def _capability(device: torch.device) -> tuple[int, int] | None:
    """The compute capability that Triton compiles for; None without a driver."""
    if device.type != "cuda":
        return None
    try:
        driver = importlib.import_module("triton.runtime").driver
        arch = driver.active.get_current_target().arch
    except (ImportError, RuntimeError):
        return None
    return divmod(arch, 10) if isinstance(arch, int) else None


def _refusals() -> tuple[type[Exception], ...]:
    """What ends the recording of a call."""
    # Imported here, since it takes longer than everything else that a first call loads.
    from torch.fx.experimental import symbolic_shapes

    guard_error = getattr(symbolic_shapes, "_ShapeEnvGuardError", _NotInlined)
    return _NotInlined, guard_error, symbolic_shapes.GuardOnDataDependentSymNode


@contextmanager
def _without_guards(arguments: Sequence[Any]) -> Iterator[None]:
    """Refuses a launcher that would decide by a symbolic size: the graph would serve it alone."""
    env = next((env for value in arguments for env in _shape_envs(value)), None)
    if env is None:
        yield
    elif not hasattr(env, "error_on_new_guards"):
        raise _NotInlined
    else:
        # torch warns of every refusal, which here is an answer.
        with env.error_on_new_guards(), _quiet("torch.fx.experimental.symbolic_shapes"):
            yield


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    disabled = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = disabled


def _shape_envs(value: Any) -> Iterator[Any]:
    sizes: Sequence[Any] = ()
    if isinstance(value, torch.Tensor):
        sizes = (*value.shape, *value.stride())
    elif isinstance(value, (tuple, list)):
        sizes = value
    elif isinstance(value, (torch.SymInt, torch.SymFloat)):
        sizes = (value,)
    for size in sizes:
        if isinstance(size, (torch.SymInt, torch.SymFloat)):
            yield size.node.shape_env
