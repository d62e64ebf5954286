"""Rotary embedding: the reference against complex rotation, the kernel against the reference."""

from __future__ import annotations

import pytest
import torch

from tests.devices import DEVICES, gpu
from tileops.rope import RoPEFwdOp
from tileops.testing.tolerance import assert_close
from tileops.testing.values import poisoned, serve, stride_variants

DTYPES = (torch.float16, torch.bfloat16, torch.float32)
LAYOUTS = ("neox", "interleaved")
rope = RoPEFwdOp.reference


def turned(x: torch.Tensor, layout: str, base: float) -> torch.Tensor:
    """Pairs as complex numbers, times e ** (i * angle); x is [B, S, H, D]."""
    half = x.shape[-1] // 2
    return turned_by(x, base ** (-torch.arange(half, dtype=torch.float64) / half), layout)


def turned_by(x, frequency, layout="neox", position=None) -> torch.Tensor:
    """As `turned`, by the frequencies that are given."""
    x = x.double()
    half = x.shape[-1] // 2
    if layout == "neox":
        z = torch.complex(x[..., :half], x[..., half:])
    else:
        z = torch.complex(x[..., ::2], x[..., 1::2])
    if position is None:
        position = torch.arange(x.shape[1])
    angle = position.double()[:, None] * frequency
    z = z * torch.polar(torch.ones_like(angle), angle)[:, None, :]
    if layout == "neox":
        return torch.cat((z.real, z.imag), dim=-1)
    return torch.view_as_real(z).flatten(-2)


@pytest.mark.parametrize("dtype", [*DTYPES, torch.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("base", [10000.0, 500000.0])
def test_reference_is_complex_rotation(dtype, layout, base) -> None:
    x = torch.randn(2, 70, 3, 16, dtype=dtype)
    exact = turned(x, layout, base)
    for how, view in stride_variants(x):
        y = rope(view, rope_layout=layout, input_layout="2d", base=base)
        assert y.is_contiguous(), how
        assert_close(y, exact, dtype, 2)
    y = rope(x[0, :, 1], rope_layout=layout, input_layout="1d", base=base)
    assert_close(y, exact[0, :, 1], dtype, 2)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_reference_is_vllms_up_to_its_float32_angles(layout) -> None:
    x = torch.randn(1, 500, 2, 64)
    inverse = 1.0 / (10000.0 ** (torch.arange(0, 64, 2, dtype=torch.float) / 64))
    angle = torch.arange(500, dtype=torch.float)[:, None, None] * inverse
    if layout == "neox":
        a, b = x.chunk(2, -1)
    else:
        a, b = x[..., ::2], x[..., 1::2]
    parts = (a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin())
    want = torch.cat(parts, -1) if layout == "neox" else torch.stack(parts, -1).flatten(-2)
    got = rope(x, rope_layout=layout, input_layout="2d")
    torch.testing.assert_close(got, want, rtol=0, atol=500 * 2**-22)


def test_position_zero_is_left_alone_and_outputs_are_fresh() -> None:
    x = torch.randn(4, 8)
    y = rope(x)
    assert torch.equal(y[0], x[0])
    y.zero_()
    assert float(x.abs().sum()) > 0


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rotary_dim", [0, 2, 6, 16])
def test_reference_rotates_the_start_and_passes_the_rest_on(layout, rotary_dim) -> None:
    x = torch.randn(2, 30, 3, 16)
    y = rope(x, rope_layout=layout, input_layout="2d", rotary_dim=rotary_dim)
    start = x[..., :rotary_dim]
    assert_close(y[..., :rotary_dim], turned(start, layout, 10000.0), x.dtype, 2)
    assert torch.equal(y[..., rotary_dim:], x[..., rotary_dim:])
    assert y.is_contiguous() and y.data_ptr() != x.data_ptr()
    half = rope(x[0, :, 0].half(), rope_layout=layout, rotary_dim=rotary_dim)
    assert half.dtype == torch.float16
    assert torch.equal(half[:, rotary_dim:], x[0, :, 0, rotary_dim:].half())


def test_reference_is_differentiable() -> None:
    x = torch.randn(5, 8, dtype=torch.float64, requires_grad=True)
    for layout in LAYOUTS:
        assert torch.autograd.gradcheck(lambda x, layout=layout: rope(x, rope_layout=layout), (x,))


def check(x, layout: str, base: float = 10000.0, rotary_dim: int | None = None) -> None:
    form = "1d" if x.dim() == 2 else "2d"
    params = {"rope_layout": layout, "input_layout": form, "base": base, "rotary_dim": rotary_dim}
    y = poisoned(x.shape, x.dtype, x.device)
    serve(RoPEFwdOp, [y], [x], params)
    assert_close(y, rope(x.double(), **params), x.dtype, 2)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "shape", [(33, 16), (1, 2), (7, 80), (2, 5, 3, 8), (1, 3, 1, 24), (1, 2, 70, 64)]
)
def test_kernel(device, dtype, layout, shape) -> None:
    check(torch.randn(shape, device=device).to(dtype), layout)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_kernel_strides(device, layout) -> None:
    x = torch.randn(2, 4, 3, 8, device=device, dtype=torch.bfloat16)
    for _how, view in stride_variants(x):
        check(view, layout)
    for _how, view in stride_variants(x[0, :, 0]):
        check(view, layout)
    check(x[:1].expand(3, 4, 3, 8), layout)
    check(x.transpose(1, 2), layout)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rotary_dim", [0, 2, 24, 32, 38])
def test_kernel_rotates_the_start_and_passes_the_rest_on(device, dtype, layout, rotary_dim) -> None:
    x = torch.randn(2, 9, 3, 38, device=device).to(dtype)
    check(x, layout, rotary_dim=rotary_dim)
    check(x.transpose(1, 2), layout, rotary_dim=rotary_dim)
    check(x[0, :, 0], layout, rotary_dim=rotary_dim)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("base", [1.0, 500000.0, 1e-3])
def test_kernel_bases(device, base) -> None:
    check(torch.randn(40, 32, device=device), "neox", base)


@pytest.mark.parametrize("device", DEVICES)
def test_kernel_offsets_past_two_to_the_31(device) -> None:
    store = torch.empty(2**31 + 64, dtype=torch.bfloat16, device=device)
    x = store.as_strided((2, 64), (2**31, 1))
    x.copy_(torch.randn(2, 64, device=device))
    for layout in LAYOUTS:
        check(x, layout)


@gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_kernel_full_size(dtype, layout) -> None:
    check(torch.randn(2, 2048, 32, 128, device="cuda").to(dtype), layout)
    check(torch.randn(131072, 128, device="cuda").to(dtype), layout, 500000.0)
    check(torch.randn(1, 4096, 32, 128, device="cuda").to(dtype), layout, rotary_dim=64)


@gpu
def test_more_than_two_to_the_31_elements() -> None:
    x = torch.randn(1, 2**19 + 3, 32, 128, device="cuda", dtype=torch.bfloat16)
    y = poisoned(x.shape, x.dtype, "cuda")
    serve(RoPEFwdOp, [y], [x], {"input_layout": "2d"})
    assert not bool(y.isnan().any())
    column = x[:, :, -1].double()
    exact = rope(column[0], input_layout="1d")
    assert_close(y[0, -64:, -1], exact[-64:], torch.bfloat16)
