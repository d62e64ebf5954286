"""Where the model runs and what compiles it.

In: what was asked for, or None. Out: a device or a backend, or a `ChoiceError` of one sentence.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import torch

__all__ = ["BACKENDS", "ChoiceError", "choose_backend", "choose_device", "cpp_compiler"]

BACKENDS = ("inductor", "aot_eager")


class ChoiceError(Exception):
    """What was asked for is not there; the message is one sentence."""


def choose_device(name: str | None) -> torch.device:
    """CUDA where there is a GPU, else the CPU."""
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise ChoiceError("--device cuda needs a GPU that torch can use, and there is none")
    return torch.device(name or ("cuda" if available else "cpu"))


def choose_backend(name: str | None) -> str:
    """Inductor where there is a C++ compiler, which it needs for GPUs too, else aot_eager."""
    if name == "aot_eager" or cpp_compiler() is not None:
        return name or "inductor"
    if name is not None:
        raise ChoiceError(f"--backend {name} needs a C++ compiler, and none was found")
    return "aot_eager"


def cpp_compiler() -> str | None:
    """The C++ compiler that Inductor would take, if it runs."""
    for name in (os.environ.get("CXX"), "g++", "clang++"):
        path = shutil.which(name) if name else None
        if path is None:
            continue
        try:
            done = subprocess.run([path, "--version"], capture_output=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return path
    return None
