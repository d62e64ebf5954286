"""Launches kept from one call for the next of its kind: no launcher, no specialisation by Triton.

In: the launches that a launcher made for a call. Out: the same kernels over the tensors of another
call whose shapes, strides, dtypes, alignment and parameters are equal. A launcher reads nothing
else, so that it would launch the same again.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tileops.runtime.launch import Call

_LIMIT = 512
_Layout = tuple[tuple[int, ...], tuple[int, ...], torch.dtype]


class RecordingCall(Call):
    """A call that also notes what it launched and allocated."""

    __slots__ = ("launches", "workspaces")

    def __init__(self, device: torch.device, capability: tuple[int, int] | None) -> None:
        super().__init__(device, capability)
        self.launches: list[tuple[Any, tuple[int, ...], dict[str, Any], Any]] = []
        self.workspaces: list[torch.Tensor] = []

    def empty(self, shape: int | Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """A workspace, noted."""
        workspace = super().empty(shape, dtype)
        self.workspaces.append(workspace)
        return workspace

    def _run(
        self, kernel: Any, grid: tuple[int, ...], args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        compiled = super()._run(kernel, grid, args, options)
        names = getattr(kernel, "arg_names", ())
        given = dict(zip(names, args, strict=False)) | options
        self.launches.append((kernel, grid, given, compiled))
        return compiled


@dataclass(frozen=True, slots=True)
class _Launch:
    """A compiled kernel on its grid, and its arguments but for those that are of one call."""

    compiled: Any
    grid: tuple[int, int, int]
    start: Callable[[int | None, list[Any]], Any]
    args: tuple[Any, ...]
    pointers: tuple[tuple[int, int], ...]
    descriptors: tuple[tuple[int, int, Any], ...]

    def again(self, memory: Sequence[Any], stream: int | None, watched: bool) -> None:
        """Launches over other memory; a profiler's hooks are served where there are any."""
        args: list[Any] = list(self.args)
        for position, place in self.pointers:
            # Triton would ask the driver about a tensor's address, which is known to be right.
            args[position] = memory[place].data_ptr()
        for position, place, descriptor in self.descriptors:
            args[position] = _over(descriptor, memory[place])
        if watched:
            self.compiled[self.grid](*args, stream=stream)
        else:
            self.start(stream, args)


def _starter(compiled: Any, grid: tuple[int, int, int]) -> Callable[[int | None, list[Any]], Any]:
    """What starts a compiled kernel on a stream, without hooks.

    The launcher of Triton 3.6 makes three functions a call to ask for memory that few kernels need;
    what it hands the rest to is called directly. Other versions pass on other arguments.
    """
    run, function, metadata = compiled.run, compiled.function, compiled.packed_metadata
    hooks = (None, None, None)
    scratch = [getattr(run, f"{kind}_scratch_size", None) for kind in ("global", "profile")]
    if scratch == [0, 0] and _triton().__version__.startswith("3.6."):
        launch = run.launch
        options = (run.launch_cooperative_grid, run.launch_pdl, None, None)
        fixed = (function, *options, metadata, *hooks)
        return lambda stream, args: launch(*grid, stream, *fixed, *args)
    return lambda stream, args: run(*grid, stream, function, metadata, *hooks, *args)


@dataclass(frozen=True, slots=True)
class Kept:
    """What a call launched: by which implementation, who declined before it, and its kernels.

    `fresh` gives shapes, strides and dtypes of the outputs, `workspaces` those of what kernels hand
    on; `empty` makes one of them. `index` is that of the CUDA device.
    """

    implementation: str
    declined: tuple[tuple[str, str], ...]
    launches: tuple[_Launch, ...]
    fresh: tuple[_Layout | None, ...]
    workspaces: tuple[_Layout, ...]
    returned: Callable[[list[torch.Tensor | None]], Any]
    index: int | None
    empty: Callable[[tuple[int, ...], tuple[int, ...], torch.dtype], torch.Tensor]

    def call(self, tensors: tuple[torch.Tensor | None, ...]) -> Any:
        """The results of a whole call, its outputs made anew."""
        if self.index is not None and _current_device() != self.index:
            with torch.cuda.device(self.index):
                return self.call(tensors)
        empty = self.empty
        outputs = [None if layout is None else empty(*layout) for layout in self.fresh]
        self._start((*outputs, *tensors))
        return self.returned(outputs)

    def again(self, memory: tuple[torch.Tensor | None, ...]) -> None:
        """Makes the launches over these tensors, which come in the order of the first call's."""
        if self.index is not None and _current_device() != self.index:
            with torch.cuda.device(self.index):
                return self.again(memory)
        self._start(memory)

    def _start(self, memory: tuple[Any, ...]) -> None:
        if self.workspaces:
            memory += tuple(self.empty(*layout) for layout in self.workspaces)
        stream = None if self.index is None else _current_stream(self.index)
        watched = _is_watched()
        for launch in self.launches:
            launch.again(memory, stream, watched)


