"""What the devices here can do at most, measured: the ceilings that fractions are of.

In: the GPU, if there is one, and the processor. Out: rates (gpu.py, host.py), kept per device model
in the user's cache folder (store.py). `python -m benchmarks profile` measures them anew; a
benchmark that needs one measures it when it is not there.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from benchmarks import results
from benchmarks.case import Benchmark, Case, Options, Shown, Table, Unmeasurable, Values
from benchmarks.profile import store
from benchmarks.profile.store import Ceiling

# The matrix rate that a dtype without one of its own is held against.
_STANDS_FOR = {
    "float8_e5m2": "float8_e4m3fn", "complex64": "float32", "complex128": "float64",
    "uint8": "int8",
}  # fmt: skip


@functools.cache
def memory_ceiling(name: str = "copy") -> Ceiling:
    """A memory rate of the current GPU: "copy", "read" or "write"."""
    from benchmarks.profile import gpu

    return store.rate_of(_gpu(), name, gpu.measure)


@functools.cache
def matrix_ceiling(dtype: str, tf32: bool = False) -> Ceiling | None:
    """The rate of products of that dtype on the current GPU; None for what has no products.

    A GPU without float8 or int8 products converts first, and is held against bfloat16.
    """
    from benchmarks.profile import gpu

    name = _STANDS_FOR.get(dtype, dtype)
    name = "tf32" if tf32 and name == "float32" else name
    if name not in gpu.MATRIX:
        return None
    try:
        return store.rate_of(_gpu(), f"{name} matmul", lambda _: gpu.measure(name))
    except Unmeasurable:
        return None if name == "bfloat16" else matrix_ceiling("bfloat16")


def _gpu() -> str:
    model = results.gpu()
    if model is None:
        raise Unmeasurable("there is no CUDA device")
    return model


def measure(device: str, name: str) -> Values:
    """One rate, measured and kept."""
    if device == "gpu":
        from benchmarks.profile import gpu

        model, ceiling = _gpu(), gpu.measure(name)
    else:
        from benchmarks.profile import host

        model, ceiling = results.machine()["cpu"], host.measure(name)
    store.keep(model, ceiling)
    return {"device": model, **ceiling.values()}


def cases(options: Options) -> Iterable[Case]:
    """The GPU's rates, then the processor's."""
    from benchmarks.profile import gpu, host

    if results.gpu() is not None:
        for name in (*gpu.MEMORY, *gpu.MATRIX)[: 1 if options.quick else None]:
            yield Case(f"gpu, {name}", functools.partial(measure, "gpu", name))
    for name in (*host.MEMORY, *host.MATRIX)[: 1 if options.quick else None]:
        yield Case(f"cpu, {name}", functools.partial(measure, "cpu", name))


def shown(values: dict[str, Values]) -> Shown:
    """A row for each rate, and where they are kept."""
    table = Table(("ceiling", "T/s", "of", "device"))
    for item in values.values():
        table.add(item["name"], item["rate"] / 1e12, item["unit"], item["device"])
    paths = {str(store.path_of(item["device"])) for item in values.values()}
    return [table, f"kept in {', '.join(sorted(paths))}"]


BENCHMARK = Benchmark("profile", "rates that the devices reach: the ceilings", cases, shown)
