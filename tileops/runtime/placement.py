"""Where a call without tensor inputs allocates."""

from __future__ import annotations

import torch

from tileops.runtime import targets


def place(device: torch.device | None, target: str | None) -> torch.device:
    """Where a call without tensors allocates: its device, else one that its target serves.

    Without either it is the CPU, so that a saved program means the same on every machine. A kernel
    cannot see torch's default device, which the class therefore passes.
    """
    if device is not None:
        return indexed(device)  # type: ignore[return-value]
    name = target if target is not None else targets.default_target()
    if name is None:
        return torch.device("cpu")
    classes = targets.find(name, "target").devices
    if "cuda" in classes and torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    known = [kind for kind in classes if kind != "cuda"]
    return torch.device(known[0] if known and "cpu" not in known else "cpu")


def indexed(device: torch.device | None) -> torch.device | None:
    """A CUDA device without a number as the current one."""
    if device is None or device.type != "cuda" or device.index is not None:
        return device
    return torch.device("cuda", torch.cuda.current_device() if torch.cuda.is_available() else 0)