# Builds of torch without CUDA lack both.
_current_device = getattr(torch._C, "_cuda_getDevice", None)
_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


def _allocator(device: torch.device) -> Callable[..., torch.Tensor]:
    """Uninitialised tensors of a shape, strides and dtype on a device that is the current one.

    Inductor's own function, where torch has it, takes a third of the time of torch.empty_strided.
    """
    guards = getattr(torch._C._dynamo, "guards", None)
    fast = getattr(guards, f"_empty_strided_{device.type}", None)
    if fast is not None:
        return fast
    return lambda shape, stride, dtype: torch.empty_strided(
        shape, stride, dtype=dtype, device=device
    )


@functools.cache
def _triton() -> Any:
    return importlib.import_module("triton")


def _is_watched() -> bool:
    """Whether someone asked Triton to be told of launches."""
    knobs = _triton().knobs.runtime
    return _calls(knobs.launch_enter_hook) or _calls(knobs.launch_exit_hook)


def _calls(hook: Any) -> bool:
    return hook is not None and bool(getattr(hook, "calls", True))


def memory(outputs: Sequence[Any], tensors: Sequence[Any]) -> tuple[Any, ...]:
    """What the kernels of a call may point to. An output that is a written input counts as that.

    Absent tensors keep their places.
    """
    return (*(None if any(o is t for t in tensors) else o for o in outputs), *tensors)


class KeptLaunches:
    """The kept launches of one overload, by what they depend on."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Kept] = {}
        self.find = self._kept.get
        self.forget = self._kept.clear

    def keep(
        self,
        key: Hashable,
        call: RecordingCall,
        served: tuple[str, tuple[tuple[str, str], ...]],
        memory: Sequence[torch.Tensor | None],
        outputs: int,
        returned: Callable[[list[torch.Tensor | None]], Any],
    ) -> None:
        """Keeps what `call` launched, unless a kernel was given memory of other tensors.

        The first `outputs` tensors of `memory` are the outputs.
        """
        places = _places((*memory, *call.workspaces))
        if places is None or not call.launches:
            return
        launches = []
        for launched in call.launches:
            launch = _launch(*launched, places)
            if launch is None:
                return
            launches.append(launch)
        if len(self._kept) >= _LIMIT:
            self._kept.clear()
        self._kept[key] = Kept(
            *served,
            tuple(launches),
            tuple(None if item is None else _layout(item) for item in memory[:outputs]),
            tuple(_layout(item) for item in call.workspaces),
            returned,
            call.device.index if call.device.type == "cuda" else None,
            _allocator(call.device),
        )


def _places(tensors: Sequence[torch.Tensor | None]) -> dict[int, int] | None:
    """Positions by address; None where two tensors begin at one, which tells them apart no more."""
    places: dict[int, int] = {}
    for position, tensor in enumerate(tensors):
        if tensor is not None and tensor.numel() > 0:
            address = tensor.data_ptr()
            if address in places:
                return None
            places[address] = position
    return places


def _launch(
    kernel: Any,
    grid: tuple[int, ...],
    given: dict[str, Any],
    compiled: Any,
    places: dict[int, int],
) -> _Launch | None:
    """The launch as it is kept; None where it has to be made anew each time."""
    if not hasattr(compiled, "packed_metadata"):
        return None
    args: list[Any] = []
    pointers, descriptors = [], []
    for position, parameter in enumerate(kernel.params):
        value = given.get(parameter.name, parameter.default)
        if isinstance(value, torch.Tensor):
            place = places.get(value.data_ptr())
            if place is None:
                return None
            pointers.append((position, place))
            value = None
        elif isinstance(getattr(value, "base", None), torch.Tensor):
            place = places.get(value.base.data_ptr())
            if place is None:
                return None
            descriptors.append((position, place, _over(value, None)))
            value = None
        args.append(value)
    x, y, z = (*grid, 1, 1)[:3]
    start = _starter(compiled, (x, y, z))
    return _Launch(compiled, (x, y, z), start, tuple(args), tuple(pointers), tuple(descriptors))


def _layout(tensor: torch.Tensor) -> _Layout:
    return tuple(tensor.shape), tensor.stride(), tensor.dtype


def _over(descriptor: Any, base: torch.Tensor | None) -> Any:
    """A tensor descriptor like this one over other memory."""
    other = object.__new__(type(descriptor))
    other.__dict__.update(descriptor.__dict__)
    other.base = base
    return other
