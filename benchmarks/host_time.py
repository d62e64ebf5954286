"""Host time of calls: CPU time of this thread, variants interleaved so that noise hits all alike.

In: functions to call. Out: the best microseconds of each; on a shared machine only ratios of such
figures from one call mean something.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import Any

Call = Callable[[], Any]


def best_us(
    calls: Mapping[str, Call], *, rounds: int, count: int, settle: Call | None = None
) -> dict[str, float]:
    """Microseconds a call, the least of `rounds` loops of `count` calls for each variant.

    `settle` runs before every loop: on a GPU it waits, so that no loop meets a full queue.
    """
    best = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        for _ in range(3):
            call()
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, call in calls.items():
                if settle is not None:
                    settle()
                begun = time.thread_time_ns()
                for _ in range(count):
                    call()
                passed = (time.thread_time_ns() - begun) / count / 1e3
                best[name] = min(best[name], passed)
    finally:
        if enabled:
            gc.enable()
    return best
