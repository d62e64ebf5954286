"""The elementwise kernels against their references, in the interpreter and on a GPU."""

from __future__ import annotations

import math

import pytest
import torch

from tests.devices import DEVICES, gpu
from tileops.elementwise import (
    AddFwdOp,
    AlibiFwdOp,
    GELUAndMulFwdOp,
    GELUFwdOp,
    SiLUAndMulFwdOp,
    SinusoidalFwdOp,
)
from tileops.runtime.launch import Call
from tileops.testing.tolerance import assert_close, tolerance
from tileops.testing.values import launcher_of, poisoned, serve, stride_variants

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-40, 3e38, -3e38, 6e4, -30.0, -5.0, 20.0)


def exact_gelu(x: torch.Tensor, approximate: str) -> torch.Tensor:
    """In float64, and without the cancellation of torch's formulas on the far left."""
    x = x.double()
    if approximate == "none":
        return 0.5 * x * torch.special.erfc(-x / math.sqrt(2.0))
    return x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def check_gelu(x, approximate: str = "none") -> str:
    y = poisoned(x.shape, x.dtype, x.device)
    served = serve(GELUFwdOp, [y], [x], {"approximate": approximate})
    # 1 + erf(x) cancels on the far left, as in torch: a few roundings of x itself are allowed.
    accumulator = torch.float64 if x.dtype == torch.float64 else torch.float32
    atol = 16 * torch.finfo(accumulator).eps
    rtol = tolerance(x.dtype)[0]
    torch.testing.assert_close(y.double(), exact_gelu(x, approximate), rtol=rtol, atol=atol)
    return served


def check_add(a, b, alpha: int | float = 1) -> str:
    shape = torch.broadcast_shapes(a.shape, b.shape)
    y = poisoned(shape, a.dtype, a.device)
    served = serve(AddFwdOp, [y], [a, b], {"alpha": alpha})
    if a.dtype.is_floating_point:
        assert_close(y, AddFwdOp.reference(a.double(), b.double(), alpha=float(alpha)), a.dtype, 2)
    else:
        assert torch.equal(y, torch.add(a, b, alpha=alpha))
    return served


def check_silu_and_mul(x) -> None:
    y = poisoned((x.shape[0], x.shape[1] // 2), x.dtype, x.device)
    serve(SiLUAndMulFwdOp, [y], [x])
    assert_close(y, SiLUAndMulFwdOp.reference(x.double()), x.dtype)


def random(shape, dtype, device, low: int = -1000, high: int = 1000) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.randn(shape, device=device).to(dtype)
    return torch.randint(low, high, shape, device=device).to(dtype)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(device, dtype, approximate) -> None:
    for shape in ((), (1,), (7, 300), (2, 3, 1025)):
        assert check_gelu(torch.randn(shape, device=device).to(dtype) * 3, approximate) == "flat"
    x = torch.randn(3, 4, 10, device=device).to(dtype) * 3
    for _how, view in stride_variants(x):
        check_gelu(view, approximate)
    check_gelu(x[:, :1].expand(3, 50, 10), approximate)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_of_special_values(device, approximate) -> None:
    x = torch.tensor(SPECIAL, device=device)
    y = poisoned(x.shape, x.dtype, device)
    serve(GELUFwdOp, [y], [x], {"approximate": approximate})
    # One by one, as torch's CPU vectors of gelu give NaN at +inf (seen on 2.13).
    want = torch.stack([GELUFwdOp.reference(v, approximate=approximate) for v in x.cpu()])
    torch.testing.assert_close(y.cpu(), want, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.bool, *INTEGERS, *FLOATS])
def test_add(device, dtype) -> None:
    x = random((4, 3, 70), dtype, device)
    assert check_add(x, random(x.shape, dtype, device)) == "flat"
    assert check_add(random((), dtype, device), random((), dtype, device)) == "flat"
    for alpha in (3, 0, 2):
        check_add(x, x.flip(0), alpha)
        check_add(x, x[:, :1], alpha)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int64, torch.bool])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 5, 7), (7,)),
        ((3, 5, 7), (5, 1)),
        ((3, 1, 7), (1, 5, 1)),
        ((40, 3), (40, 1)),
        ((1,), (2, 3)),
        ((), (5, 9)),
        ((2, 1, 3, 1, 2, 1), (1, 3, 1, 2, 1, 4)),
        ((1, 2000), (3, 1)),
    ],
)
def test_add_broadcasts(device, dtype, a, b) -> None:
    check_add(random(a, dtype, device), random(b, dtype, device), 1)
    check_add(random(b, dtype, device), random(a, dtype, device), 2)


