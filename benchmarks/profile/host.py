"""The rates that the processor reaches with torch's threads: memory and products.

In: the name of a rate. Out: a `Ceiling`, the best of several loops. Other jobs on the machine lower
it, so that it says what was left to this process.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.profile.store import Ceiling

MEMORY = ("copy", "read", "write")
MATRIX = ("float32", "bfloat16")
LOOPS = 5


def measure(name: str, size: int = 2**28, width: int = 1024) -> Ceiling:
    """One rate; memory over `size` bytes, products of `width` squared."""
    with torch.no_grad():
        if name in MEMORY:
            return Ceiling(name, _memory(name, size), "B/s")
        dtype = getattr(torch, name)
        left, right = (torch.randn(width, width).to(dtype) for _ in range(2))
        return Ceiling(f"{name} matmul", 2 * width**3 / _best_s(lambda: left @ right), "FLOP/s")


def _memory(name: str, size: int) -> float:
    source = torch.randn(size // 4)
    target = torch.zeros_like(source)
    actions: dict[str, Callable[[], Any]] = {
        "copy": lambda: target.copy_(source),
        "read": lambda: source.sum(),
        "write": lambda: target.fill_(1.5),
    }
    return size * (2 if name == "copy" else 1) / _best_s(actions[name])


def _best_s(action: Callable[[], Any]) -> float:
    action()
    best = float("inf")
    for _ in range(LOOPS):
        begun = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - begun)
    return best
