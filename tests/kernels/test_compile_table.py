"""Every function of the elementwise table compiles without a GPU, for every capability."""

from __future__ import annotations

from itertools import cycle

import pytest
import torch

import tileops.elementwise as family
from tests.devices import compiles
from tileops.elementwise.table import TABLE
from tileops.testing.kernels import compile_launch, record
from tileops.testing.values import launcher_of

CAPABILITIES = ((8, 0), (9, 0), (10, 0))
#: Dtypes that take different code, by preference.
DTYPES = ("bfloat16", "float64", "int32", "bool", "float32")
#: libdevice reduces large angles in memory of its own.
SPILLING = {"SinFwdOp", "CosFwdOp"}
#: Parameters without which there is no call.
GIVEN = {"ClampScalarFwdOp": {"min": 0, "max": 1}}


def cases():
    """One capability and one launcher a dtype, each in turn."""
    turns = cycle((c, name) for name in ("flat", "tile") for c in CAPABILITIES)
    starts = cycle(range(len(DTYPES)))
    for row in TABLE:
        signature = getattr(family, row.op).bound().operator.signature
        several = len(signature.inputs) > 1
        start = next(starts) if several else 0
        # Functions of several tensors differ in little but an instruction: three dtypes, in turn.
        for dtype in (DTYPES[start:] + DTYPES[:start])[: 3 if several else None]:
            if dtype in signature.indices["T"].names:
                capability, launcher = next(turns)
                name = f"{row.op}-{dtype}-{launcher}-sm_{capability[0]}{capability[1]}"
                yield pytest.param(row, getattr(torch, dtype), launcher, capability, id=name)


def tensors(row, dtype, launcher):
    """Inputs and output on the meta device, as large as they are in a model."""
    op = getattr(family, row.op)
    x = torch.empty(2048, 8192, dtype=dtype, device="meta")
    if launcher == "tile":
        x = x.t()
    given = [
        torch.empty_like(x, dtype=torch.bool) if str(t.decl.dtype) == "bool" else x
        for t in op.bound().operator.signature.inputs
    ]
    if row.op == "PReLUFwdOp":
        given[1] = x[0]
    elif row.op == "MaskedFillTensorFwdOp":
        given[2] = x[0, 0]
    params = {p.name: p.default for p in op.bound().operator.signature.params}
    params |= GIVEN.get(row.op, {})
    return [torch.empty_like(op(**params)(*given))], given, params


@compiles
@pytest.mark.parametrize(("row", "dtype", "launcher", "capability"), list(cases()))
def test_it_compiles(row, dtype, launcher, capability) -> None:
    op = getattr(family, row.op)
    outputs, inputs, params = tensors(row, dtype, launcher)
    if row.op == "PReLUFwdOp":
        launcher = "tile"  # slopes of columns are never dense
    for launch in record(launcher_of(op, launcher), outputs, inputs, params, capability):
        resources = compile_launch(launch, capability)
        assert resources.spills <= (64 if row.op in SPILLING else 8), f"{launch.name}: {resources}"
        assert resources.registers <= (255 if dtype == torch.float64 else 128)
