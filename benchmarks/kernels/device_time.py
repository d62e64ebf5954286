"""Device time of a call: replays of a CUDA graph over inputs that leave the L2 cache in between.

In: calls that do the same on different memory. Out: the median microseconds of one, and the rates
of a plain copy and of cuBLAS on this GPU, which are the ceilings of a roofline.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import torch

#: The inputs of one graph together have at least this size, several times the L2 cache.
ROTATION_BYTES = 256 * 2**20
MOST_SETS = 32
# A graph of fewer calls than this spends its time on starting.
CALLS = 16


def device() -> str:
    """The current CUDA device by its index, as tensors name theirs."""
    return f"cuda:{torch.cuda.current_device()}"


def sets_for(size: int) -> int:
    """How many sets of tensors, of `size` bytes each, one graph rotates over."""
    return max(1, min(MOST_SETS, -(-ROTATION_BYTES // max(size, 1))))


def graph_us(calls: Sequence[Callable[[], Any]], budget_ms: float = 50.0) -> float:
    """Median microseconds of a call, from replays of a graph that makes them all.

    Results are kept while the graph is captured, so that every call writes memory of its own.
    """
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        calls = calls[: _affordable(calls[0], budget_ms)]
        for call in calls:
            call()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        rounds = -(-min(CALLS, _affordable(calls[0], budget_ms)) // len(calls))
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(rounds):
                kept = [call() for call in calls]
        del kept

        _elapsed_ms(graph.replay)
        repeats = max(7, min(200, int(budget_ms / max(_elapsed_ms(graph.replay), 1e-3))))
        times = [_elapsed_ms(graph.replay) for _ in range(repeats)]
    torch.cuda.current_stream().wait_stream(stream)
    return statistics.median(times) / (rounds * len(calls)) * 1e3


def _affordable(call: Callable[[], Any], budget_ms: float) -> int:
    """How many calls fit into one graph; the first, which may compile, does not count."""
    call()
    return max(1, min(MOST_SETS, int(budget_ms / max(_elapsed_ms(call), 1e-3))))


def _elapsed_ms(action: Callable[[], Any]) -> float:
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    action()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop)


@functools.cache
def copy_bytes_per_s() -> float:
    """Bytes read and written a second by a plain copy of 2 GiB.

    A captured `copy_` is a memory copy of the driver's, which can be a third slower than a kernel:
    the ceiling is the better one of it and of a kernel that only changes signs.
    """
    source = torch.ones(2**30, device="cuda", dtype=torch.bfloat16)
    target = torch.zeros_like(source)
    actions = (lambda: target.copy_(source), lambda: torch.neg(source, out=target))
    return 2 * source.nbytes / (min(graph_us([action]) for action in actions) * 1e-6)


@functools.cache
def matmul_flops_per_s(dtype: torch.dtype) -> float:
    """Operations a second of cuBLAS on random matrices; of bfloat16 for a dtype without any."""
    size = 8192 if dtype.itemsize <= 2 else 4096
    if dtype.itemsize == 1:
        return _scaled_flops_per_s(dtype, size)
    if dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        return matmul_flops_per_s(torch.bfloat16)
    left, right = (torch.randn(size, size, device="cuda", dtype=dtype) for _ in range(2))
    out = torch.empty_like(left)
    return 2 * size**3 / (graph_us([lambda: torch.mm(left, right, out=out)]) * 1e-6)


def _scaled_flops_per_s(dtype: torch.dtype, size: int) -> float:
    if dtype != torch.float8_e4m3fn or torch.cuda.get_device_capability() < (8, 9):
        return matmul_flops_per_s(torch.bfloat16)
    left, right = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
    scale = torch.ones((), device="cuda")

    def multiply() -> Any:
        return torch._scaled_mm(left, right.t(), scale, scale, out_dtype=torch.bfloat16)

    return 2 * size**3 / (graph_us([multiply]) * 1e-6)
