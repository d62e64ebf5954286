"""The one way from a launcher to a Triton kernel.

In: a kernel, a grid and arguments. Out: a launch on the device and stream of the call.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
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
        self._run(kernel, grid, args, options)

    def empty(self, shape: int | Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """Uninitialised memory of the call's device, for what kernels hand to one another."""
        return torch.empty(shape, dtype=dtype, device=self.device)

    def _run(
        self, kernel: Any, grid: tuple[int, ...], args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Launches; what Triton compiled."""
        if not self._cuda:
            return kernel[grid](*args, **options)
        with on_device(self.device):
            if torch.cuda.is_current_stream_capturing():
                return launch_compiled_only(kernel, grid, args, options)
            return kernel[grid](*args, **options)


_HERE = nullcontext()


def on_device(device: torch.device) -> AbstractContextManager[Any]:
    """Makes a CUDA device the current one: Triton launches on that one's current stream."""
    if device.type != "cuda" or device.index in (None, torch.cuda.current_device()):
        return _HERE
    return torch.cuda.device(device)


def launch_compiled_only(
    kernel: Any, grid: tuple[int, ...], args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Launches a kernel that is compiled already; CallError instead of compiling it now."""
    knobs = importlib.import_module("triton.knobs")

    def refuse(**_: Any) -> bool:
        raise CallError(
            f"{_name(kernel)}: the kernel is not compiled for this call yet, and that cannot be "
            "done while a CUDA graph is captured; make the same call once before capturing"
        )

    with knobs.runtime.scope():
        knobs.runtime.jit_cache_hook = refuse
        return kernel[grid](*args, **options)


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
