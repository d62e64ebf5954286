"""The rates that a GPU reaches: copy, read and write, and matrix products of each dtype.

In: the name of a rate. Out: a `Ceiling`, the best of what torch and its libraries do with it. Data
is random: products of zeros draw less power and run faster than any model's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from benchmarks.case import Unmeasurable
from benchmarks.profile.store import Ceiling

MEMORY = ("copy", "read", "write")
MATRIX = ("float64", "float32", "tf32", "float16", "bfloat16", "float8_e4m3fn", "int8")
#: Products of these sizes are tried; large ones may meet the power limit, small ones do not fill.
SIZES = (4096, 8192)
_BUFFER_BYTES = 2**31


def measure(name: str) -> Ceiling:
    """One rate. Raises `Unmeasurable` for a dtype that this GPU or torch cannot multiply."""
    with torch.no_grad():
        try:
            if name in MEMORY:
                return Ceiling(name, _memory(name), "B/s")
            unit = "OP/s" if name == "int8" else "FLOP/s"
            return Ceiling(f"{name} matmul", _matrix(name), unit)
        finally:
            torch.cuda.empty_cache()


def _memory(name: str, size: int = _BUFFER_BYTES, device: str = "cuda") -> float:
    source = torch.randn(size // 4, device=device)
    target = torch.empty_like(source)
    # A captured `copy_` is a memory copy of the driver's, which can be a third slower than a
    # kernel: the ceiling is the better one of it and of a kernel that only changes signs.
    actions: dict[str, Sequence[Callable[[], Any]]] = {
        "copy": (lambda: target.copy_(source), lambda: torch.neg(source, out=target)),
        "read": (
            lambda: source.sum(),
            lambda: source.amax(),
            lambda: source.view(-1, 4096).sum(dim=1),
            lambda: source.view(-1, 65536).amax(dim=1),
        ),
        "write": (lambda: target.fill_(1.5), lambda: target.zero_()),
    }
    moved = size * (2 if name == "copy" else 1)
    return moved / _best_s(actions[name])


def _matrix(name: str, sizes: Sequence[int] = SIZES, device: str = "cuda") -> float:
    """Operations a second of the fastest product."""
    try:
        with _precision(tf32=name == "tf32"):
            return max(
                2 * size**3 / _best_s([_product(name, size, device)])
                for size in (sizes[:1] if name == "float64" else sizes)
            )
    except (RuntimeError, AttributeError, NotImplementedError) as error:
        raise Unmeasurable(f"no {name} product: {str(error).splitlines()[0][:100]}") from None


def _product(name: str, size: int, device: str) -> Callable[[], Any]:
    if name == "int8":
        left, right = (
            torch.randint(-128, 128, (size, size), device=device, dtype=torch.int8)
            for _ in range(2)
        )
        return lambda: torch._int_mm(left, right.t())
    if name == "float8_e4m3fn":
        left, right = (
            torch.randn(size, size, device=device).to(torch.float8_e4m3fn) for _ in range(2)
        )
        scale = torch.ones((), device=device)
        return lambda: torch._scaled_mm(
            left, right.t(), scale, scale, out_dtype=torch.bfloat16, use_fast_accum=True
        )
    dtype = torch.float32 if name == "tf32" else getattr(torch, name)
    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    out = torch.empty_like(left)
    return lambda: torch.mm(left, right, out=out)


@contextmanager
def _precision(tf32: bool) -> Any:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _best_s(actions: Sequence[Callable[[], Any]]) -> float:
    """Seconds of the fastest action."""
    from benchmarks.kernels import device_time

    return min(device_time.graph_us([action]) for action in actions) * 1e-6
