"""The reduction kernels against the float64 reference, in the interpreter and on a GPU.

Every operator in every regime: many short rows, long rows, few long rows in parts, columns, and
two reduced axes that one stride does not reach.
"""

from __future__ import annotations

import math
import warnings

import pytest
import torch

import tileops.reduction as family
from tests.devices import DEVICES, gpu
from tileops.reduction.table import REDUCTIONS
from tileops.testing.tolerance import assert_close
from tileops.testing.values import poisoned, serve, stride_variants

BY_NAME = {row.name: getattr(family, row.op) for row in REDUCTIONS}
NAMES = list(BY_NAME)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
ONE_AXIS = {"prod", "argmax", "argmin"}
ORDERS = (0, 1, 2, 3, 2.0000001, 0.5, -1.5, math.inf, -math.inf)


def some(name, regimes, regime, share) -> tuple[torch.dtype, ...]:
    """One in `share` of all dtypes, in turn: compiling, and the interpreter, are what takes time.

    Small and full sizes take their turns apart, and together every dtype in most regimes.
    """
    turn = NAMES.index(name) + list(regimes).index(regime)
    return (*FLOATS, *INTEGERS)[turn % share :: share]


def takes(name, dtype, dim) -> bool:
    """Whether the entry takes the dtype and the axes."""
    if dtype not in FLOATS and name == "mean":
        return False
    if name in ONE_AXIS and (isinstance(dim, list) or (dim is None and name == "prod")):
        return False
    if name == "logsumexp" and dim is None:
        return False
    declared = BY_NAME[name].bound().operator.signature.indices["T"].names
    return str(dtype).removeprefix("torch.") in declared


def values(name, shape, dtype, device):
    """Random elements whose reduction is no overflow, and where extrema tie."""
    x = torch.randn(shape, device=device) * 3
    if name == "prod" and dtype.is_floating_point:
        x = 1 + x / 300
    if dtype == torch.bool:
        return x > (-8 if name == "all" else 8 if name == "any" else 0)
    return (x.abs() if dtype == torch.uint8 else x).to(dtype)


