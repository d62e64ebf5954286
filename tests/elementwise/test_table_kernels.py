"""The kernels of the table against PyTorch in float64, in the interpreter and on a GPU."""

from __future__ import annotations

import math

import pytest
import torch

import tileops.elementwise as family
from tests.devices import DEVICES, gpu
from tileops.elementwise.functions import FUNCTIONS
from tileops.elementwise.table import ACTIVATIONS, TABLE, UNARY
from tileops.runtime.errors import CallError
from tileops.runtime.launch import Call
from tileops.testing.tolerance import assert_close
from tileops.testing.values import launcher_of, poisoned, serve, stride_variants

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
SPECIAL = (
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-20, -1e-20, 1e-8, -1e-3, 0.5, -0.5, 1.5, 2.5),
    *(-2.5, 1.0, -1.0, 0.49999997, 88.5, 89.0, -88.0, -100.0, 3e38, -3e38, 6e4, -30.0, 20.0, -0.3),
    *(8388609.0, 4503599627370497.0),
)
#: The interpreter flushes these in bfloat16.
DENORMAL = (1e-40, -1e-40, 1e-45)

#: Whose constants torch holds in single precision on a GPU, for double precision too.
COARSE_ON_CUDA = {"HardswishFwdOp", "HardsigmoidFwdOp"}
#: The zero of a negative zero has one sign on the CPU and the other on a GPU.
EITHER_ZERO = {"ReLUFwdOp"}

unary = pytest.mark.parametrize("row", UNARY + ACTIVATIONS, ids=lambda row: row.op)


def dtypes_of(row) -> list[torch.dtype]:
    signature = getattr(family, row.op).bound().operator.signature
    found = [getattr(torch, name) for name in signature.indices["T"].names]
    return [d for d in found if not d.is_complex and d.itemsize > (1 if d.is_floating_point else 0)]


def defaults_of(op) -> dict[str, object]:
    return {p.name: p.default for p in op.bound().operator.signature.params}


def values(dtype, count: int = 200) -> torch.Tensor:
    """Special values of the dtype, then random ones."""
    if dtype.is_floating_point:
        special = SPECIAL if dtype == torch.bfloat16 else SPECIAL + DENORMAL
        x = torch.tensor(special, dtype=torch.float64)
        return torch.cat([x, torch.randn(count).double() * 3]).to(dtype)
    x = torch.randint(-100, 100, (count,)).to(dtype)
    if dtype == torch.bool:
        return x
    limits = torch.iinfo(dtype)
    return torch.cat([torch.tensor([limits.min, limits.max, 0, 1], dtype=dtype), x])


def admitted(row, dtype) -> dict[str, object]:
    """Parameters that torch takes for a dtype: an unsigned one has no negative bounds."""
    bounded = row.op == "HardtanhFwdOp" and dtype == torch.uint8
    return {"min_val": 2.0, "max_val": 50.0} if bounded else {}


def check(row, inputs, params=None) -> str:
    """The kernel's results are the reference's in float64, rounded; zeros have its signs.

    Where the reference in the tensors' own dtype is not finite, that is the expectation.
    """
    op = getattr(family, row.op)
    params = defaults_of(op) | dict(params or {})
    torchs = op.reference(*inputs, **params)
    wanted = torchs
    if torchs.is_floating_point() and inputs[-1].is_floating_point():
        place = "cpu" if row.op in COARSE_ON_CUDA else inputs[0].device
        wide = (x.to(place).double() if x.is_floating_point() else x for x in inputs)
        wanted = op.reference(*wide, **params).to(torchs.device)
        wanted = torch.where(torchs.isfinite(), wanted, torchs.double())
    got = poisoned(wanted.shape, torchs.dtype, inputs[0].device)
    served = serve(op, [got], list(inputs), params)
    assert_close(got, wanted, torchs.dtype)
    if torchs.is_floating_point() and not (torchs.is_cuda and row.op in EITHER_ZERO):
        zeros = torchs == 0
        assert torch.equal(got[zeros].signbit(), torchs[zeros].signbit())
    return served


@pytest.mark.parametrize("device", DEVICES)
@unary
def test_every_dtype(device, row) -> None:
    for dtype in dtypes_of(row):
        x = values(dtype).to(device)
        assert check(row, [x], admitted(row, dtype)) == "flat"


