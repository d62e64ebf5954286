"""Device time of calls: replays of CUDA graphs over inputs that leave the L2 cache in between.

In: calls that do the same on different memory. Out: microseconds of one, repeated in turn with the
other forms of the call, so that clocks and heat hit all alike. Rates are in benchmarks/profile.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.noise import REPEATS

#: The inputs of one graph together have at least this size, several times the L2 cache.
ROTATION_BYTES = 256 * 2**20
MOST_SETS = 32
# A graph of fewer calls than this spends its time on starting.
CALLS = 16
# What one repeat of one form may take; its median is over at least so many replays.
REPEAT_MS = 8.0
LEAST_REPLAYS = 3
MOST_REPLAYS = 40


def device() -> str:
    """The current CUDA device by its index, as tensors name theirs."""
    return f"cuda:{torch.cuda.current_device()}"


def sets_for(size: int) -> int:
    """How many sets of tensors, of `size` bytes each, one graph rotates over."""
    return max(1, min(MOST_SETS, -(-ROTATION_BYTES // max(size, 1))))


@dataclass(frozen=True, slots=True)
class Recorded:
    """A graph that makes `calls` calls.

    `recorded` are what it was captured from: they hold the memory to which its kernels point.
    """

    graph: torch.cuda.CUDAGraph
    stream: torch.cuda.Stream
    calls: int
    recorded: Sequence[Callable[[], Any]]

    def us(self) -> float:
        """Median microseconds of a call; the first replay after other work does not count."""
        with torch.cuda.stream(self.stream):
            once = _elapsed_ms(self.graph.replay)
            count = max(LEAST_REPLAYS, min(MOST_REPLAYS, int(REPEAT_MS / max(once, 1e-3))))
            times = [_elapsed_ms(self.graph.replay) for _ in range(count)]
        return statistics.median(times) / self.calls * 1e3


def record(calls: Sequence[Callable[[], Any]], budget_ms: float = 50.0) -> Recorded:
    """A graph of as many of the calls as the budget allows, each of them several times if short.

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
        graph.replay()
    torch.cuda.current_stream().wait_stream(stream)
    return Recorded(graph, stream, rounds * len(calls), calls)


def repeats_us(forms: Mapping[str, Recorded], repeats: int = REPEATS) -> dict[str, list[float]]:
    """Microseconds of each form, `repeats` times in turn."""
    times: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(repeats):
        for name, form in forms.items():
            times[name].append(form.us())
    return times


def graph_us(calls: Sequence[Callable[[], Any]]) -> float:
    """Median microseconds of a call, for what is held against nothing."""
    recorded = record(calls)
    return statistics.median(recorded.us() for _ in range(3))


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