@pytest.mark.parametrize("device", DEVICES)
def test_add_strides(device) -> None:
    x = random((3, 4, 10), torch.float16, device)
    for _how, a in stride_variants(x):
        check_add(a, x, 2)
        check_add(x[0], a)
    t = x.transpose(0, 2)
    assert check_add(t, t.flip(0)) == "tile"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("dtype", "alpha"),
    [
        (torch.float32, 0.1),
        (torch.bfloat16, -2.5),
        (torch.float64, 0.1),
        (torch.float64, 1e300),
        (torch.float64, 0.0),
        (torch.float32, math.inf),
        (torch.float16, math.nan),
        (torch.int64, 2**40),
        (torch.int8, -128),
        (torch.uint8, -255),
        (torch.uint8, 16),
        (torch.bool, True),
        (torch.bool, False),
        (torch.bool, 256),
    ],
)
def test_add_alpha(device, dtype, alpha) -> None:
    check_add(random((300,), dtype, device), random((300,), dtype, device), alpha)
    check_add(random((3, 50), dtype, device), random((3, 1), dtype, device), alpha)


@pytest.mark.parametrize(
    ("dtype", "alpha", "why"),
    [
        (torch.int32, 1.0, "is a float"),
        (torch.bool, 1.5, "is a float"),
        (torch.uint8, 256, "does not fit"),
        (torch.int8, 128, "does not fit"),
        (torch.float32, 1e300, "too large"),
        (torch.float32, True, "is a bool"),
    ],
)
@pytest.mark.parametrize("name", ["flat", "tile"])
def test_add_leaves_refusals_to_the_reference(dtype, alpha, why, name) -> None:
    x = torch.ones(2, dtype=dtype)
    reason = launcher_of(AddFwdOp, name)(Call(x.device, None), x, x, x, alpha=alpha)
    assert reason is not None and why in reason
    with pytest.raises(RuntimeError):
        AddFwdOp.reference(x, x, alpha=alpha)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_add_complex(device, dtype) -> None:
    x = torch.randn(3, 4, 10, device=device, dtype=dtype)
    assert check_add(x, x.flip(0)) == "flat"
    for other in (x[0], x[:, :, :1], x.transpose(0, 2).contiguous().transpose(0, 2), x[0, 0, 0]):
        check_add(x, other)
    for name in ("flat", "tile"):
        call = Call(x.device, None)
        assert "scaled" in (launcher_of(AddFwdOp, name)(call, x, x, x, alpha=2) or "")


@pytest.mark.parametrize("device", DEVICES)
def test_add_of_special_values(device) -> None:
    x = torch.tensor(SPECIAL, device=device)
    a, b = torch.meshgrid(x, x, indexing="ij")
    check_add(a, b)
    check_add(a.contiguous(), b.contiguous(), -1)
    big = torch.tensor([2**62, -(2**62), 2**63 - 1], device=device)
    check_add(big, big, 3)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_silu_and_mul(device, dtype) -> None:
    for shape in ((1, 2), (5, 24), (3, 5000), (70, 6)):
        check_silu_and_mul((torch.randn(shape, device=device) * 4).to(dtype))
    x = (torch.randn(6, 20, device=device) * 4).to(dtype)
    for _how, view in stride_variants(x):
        check_silu_and_mul(view)
    check_silu_and_mul(x[:1].expand(4, 20))
    x[0, 0], x[1, 0], x[2, 0], x[3, 0] = math.nan, math.inf, -200.0, 200.0
    check_silu_and_mul(x)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_and_mul(device, dtype, approximate) -> None:
    x = (torch.randn(6, 20, device=device) * 2).to(dtype)
    for _how, view in stride_variants(x):
        y = poisoned((6, 10), dtype, device)
        serve(GELUAndMulFwdOp, [y], [view], {"approximate": approximate})
        gate, up = view.double().chunk(2, dim=1)
        torch.testing.assert_close(
            y.double(), exact_gelu(gate, approximate) * up, rtol=tolerance(dtype)[0], atol=1e-5
        )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize(("seq_len", "d_model"), [(7, 6), (300, 5), (1, 1), (20, 1030)])
