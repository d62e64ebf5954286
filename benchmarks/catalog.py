"""The list of benchmarks.

Out: `benchmarks()`, by name in the order in which they run. A new benchmark is a module with a
`BENCHMARK`, and a line here.
"""

from __future__ import annotations

from benchmarks import (
    cold_compile,
    dispatch,
    end_to_end,
    kernels,
    profile,
    startup,
    validate,
    validate_compile,
)
from benchmarks.case import Benchmark
from benchmarks.kernels import tile_search


def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by its name."""
    host = (startup, validate, validate_compile, dispatch, cold_compile, end_to_end)
    modules = (*host, profile, kernels, tile_search)
    return {module.BENCHMARK.name: module.BENCHMARK for module in modules}
