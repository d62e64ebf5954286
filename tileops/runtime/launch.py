"""The one way from a launcher to a Triton kernel.

In: a kernel, a grid and arguments. Out: a launch on the device and stream of the call.
"""

from __future__ import annotations

from typing import Any

import torch


class Call:
    """What a launcher knows of the call it serves, beyond its tensors and parameters."""

    __slots__ = ("capability", "device")

    def __init__(self, device: torch.device, capability: tuple[int, int] | None) -> None:
        self.device = device
        self.capability = capability

    def launch(self, kernel: Any, grid: tuple[int, ...], *args: Any, **options: Any) -> None:
        """Launches `kernel` over `grid`; positional arguments first, constexprs by name."""
        kernel[grid](*args, **options)