def test_sinusoidal(device, dtype, seq_len, d_model) -> None:
    y = poisoned((seq_len, d_model), dtype, device)
    params = {"seq_len": seq_len, "d_model": d_model, "device": device}
    serve(SinusoidalFwdOp, [y], [], {**params, "out_dtype": dtype})
    assert_close(y, SinusoidalFwdOp.reference(**params, out_dtype=torch.float64), dtype)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize(("seq_len", "num_heads"), [(7, 8), (70, 12), (1, 1), (130, 3)])
def test_alibi(device, dtype, seq_len, num_heads) -> None:
    y = poisoned((num_heads, seq_len, seq_len), dtype, device)
    params = {"seq_len": seq_len, "num_heads": num_heads, "device": device}
    serve(AlibiFwdOp, [y], [], {**params, "out_dtype": dtype})
    assert_close(y, AlibiFwdOp.reference(**params, out_dtype=torch.float64), dtype)


@pytest.mark.parametrize("device", DEVICES)
def test_offsets_past_two_to_the_31(device) -> None:
    store = torch.empty(2**31 + 64, dtype=torch.bfloat16, device=device)
    x = store.as_strided((2, 64), (2**31, 1))
    x.copy_(torch.randn(2, 64, device=device))
    check_gelu(x)
    check_add(x, x[1])
    check_add(x.t(), x.t().contiguous())
    check_silu_and_mul(x)


@gpu
@pytest.mark.parametrize("dtype", FLOATS)
def test_full_size(dtype) -> None:
    x = torch.randn(2048, 28672, device="cuda").to(dtype)
    check_gelu(x)
    check_gelu(x.t(), "tanh")
    check_silu_and_mul(x)
    check_add(x, x.flip(0), 0.5)
    check_add(x, x[0])
    check_add(x, x[:, :1], 3)
    check_add(x.t(), x.t().contiguous())


@gpu
@pytest.mark.parametrize("dtype", [torch.bool, *INTEGERS])
def test_full_size_integers(dtype) -> None:
    x = random((4096, 4099), dtype, "cuda")
    check_add(x, x.flip(0), 3)
    check_add(x, x[0], 2)


@gpu
def test_sinusoidal_full_size() -> None:
    for shape in ((131072, 512), (2048, 4096)):
        y = poisoned(shape, torch.float32, "cuda")
        params = {"seq_len": shape[0], "d_model": shape[1], "device": "cuda"}
        serve(SinusoidalFwdOp, [y], [], {**params, "out_dtype": torch.float32})
        exact = SinusoidalFwdOp.reference(**params, out_dtype=torch.float64)
        assert_close(y, exact, torch.float32)


@gpu
def test_alibi_full_size() -> None:
    for heads, dtype in ((112, torch.bfloat16), (32, torch.float32)):
        y = poisoned((heads, 2048, 2048), dtype, "cuda")
        params = {"seq_len": 2048, "num_heads": heads, "device": "cuda"}
        serve(AlibiFwdOp, [y], [], {**params, "out_dtype": dtype})
        assert_close(y, AlibiFwdOp.reference(**params, out_dtype=torch.float64), dtype)


@gpu
def test_more_than_two_to_the_31_elements() -> None:
    x = torch.randint(-100, 100, (2**31 + 1000,), device="cuda", dtype=torch.int8)
    y = poisoned(x.shape, x.dtype, "cuda")
    serve(AddFwdOp, [y], [x, x], {"alpha": 2})
    assert torch.equal(y[-1000:], x[-1000:] * 3)
    assert torch.equal(y[:1000], x[:1000] * 3)
    wide = x[: 2**31].view(2**20, 2**11)
    serve(AddFwdOp, [y[: 2**31].view(2**20, 2**11)], [wide, wide[0]], {"alpha": 1})
    assert torch.equal(y[2**31 - 2**11 : 2**31], wide[-1] + wide[0])
