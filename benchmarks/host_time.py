"""Host time of calls: CPU time of this thread, variants interleaved so that noise hits all alike.

In: functions to call. Out: the best microseconds of each, in several repeats; on a shared machine
only ratios of such figures from one call mean something.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.noise import REPEATS

Call = Callable[[], Any]


def repeats_us(
    calls: Mapping[str, Call], *, rounds: int, count: int, settle: Call | None = None
) -> dict[str, list[float]]:
    """Microseconds a call: for each variant the least of `rounds` loops of `count` calls, in turn.

    The rounds are split into repeats, each with a least time of its own. `settle` runs before every
    loop: on a GPU it waits, so that no loop meets a full queue.
    """
    for call in calls.values():
        for _ in range(3):
            call()
    repeats = min(REPEATS, rounds)
    enabled = gc.isenabled()
    gc.disable()
    try:
        parts = [_best_us(calls, rounds // repeats, count, settle) for _ in range(repeats)]
    finally:
        if enabled:
            gc.enable()
    return {name: [part[name] for part in parts] for name in calls}


def _best_us(
    calls: Mapping[str, Call], rounds: int, count: int, settle: Call | None
) -> dict[str, float]:
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            if settle is not None:
                settle()
            begun = time.thread_time_ns()
            for _ in range(count):
                call()
            passed = (time.thread_time_ns() - begun) / count / 1e3
            best[name] = min(best[name], passed)
    return best
