"""Targets: named sets of implementations, and which one serves a call.

In: the call's device and `target` argument. Out: a `Target`. In-tree are `triton` and `eager`; a
package adds its own with `register_target` or an entry point of the group "tileops.targets".
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import Any

import torch

from tileops.runtime import cache_tag
from tileops.runtime.errors import CallError

logger = logging.getLogger("tileops")

ENTRY_POINT_GROUP = "tileops.targets"


@dataclass(frozen=True, slots=True)
class Target:
    """A named set of implementations and the device classes that it serves.

    `implementations` maps class names ("RMSNormFwdOp") to launchers: functions of the call, the
    allocated outputs, the inputs, and the parameters by keyword, which return None when they served
    the call, else a reason. `detect` claims a device when no target is asked for.
    """

    name: str
    devices: tuple[str, ...]
    implementations: Mapping[str, Callable[..., str | None]] = field(default_factory=dict)
    detect: Callable[[torch.device], bool] | None = None

    def serves(self, device_type: str) -> bool:
        """Whether tensors of that device class may be handed to this target."""
        if device_type in self.devices:
            return True
        return self.name == "triton" and device_type == "cpu" and interpreting()


def interpreting() -> bool:
    """Whether Triton runs its interpreter, which takes CPU tensors."""
    return os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on", "yes")


TRITON = Target("triton", ("cuda",))
EAGER = Target("eager", ("cpu", "cuda"))

_lock = threading.RLock()
_targets: dict[str, Target] = {TRITON.name: TRITON, EAGER.name: EAGER}
_detectors: tuple[Target, ...] = ()
_discovered = False
_broken: dict[str, str] = {}
_UNSET = "\0"
_process_default: str | None = None
_context_default: ContextVar[str | None] = ContextVar("tileops_target", default=_UNSET)
_listeners: list[Callable[[], None]] = []


def register_target(target: Target) -> None:
    """Adds a target; the same one again is a no-op, another of its name an error."""
    global _detectors
    with _lock:
        known = _targets.get(target.name)
        if known is target:
            return
        if known is not None:
            raise ValueError(f"target {target.name!r} is already registered")
        _targets[target.name] = target
        if target.detect is not None:
            _detectors = (*_detectors, target)
        _changed()


def unregister_target(name: str) -> None:
    """Takes a third-party target away again."""
    global _detectors
    with _lock:
        if name in (TRITON.name, EAGER.name):
            raise ValueError(f"target {name!r} is part of tileops")
        _targets.pop(name, None)
        _detectors = tuple(target for target in _detectors if target.name != name)
        _changed()


def on_change(listener: Callable[[], None]) -> None:
    """Calls `listener` whenever a target comes or goes, so that it can drop what it cached."""
    _listeners.append(listener)


def _changed() -> None:
    for listener in _listeners:
        listener()


def _discover() -> None:
    """Reads the entry points, once, on the first choice and never at import."""
    global _discovered
    if _discovered:
        return
    with _lock:
        if _discovered:
            return
        # Imported on first use: it costs a fifth of a registration.
        from importlib import metadata

        for point in metadata.entry_points(group=ENTRY_POINT_GROUP):
            try:
                loaded = point.load()
                register_target(loaded if isinstance(loaded, Target) else loaded())
            except Exception as error:
                # Somebody's broken package must not keep every other call from running.
                _broken[point.name] = f"{type(error).__name__}: {error}".partition("\n")[0]
                logger.warning("target %s could not be loaded: %s", point.name, _broken[point.name])
        _discovered = True


def targets() -> tuple[Target, ...]:
    """Every target there is, in-tree ones first."""
    _discover()
    return tuple(_targets.values())


class Attention:
    """How many things ask for a closer look at each call: defaults that are set, recorders.

    Counted for the process, so that an ordinary call asks one attribute instead of several context
    variables.
    """

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def change(self, by: int) -> None:
        """Adds or takes away."""
        with _lock:
            self.count += by


attention = Attention()


def default_target() -> str | None:
    """The target that `use_target` set here, or for the process, or None."""
    name = _context_default.get()
    return _process_default if name is _UNSET else name


class use_target:
    """Makes `name` the default target: of the process when called, of the context under `with`.

    Errors: CallError when there is no such target. `use_target(None)` takes the default away.
    """

    def __init__(self, name: str | None) -> None:
        if name is not None:
            find(name, "use_target")
        self._name = name
        self._before = _process_default
        self._token: Token[str | None] | None = None
        _set_process_default(name)

    def __enter__(self) -> use_target:
        _set_process_default(self._before)
        self._token = _context_default.set(self._name)
        attention.change(1)
        cache_tag.set_target(default_target(), everywhere=False)
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._token is not None:
            _context_default.reset(self._token)
            self._token = None
            attention.change(-1)
            cache_tag.set_target(default_target(), everywhere=False)


def _set_process_default(name: str | None) -> None:
    global _process_default
    with _lock:
        attention.change((name is not None) - (_process_default is not None))
        _process_default = name
        cache_tag.set_target(name, everywhere=True)


def find(name: str, subject: str) -> Target:
    """The target of that name; CallError lists those that exist."""
    target = _targets.get(name)
    if target is None:
        _discover()
        target = _targets.get(name)
    if target is None:
        if name in _broken:
            raise CallError(f"{subject}: target {name!r} could not be loaded: {_broken[name]}")
        existing = ", ".join(_targets)
        raise CallError(f"{subject}: target must be one of {existing}, got {name!r}")
    return target


def choose(subject: str, name: str | None, device: torch.device) -> Target:
    """The target that serves a call on `device` when `name` is asked for, or when none is."""
    if name is not None:
        target = find(name, subject)
        if not target.serves(device.type):
            raise CallError(
                f"{subject}: target {name!r} serves {' and '.join(target.devices)}, "
                f"not {device.type}; targets for {device.type}: {_serving(device.type)}"
            )
        return target
    _discover()
    claiming = [t for t in _detectors if t.detect is not None and t.detect(device)]
    if len(claiming) > 1:
        names = " and ".join(repr(target.name) for target in claiming)
        raise CallError(f"{subject}: the targets {names} both claim {device}; name one of them")
    if claiming:
        return claiming[0]
    for target in (TRITON, EAGER):
        if device.type in target.devices:
            return target
    raise CallError(
        f"{subject}: no target serves the device {device}; targets: {', '.join(_targets)}"
    )


def _serving(device_type: str) -> str:
    return ", ".join(t.name for t in _targets.values() if t.serves(device_type)) or "none"
