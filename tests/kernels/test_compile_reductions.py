"""Every operator of the reduction table compiles without a GPU, and spills next to nothing.

The capabilities and the dtypes that take different code come in turn.
"""

from __future__ import annotations

import warnings
from itertools import cycle

import pytest
import torch

import tileops.reduction as family
from tests.devices import compiles
from tileops.reduction.table import LOG_SOFTMAX, REDUCTIONS, SCANS
from tileops.testing.kernels import compile_launch, record
from tileops.testing.values import launcher_of

CAPABILITIES = ((8, 0), (9, 0), (10, 0))
DTYPES = ("bfloat16", "float32", "int8", "int64", "bool", "float64", "float16")

#: Shape and axes by regime, and the launcher that serves it.
REGIMES = {
    "rows": ((2048, 4096), 1, "direct"),
    "short-rows": ((65536, 64), 1, "direct"),
    "long-rows": ((4, 102400), 1, "split"),
    "odd-rows": ((2048, 50257), 1, "direct"),
    "columns": ((16384, 65536), 0, "direct"),
    "few-columns": ((65536, 64), 0, "split"),
    "two-axes": ((32, 128, 24, 128), [1, 3], "direct"),
    "all": ((4096, 4099), None, "split"),
    "wide": ((2**19 + 1, 4096), 1, "direct"),
}
ONE_AXIS = {"prod", "argmax", "argmin", "cumsum", "cumprod"}
SOFTMAX = {
    "row": ((2048, 4096), 1),
    "split_row": ((4, 102400), 1),
    "long_row": ((1024, 50257), 1),
    "column": ((8, 2048, 1024), 1),
}


def takes(row, regime):
    _, dim, _ = regime
    return isinstance(dim, int) or (
        row.name not in ONE_AXIS and not (row.name == "logsumexp" and dim is None)
    )


def cases():
    """Every other regime of each operator; its neighbours in the table take those between."""
    capabilities, dtypes = cycle(CAPABILITIES), cycle(DTYPES)
    for at, row in enumerate((*REDUCTIONS, *SCANS)):
        names = getattr(family, row.op).bound().operator.signature.indices["T"].names
        names = [d for d in names if row.name != "mean" or getattr(torch, d).is_floating_point]
        regimes = [(name, *regime) for name, regime in REGIMES.items() if takes(row, regime)]
        for regime in regimes[at % 2 :: 2]:
            dtype = next(d for d in dtypes if d in names)
            yield param(row, *regime, dtype, next(capabilities))
    for launcher, (shape, dim) in SOFTMAX.items():
        for dtype in ("bfloat16", "float64"):
            yield param(LOG_SOFTMAX, launcher, shape, dim, launcher, dtype, next(capabilities))


def param(row, regime, shape, dim, launcher, dtype, capability):
    name = f"{row.op}-{regime}-{dtype}-sm_{capability[0]}{capability[1]}"
    return pytest.param(row, shape, dim, launcher, getattr(torch, dtype), capability, id=name)


@compiles
@pytest.mark.parametrize(("row", "shape", "dim", "launcher", "dtype", "capability"), list(cases()))
def test_it_compiles_without_spills(row, shape, dim, launcher, dtype, capability) -> None:
    op = getattr(family, row.op)
    x = torch.empty(shape, dtype=dtype, device="meta")
    params = {p.name: p.default for p in op.bound().operator.signature.params} | {"dim": dim}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = op(dim=dim)(x)
    outputs = list(results) if isinstance(results, tuple) else [results]
    for launch in record(launcher_of(op, launcher), outputs, [x], params, capability):
        resources = compile_launch(launch, capability)
        double = dtype == torch.float64
        assert resources.spills <= (64 if double else 16), f"{launch.name}: {resources}"
        assert resources.shared <= 48 * 1024
        warps = launch.options["num_warps"]
        programs = 1 if warps >= 16 or double else 2
        assert resources.registers * warps * 32 * programs <= 65536