def exact(name, x, params):
    """The reference in float64, or on integers as they are."""
    wide = x.double() if x.is_floating_point() or name == "logsumexp" else x
    if params.get("dtype") is not None:
        wide = x.to(params["dtype"])
        wide = wide.double() if wide.is_floating_point() else wide
        params = params | {"dtype": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = BY_NAME[name].reference(wide, **params)
    return results if isinstance(results, tuple) else (results,)


def check(name, x, only=None, **params) -> str:
    """Runs the kernels; returns which one served."""
    op = BY_NAME[name]
    declared = {p.name: p.default for p in op.bound().operator.signature.params}
    wanted = exact(name, x, params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        specs = op(**params)(x.to("meta"))
    specs = specs if isinstance(specs, tuple) else (specs,)
    outputs = [poisoned(spec.shape, spec.dtype, x.device) for spec in specs]
    served = serve(op, outputs, [x], declared | params, only)
    length = max(1, x.numel() // max(1, outputs[0].numel()))
    for output, want in zip(outputs, wanted, strict=True):
        # A product's error grows with its length, not with the root of it.
        assert_close(output, want, output.dtype, length**2 if name == "prod" else length)
    return served


SMALL = {
    "rows": ((5, 37), -1),
    "short rows": ((37, 5), 1),
    "columns": ((3, 12, 9), 1),
    "all": ((4, 5, 6), None),
    "two axes": ((2, 4, 3, 7), [1, 3]),
    "scalar": ((), None),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("regime", SMALL)
@pytest.mark.parametrize("name", NAMES)
def test_small(device, name, regime) -> None:
    shape, dim = SMALL[regime]
    if regime == "scalar" and name in ("logsumexp", "prod"):
        dim = 0
    for dtype in some(name, SMALL, regime, 3):
        if takes(name, dtype, dim):
            check(name, values(name, shape, dtype, device), dim=dim)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["sum", "var_mean", "argmin"])
def test_strides(device, name) -> None:
    x = values(name, (2, 2, 3, 10), torch.float32, device)
    for _how, view in stride_variants(x):
        for dim in (0, 3, [0, 2]):
            if takes(name, x.dtype, dim):
                check(name, view, dim=dim, **({} if name == "count_nonzero" else {"keepdim": True}))
    check(name, x[:, :1].expand(2, 5, 3, 10), dim=1)


LONG = {
    "few rows": (((1, 40960), -1), "split"),
    "rows that start anywhere": (((13, 12293), -1), "direct"),
    "few rows that start anywhere": (((2, 33001), 1), "split"),
    "few columns": (((8200, 5), 0), "split"),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("regime", LONG)
@pytest.mark.parametrize("name", NAMES)
def test_long(device, name, regime) -> None:
    (shape, dim), served = LONG[regime]
    for dtype in (torch.bfloat16, torch.int16, torch.int32, torch.bool):
        # In the interpreter bfloat16 speaks for all, and a product takes one by one.
        if device == "cpu" and (dtype != torch.bfloat16 or name == "prod"):
            continue
        if not takes(name, dtype, dim):
            continue
        got = check(name, values(name, shape, dtype, device), dim=dim)
        assert got == served or device != "cpu"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("order", ORDERS)
def test_norms(device, order) -> None:
    for dtype in FLOATS:
        x = values("norm", (6, 40), dtype, device)
        check("norm", x, ord=order, dim=1)
        check("norm", x, ord=order)
    check("norm", values("norm", (6, 40), torch.float16, device), ord=order, dtype=torch.float32)


@pytest.mark.parametrize("device", DEVICES)
def test_dtype_casts_first(device) -> None:
    x = torch.randn(4, 30, device=device) * 40
    for dtype in (torch.float16, torch.float64, torch.int8, torch.int64):
        check("sum", x, dim=1, dtype=dtype)
    check("mean", x.to(torch.int32), dim=0, dtype=torch.float32)
    check("mean", x, dim=0, dtype=torch.float64)
    check("prod", (x > 0).int() + 1, dim=0, dtype=torch.float32)
    check("sum", x.to(torch.int32), dim=1, dtype=torch.int8)
    check("sum", (x > 0), dim=1, dtype=torch.float16)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("correction", [0, 1, 1.5, 4, 9, None])
def test_corrections(device, correction) -> None:
    x = torch.randn(3, 4, device=device)
    for name in ("var", "std", "var_mean"):
        for dtype in FLOATS:
            check(name, x.to(dtype), dim=1, correction=correction)


@pytest.mark.parametrize("device", DEVICES)
def test_variance_of_large_means(device) -> None:
    for shape, dim in (((4, 300), 1), ((4, 9000), 1), ((600, 3), 0)):
        check("var", torch.randn(shape, device=device) + 1000, dim=dim)
    x = torch.randn(2, 5000, device=device)
    x[:, 0] = 1e4
    check("std", x, dim=1)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "var_mean"])
def test_special_values(device, name) -> None:
    """All, one, many of a row, and beside a NaN; what the mean of infinities is, depends on the
    order."""
    for dtype in FLOATS if device != "cpu" else (torch.float32,):
        x = torch.randn(16, 70, device=device).to(dtype)
        for at, special in enumerate((math.nan, math.inf, -math.inf, 65504.0)):
            x[4 * at] = special
            x[4 * at + 1, 3] = special
            x[4 * at + 2, 30:] = special
            x[4 * at + 3, 7], x[4 * at + 3, 60] = math.nan, special
        check(name, x.t().contiguous(), dim=0)
        if device != "cpu":
            check(name, x, dim=1)


@pytest.mark.parametrize("device", DEVICES)
def test_the_first_of_equals(device) -> None:
    for name in ("argmax", "argmin"):
        for dtype in (torch.float32, torch.int64):
            x = torch.randint(0, 3, (3, 200), device=device).to(dtype)
            for dim in (0, 1, None):
                check(name, x, dim=dim)
            check(name, x.t(), dim=None)
            check(name, torch.zeros_like(x), dim=1)
        low = torch.full((1, 20001), -math.inf if name == "argmax" else math.inf, device=device)
        check(name, low, dim=1)
        low[0, 15000] = math.nan
        check(name, low, dim=1)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_to_reduce(device, name) -> None:
    x = torch.randn(3, 0, device=device)
    if name in ("amax", "amin", "argmax", "argmin"):
        return
    check(name, x, dim=1)
    check(name, x.t(), dim=0)


@pytest.mark.parametrize("device", DEVICES)
def test_no_axis_is_every_element(device) -> None:
    x = torch.tensor([[0.0, math.nan, 2.0], [-0.0, 1.0, 0.0]], device=device)
    for name in ("all", "any"):
        check(name, x, dim=[])
        check(name, x.t(), dim=[])
    for name in ("sum", "amax", "count_nonzero", "var", "norm"):
        check(name, x.nan_to_num(), dim=[])


@pytest.mark.parametrize("device", DEVICES)
def test_complex_sums_are_of_their_parts(device) -> None:
    for name, dtype in (("sum", torch.complex64), ("mean", torch.complex128)):
        x = torch.randn(2, 5, 3, dtype=dtype, device=device)
        for view in (x.conj(), x.transpose(0, 2)):
            for dim in (1, [0, 2], None):
                wanted = BY_NAME[name].reference(view, dim=dim)
                got = torch.empty_like(wanted).fill_(math.nan)
                params = {"dim": dim, "keepdim": False, "dtype": None}
                serve(BY_NAME[name], [got], [view], params)
                torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("device", DEVICES)
def test_offsets_past_two_to_the_31(device) -> None:
    store = torch.empty(2**31 + 9000, dtype=torch.bfloat16, device=device)
    x = store.as_strided((2, 9000), (2**31, 1))
    x.copy_(torch.randn(2, 9000, device=device))
    for name in ("sum", "argmax", "var"):
        check(name, x, dim=1)
        check(name, x[:, :64], dim=0)
        check(name, x, dim=None)


@pytest.mark.parametrize("device", DEVICES)
def test_integers_wrap_as_torchs(device) -> None:
    x = torch.full((3, 50), 2**62, dtype=torch.int64, device=device)
    check("sum", x, dim=1)
    check("prod", torch.full((3, 50), 3, dtype=torch.int32, device=device), dim=1)
    check("sum", torch.full((1, 40000), 255, dtype=torch.uint8, device=device), dim=1)
    check("sum", torch.full((1, 40000), -(2**15), dtype=torch.int16, device=device), dim=1)
    check("count_nonzero", torch.ones(1, 40000, dtype=torch.int64, device=device), dim=1)
    check("prod", torch.full((1, 33000), 1.0001, device=device), dim=1)


FULL = {
    "rows": ((1000, 4096), 1),
    "short rows": ((65536, 64), 1),
    "few long rows": ((4, 102400), 1),
    "odd rows": ((64, 50257), 1),
    "columns": ((16, 1024, 512), 1),
    "all": ((2048, 4096), None),
    "two axes": ((32, 64, 24, 128), [1, 3]),
}


@gpu
@pytest.mark.parametrize("regime", FULL)
@pytest.mark.parametrize("name", NAMES)
def test_full_size(name, regime) -> None:
    shape, dim = FULL[regime]
    for dtype in some(name, FULL, regime, 2):
        if takes(name, dtype, dim):
            check(name, values(name, shape, dtype, "cuda"), dim=dim)


@gpu
def test_more_than_two_to_the_31_elements() -> None:
    x = torch.ones(2**19 + 3, 4096, device="cuda", dtype=torch.int8)
    x[-1, -1] = 2
    assert family.SumFwdOp()(x).item() == x.numel() + 1
    assert family.ArgmaxFwdOp()(x).item() == x.numel() - 1
    assert bool(family.AllFwdOp()(x))
    assert family.CountNonzeroFwdOp(dim=0)(x).tolist() == [2**19 + 3] * 4096
