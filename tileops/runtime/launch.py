"""The one way from a launcher to a Triton kernel.

In: a kernel, a grid and arguments. Out: a launch on the device and stream of the call.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import torch

from tileops.runtime.errors import CallError

# Grid limits of CUDA along x, y and z.
GRID_LIMITS = (2**31 - 1, 65535, 65535)


class Call:
    """What a launcher knows of the call it serves, beyond its tensors and parameters."""

    __slots__ = ("_cuda", "capability", "device")

    def __init__(self, device: torch.device, capability: tuple[int, int] | None) -> None:
        self.device = device
        self.capability = capability
        self._cuda = device.type == "cuda"

    def launch(self, kernel: Any, grid: tuple[int, ...], *args: Any, **options: Any) -> None:
        """Launches `kernel` over `grid`; positional arguments first, constexprs by name.

        A grid with an empty axis launches nothing. Errors: CallError for an axis that passes the
        device's limit, for a tensor on another device, and for a kernel that would have to be
        compiled while a CUDA graph is captured.
        """
        for size, limit in zip(grid, GRID_LIMITS, strict=False):
            if size > limit:
                raise CallError(f"{_name(kernel)}: the grid {grid} passes the limit {GRID_LIMITS}")
            if size <= 0:
                return
        for position, value in enumerate(args):
            if isinstance(value, torch.Tensor) and value.device != self.device:
                raise CallError(
                    f"{_name(kernel)}: argument {position} must be on {self.device}, "
                    f"got a tensor on {value.device}"
                )
        if not self._cuda:
            kernel[grid](*args, **options)
            return
        # The launch takes the current device's current stream.
        if self.device.index is None or torch.cuda.current_device() == self.device.index:
            _launch_cuda(kernel, grid, args, options)
        else:
            with torch.cuda.device(self.device):
                _launch_cuda(kernel, grid, args, options)


def _launch_cuda(
    kernel: Any, grid: tuple[int, ...], args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    if torch.cuda.is_current_stream_capturing():
        launch_compiled_only(kernel, grid, args, options)
    else:
        kernel[grid](*args, **options)


def launch_compiled_only(
    kernel: Any, grid: tuple[int, ...], args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    """Launches a kernel that is compiled already; CallError instead of compiling it now."""
    knobs = importlib.import_module("triton.knobs")

    def refuse(**_: Any) -> bool:
        raise CallError(
            f"{_name(kernel)}: the kernel is not compiled for this call yet, and that cannot be "
            "done while a CUDA graph is captured; make the same call once before capturing"
        )

    with knobs.runtime.scope():
        knobs.runtime.jit_cache_hook = refuse
        kernel[grid](*args, **options)


def _name(kernel: Any) -> str:
    function = getattr(kernel, "fn", kernel)
    while hasattr(function, "fn"):
        function = function.fn
    return getattr(function, "__name__", repr(kernel))


@functools.cache
def call_on(device: torch.device) -> Call:
    """The call object of a device; one per device, since it holds nothing of a single call."""
    if device.type == "cuda":
        return Call(device, torch.cuda.get_device_capability(device))
    return Call(device, None)
