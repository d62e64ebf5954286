"""Device time of every row of every implemented entry, against what a user would take instead.

In: the shipped manifest, on a CUDA device. Out: medians from CUDA graphs over rotating inputs
(device_time.py) of the calls that subject.py makes; measure.py puts them together, table.py shows
them. `--only norm` keeps a family, `--only RMSNorm` an operator.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from benchmarks.case import Benchmark, Case, Options, Values


def cases(options: Options) -> Iterable[Case]:
    """Every row without an output buffer; in a quick run the first of each entry."""
    import tileops
    from benchmarks.kernels.measure import measure
    from tileops.testing.cases import rows

    for entry in tileops.registry.entries:
        if entry.status != "implemented":
            continue
        found = [row for row in rows(entry.name) if not row.out]
        for row in found[:1] if options.quick else found:
            name = f"{entry.family} {row.op.removesuffix('Op')} {row.id}"
            yield Case(name, functools.partial(measure, row, options.compiling))


def shown(values: dict[str, Values]) -> str:
    """Imported late, as everything here that is not needed to list the benchmarks."""
    from benchmarks.kernels import table

    return table.shown(values)


BENCHMARK = Benchmark(
    "kernels", "device time of the manifest's rows, microseconds", cases, shown, needs_gpu=True
)
