"""The list of benchmarks.

Out: `benchmarks()`, by name in the order in which they run. A new benchmark is a module with a
`BENCHMARK`, and a line here.
"""

from __future__ import annotations

from benchmarks import dispatch, kernels, startup, validate
from benchmarks.case import Benchmark


def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by its name."""
    every = (startup.BENCHMARK, validate.BENCHMARK, dispatch.BENCHMARK, kernels.BENCHMARK)
    return {item.name: item for item in every}
