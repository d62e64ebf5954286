"""The list of benchmarks.

Out: `benchmarks()`, by name in the order in which they run. A new benchmark is a module with a
`BENCHMARK`, and a line here.
"""

from __future__ import annotations

from benchmarks import dispatch, kernels, profile, startup, validate, validate_compile
from benchmarks.case import Benchmark
from benchmarks.kernels import tile_search


def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by its name."""
    modules = (startup, validate, validate_compile, dispatch, profile, kernels, tile_search)
    return {module.BENCHMARK.name: module.BENCHMARK for module in modules}