def test_torch_has_no_negative_bounds_of_unsigned_integers() -> None:
    x = torch.arange(9, dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="negative limits"):
        torch.nn.functional.hardtanh(x)
    with pytest.raises(CallError, match=r"representable\(min_val, T\).*T=uint8, .*min_val=-1.0"):
        family.HardtanhFwdOp()(x)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("op", "params"),
    [
        ("ELUFwdOp", {"alpha": 0.3}),
        ("LeakyReLUFwdOp", {"negative_slope": -1.7}),
        ("HardtanhFwdOp", {"min_val": -0.1, "max_val": 2.7}),
        ("SoftplusFwdOp", {"beta": 0.7, "threshold": 5.0}),
        ("SoftplusFwdOp", {"beta": 3.0, "threshold": 60.0}),
    ],
)
def test_parameters(device, op, params) -> None:
    (row,) = (row for row in ACTIVATIONS if row.op == op)
    for dtype in FLOATS:
        check(row, [values(dtype).to(device)], params)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "row", [row for row in ACTIVATIONS if row.op != "SoftplusFwdOp"], ids=lambda row: row.op
)
def test_in_place(device, row) -> None:
    """A kernel that writes the tensor that it reads, as the runtime has it do."""
    op = getattr(family, row.op)
    x = torch.randn(300, device=device)
    params = defaults_of(op) | {"inplace": True}
    wanted = op.reference(x.double(), **params)
    serve(op, [x], [x], params)
    assert_close(x, wanted, torch.float32)


@pytest.mark.parametrize("device", DEVICES)
@unary
def test_strides(device, row) -> None:
    dtype = dtypes_of(row)[-1]
    x = values(dtype)[-120:].view(3, 4, 10).to(device)
    for _how, view in stride_variants(x):
        check(row, [view])
    check(row, [x[:, :1].expand(3, 50, 10)])
    check(row, [x[0, 0, 0]])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("decimals", [1, 3, -1, 0])
def test_round_to_decimals(device, dtype, decimals) -> None:
    """Of the same dtype: what scaling does to a value near a tie is part of the answer."""
    x = torch.cat([torch.randn(300) * 40, torch.arange(40) + 0.5]).to(device, dtype)
    y = poisoned(x.shape, dtype, device)
    serve(family.RoundFwdOp, [y], [x], {"decimals": decimals})
    torch.testing.assert_close(y, torch.round(x, decimals=decimals), rtol=0, atol=0)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.op)
def test_what_is_left_to_the_reference(row) -> None:
    """Complex numbers and eight-bit floats, where their function takes neither."""
    op = getattr(family, row.op)
    function = FUNCTIONS.get(row.kernel)
    for name in op.bound().operator.signature.indices["T"].names:
        dtype = getattr(torch, name)
        eight = dtype.is_floating_point and dtype.itemsize == 1
        if not (dtype.is_complex or eight) or function is None:
            continue
        if function.moves or (function.eight if eight else function.parts):
            continue
        x = torch.empty(3, dtype=dtype, device="meta")
        declared = op.bound().operator.signature.inputs
        inputs = [x.to(torch.bool) if str(t.decl.dtype) == "bool" else x for t in declared]
        output = op()(*inputs)
        for launcher in op.kernel_types:
            call = Call(x.device, (9, 0))
            reason = launcher_of(op, launcher)(call, output, *inputs, **defaults_of(op))
            assert reason == f"{dtype} is left to the reference"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "name", ["IsnanFwdOp", "IsinfFwdOp", "IsfiniteFwdOp", "EqFwdOp", "NeFwdOp"]
)
@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_eight_bit_floats(device, name, dtype) -> None:
    """Every one of them."""
    op = getattr(family, name)
    if str(dtype).removeprefix("torch.") not in op.bound().operator.signature.indices["T"].names:
        return
    bits = torch.arange(256, dtype=torch.uint8, device=device).view(dtype)
    inputs = [bits]
    if len(op.bound().operator.signature.inputs) == 2:
        inputs = [bits[:, None].expand(256, 256), bits]
    for given in (inputs, [x[..., ::2] for x in inputs]):
        wanted = op.reference(*(x.float() for x in given))
        got = poisoned(wanted.shape, torch.bool, device)
        serve(op, [got], given)
        assert torch.equal(got, wanted)
        assert torch.equal(op.reference(*given), wanted)


@gpu
@unary
def test_full_size(row) -> None:
    for dtype in dtypes_of(row):
        x = values(dtype, 2**22).to("cuda")
        params = admitted(row, dtype)
        assert check(row, [x], params) == "flat"
        check(row, [x[: 2**22].view(2**11, 2**11).t()], params)


@gpu
def test_more_than_two_to_the_31_elements() -> None:
    x = torch.randint(-100, 100, (2**31 + 1000,), device="cuda", dtype=torch.int8)
    y = poisoned(x.shape, x.dtype, "cuda")
    serve(family.NegFwdOp, [y], [x])
    assert torch.equal(y[-1000:], -x[-1000:]) and torch.equal(y[:1000], -x[:1000])
