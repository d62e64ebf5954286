"""The kernels that choose, hold and mix elements against PyTorch, on the tensors' own device."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import tileops.elementwise as family
from tests.devices import DEVICES, gpu
from tileops.elementwise.functions import FUNCTIONS
from tileops.elementwise.table import SELECTIONS
from tileops.testing.tolerance import assert_close
from tileops.testing.values import poisoned, serve, stride_variants

SPECIAL = (
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, 3.0, -7.0, 100.0, 6e4),
    *(1e-8, -3e38, 0.49999997),
)
LERP = {"LerpScalarFwdOp", "LerpTensorFwdOp"}
selections = pytest.mark.parametrize("row", SELECTIONS, ids=lambda row: row.op)


def dtypes_of(row) -> list[torch.dtype]:
    """The dtypes that the kernels serve."""
    op = getattr(family, row.op)
    function = FUNCTIONS.get(row.kernel, FUNCTIONS["clamp"])
    parts = function.parts or function.moves
    found = [getattr(torch, name) for name in op.bound().operator.signature.indices["T"].names]
    return [dtype for dtype in found if parts or not dtype.is_complex]


def numbers(dtype: torch.dtype, count: int, device, special: bool = True) -> torch.Tensor:
    """Special values among random ones."""
    if dtype == torch.bool:
        return torch.randint(0, 2, (count,), device=device).bool()
    if not dtype.is_floating_point and not dtype.is_complex:
        limits = torch.iinfo(dtype)
        low = max(limits.min, -(10**6))
        return torch.randint(low, 120, (count,), device=device).to(dtype)
    x = torch.randn(count) * 3
    if special:
        x[torch.randint(count, (2 * len(SPECIAL),))] = torch.tensor(SPECIAL * 2)
    if dtype.is_complex:
        return torch.complex(x, x.flip(0)).to(device, dtype)
    return x.to(device).to(dtype)


def calls(row, dtype, shape, device) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Inputs of that shape, as the operator takes them, and parameters."""
    count = math.prod(shape)

    def one() -> torch.Tensor:
        return numbers(dtype, count, device).view(shape)

    def mask() -> torch.Tensor:
        return torch.rand(shape, device=device) < 0.4

    match row.op:
        case "WhereFwdOp":
            yield [mask(), one(), one()], {}
        case "MaskedFillTensorFwdOp":
            yield [one(), mask(), one().flatten()[-1]], {}
        case "MaskedFillScalarFwdOp":
            floating = dtype.is_floating_point
            values = (math.nan, -math.inf, 0.1, -0.0) if floating else (0, 1)
            for value in values:
                yield [one(), mask()], {"value": value}
        case "ClampTensorFwdOp":
            yield [one(), one(), one()], {}
            yield [one(), None, one()], {}
            yield [one(), one(), None], {}
        case "ClampScalarFwdOp":
            ends = (0.3, 2.7, math.nan, -math.inf) if dtype.is_floating_point else (1, 50)
            yield from ([[one()], {"min": a, "max": b}] for a in (None, *ends) for b in ends)
            yield [one()], {"min": ends[1], "max": None}
        case "LerpScalarFwdOp":
            yield from ([[one(), one()], {"weight": w}] for w in (0.3, 0.5, 1.5, -2.0))
        case "LerpTensorFwdOp":
            yield [one(), one(), one()], {}
        case "PReLUFwdOp":
            yield [one(), numbers(dtype, shape[1], device, False)], {}
            yield [one(), numbers(dtype, 1, device, False)], {}
        case "NanToNumFwdOp":
            yield [one()], {}
            yield [one()], {"nan": 1e300, "posinf": 2.0, "neginf": -math.inf}


def bits(x: torch.Tensor) -> torch.Tensor:
    x = torch.view_as_real(x) if x.is_complex() else x
    return x.contiguous().view(torch.uint8)


def check(row, inputs, params) -> str:
    op = getattr(family, row.op)
    given = {p.name: p.default for p in op.bound().operator.signature.params} | params
    wanted = op.reference(*inputs, **given)
    got = poisoned(wanted.shape, torch.float32, wanted.device).to(wanted.dtype)
    served = serve(op, [got], inputs, given)
    if row.op in ("WhereFwdOp", "MaskedFillTensorFwdOp"):
        assert torch.equal(bits(got), bits(wanted))
    elif row.op in LERP:
        finite = wanted.isfinite() & (wanted.abs() < 1e30)
        torch.testing.assert_close(got[~finite], wanted[~finite], rtol=1e-2, atol=0, equal_nan=True)
        # Where the ends cancel, what is left is as exact as the larger one is.
        a, b = (x.expand(wanted.shape)[finite].double() for x in inputs[:2])
        weight = given.get("weight", inputs[-1])
        weight = weight.expand(wanted.shape)[finite] if isinstance(weight, torch.Tensor) else weight
        size = (a.abs() + b.abs()) * (1 + abs(weight)) + wanted[finite].abs()
        error = (got[finite].double() - wanted[finite].double()).abs()
        assert bool((error <= 2 * torch.finfo(wanted.dtype).eps * size + 1e-37).all())
    elif row.op == "PReLUFwdOp" or (wanted.dtype == torch.bfloat16 and not wanted.is_cuda):
        # The interpreter cuts bfloat16 off instead of rounding it.
        assert_close(got, wanted.double(), wanted.dtype)
    else:
        torch.testing.assert_close(got, wanted, rtol=0, atol=0, equal_nan=True)
    return served


@pytest.mark.parametrize("device", DEVICES)
@selections
def test_every_dtype(device, row) -> None:
    for dtype in dtypes_of(row):
        for inputs, params in calls(row, dtype, (3, 7, 20), device):
            check(row, inputs, params)


def views(x: torch.Tensor) -> Iterator[torch.Tensor]:
    """x in other layouts, and parts of it that broadcast."""
    for _, view in stride_variants(x):
        yield view
    yield from (x[0], x[:, :1], x[..., :1], x[0, 0, 0], x[0, :, 0][:, None])


@pytest.mark.parametrize("device", DEVICES)
@selections
def test_strides_and_broadcasts(device, row) -> None:
    dtype = torch.float32
    inputs, params = next(calls(row, dtype, (3, 4, 10), device))
    for at, x in enumerate(inputs):
        if x.dim() < 3:
            continue
        for view in views(x):
            if row.op == "PReLUFwdOp" and view.shape[:2] != x.shape[:2]:
                continue  # the slopes are those of axis 1
            check(row, [*inputs[:at], view, *inputs[at + 1 :]], params)
    served = check(row, inputs, params)
    assert served == ("tile" if row.op == "PReLUFwdOp" else "flat")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(1,), (6,), (4, 3), (2, 1, 5), (2, 3, 4, 5)])
def test_slopes(device, shape) -> None:
    (row,) = (row for row in SELECTIONS if row.op == "PReLUFwdOp")
    x = torch.randn(shape, device=device)
    slopes = [torch.tensor(0.3, device=device), torch.tensor([-1.5], device=device)]
    if len(shape) > 1:
        slopes.append(torch.randn(2 * shape[1], device=device)[::2])
    for weight in slopes:
        check(row, [x, weight], {})
        check(row, [x.t() if x.dim() == 2 and weight.numel() == 1 else x, weight], {})


@gpu
@selections
def test_full_size(row) -> None:
    for dtype in dtypes_of(row):
        for inputs, params in calls(row, dtype, (2**10, 2**11), "cuda"):
            check(row, inputs, params)
