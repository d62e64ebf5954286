"""Device time of every row of every implemented entry, against what a user would take instead.

In: the shipped manifest, on a CUDA device. Out: times from CUDA graphs over rotating inputs
(device_time.py) of the calls that subject.py makes; measure.py puts them together, table.py shows
them, order.py says which go first, prepare.py compiles ahead. `--only norm` keeps a family,
`--only RMSNorm` an operator.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from benchmarks.case import Benchmark, Case, Options, Shown, Values

if TYPE_CHECKING:
    from tileops.testing.cases import Row

#: How many rows are compiled ahead before they are measured.
BATCH = 48


def named_rows(quick: bool = False) -> Iterator[tuple[str, Row]]:
    """Every row without an output buffer, in the order of measurement; in quick ones one each."""
    import tileops
    from benchmarks.kernels.order import ordered
    from tileops.testing.cases import rows

    operators = {
        entry.name: [row for row in rows(entry.name) if not row.out]
        for entry in tileops.registry.entries
        if entry.status == "implemented"
    }
    if quick:
        operators = {name: found[:1] for name, found in operators.items()}
    for row in ordered(operators):
        yield f"{row.bound.header.family} {row.op.removesuffix('Op')} {row.id}", row


def cases(options: Options) -> Iterable[Case]:
    """A case for each row."""
    from benchmarks.kernels.measure import measure

    for name, row in named_rows(options.quick):
        yield Case(name, functools.partial(measure, row, options.compiling))


def compile_ahead(cases: Sequence[Case], options: Options) -> None:
    """Imported late, as everything here that is not needed to list the benchmarks."""
    from benchmarks.kernels import prepare

    prepare.prepare(cases, options)


def shown(values: dict[str, Values]) -> Shown:
    """Rows, worst first, and families."""
    from benchmarks.kernels import table

    return table.shown(values)


BENCHMARK = Benchmark(
    "kernels",
    "device time of the manifest's rows, microseconds",
    cases,
    shown,
    needs_gpu=True,
    prepare=compile_ahead,
    batch=BATCH,
)
