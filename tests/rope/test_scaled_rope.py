"""Scaled frequencies and given positions: references against the models' formulas, written for one
pair in plain Python, and kernels against references."""

from __future__ import annotations

import math

import pytest
import torch

import tileops
from tests.devices import DEVICES, gpu
from tests.rope.test_rope import DTYPES, turned_by
from tileops.rope import LongRoPEFwdOp, RoPELlama31FwdOp, RoPENeoxPositionIdsFwdOp, YaRNFwdOp
from tileops.testing.tolerance import assert_close
from tileops.testing.values import poisoned, serve, stride_variants


def llama31(i, size, base=1e4, scaling_factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
            original_max_position=8192):  # fmt: skip
    frequency = base ** (-2 * i / size)
    wavelength = 2 * math.pi / frequency
    if wavelength < original_max_position / high_freq_factor:
        return frequency, 1.0
    if wavelength > original_max_position / low_freq_factor:
        return frequency / scaling_factor, 1.0
    smooth = original_max_position / wavelength - low_freq_factor
    smooth /= high_freq_factor - low_freq_factor
    return (1 - smooth) * frequency / scaling_factor + smooth * frequency, 1.0


def yarn(i, size, base=1e4, scaling_factor=16.0, original_max_position=4096, beta_fast=32.0,
         beta_slow=1.0, attn_factor=1.0):  # fmt: skip
    def pair(turns):
        wavelength = original_max_position / turns
        return size / 2 * math.log(wavelength / (2 * math.pi), base)

    low, high = max(math.floor(pair(beta_fast)), 0), min(math.ceil(pair(beta_slow)), size - 1)
    slow = min(max((i - low) / (high - low if high != low else 0.001), 0.0), 1.0)
    frequency = base ** (-2 * i / size)
    amplitude = 0.1 * math.log(scaling_factor) + 1 if scaling_factor > 1 else 1.0
    return frequency * (slow / scaling_factor + 1 - slow), amplitude * attn_factor


def long_rope(i, size, base=1e4, rescale_factors=None, max_position=4096,
              original_max_position=4096):  # fmt: skip
    factor = 1.0 if rescale_factors is None else float(rescale_factors[i])
    amplitude, longer = 1.0, max_position / original_max_position
    if longer > 1:
        amplitude = math.sqrt(1 + math.log(longer, original_max_position))
    return base ** (-2 * i / size) / factor, amplitude


FACTORS = 1 + torch.arange(16) ** 2 / 8
CASES = [
    (RoPELlama31FwdOp, llama31, {}),
    (RoPELlama31FwdOp, llama31, {"base": 5e5, "scaling_factor": 32.0}),
    (RoPELlama31FwdOp, llama31, {"original_max_position": 100, "high_freq_factor": 9.5}),
    (RoPELlama31FwdOp, llama31, {"low_freq_factor": 3.3, "high_freq_factor": 3.3}),
    (RoPELlama31FwdOp, llama31, {"scaling_factor": 0.5, "original_max_position": 64}),
    (YaRNFwdOp, yarn, {}),
    (YaRNFwdOp, yarn, {"base": 150000.0, "scaling_factor": 32.0, "attn_factor": 0.7}),
    (YaRNFwdOp, yarn, {"scaling_factor": 0.5, "original_max_position": 9}),
    (YaRNFwdOp, yarn, {"beta_fast": 32.0, "beta_slow": 32.0, "original_max_position": 2**20}),
    (YaRNFwdOp, yarn, {"beta_fast": 6000.0, "beta_slow": 5000.0}),
    (YaRNFwdOp, yarn, {"base": 0.5}),
    (LongRoPEFwdOp, long_rope, {}),
    (LongRoPEFwdOp, long_rope, {"rescale_factors": FACTORS, "max_position": 131072}),
    (LongRoPEFwdOp, long_rope, {"rescale_factors": FACTORS.bfloat16(), "base": 5e5}),
    (LongRoPEFwdOp, long_rope, {"rescale_factors": FACTORS.half().repeat_interleave(3)[::3]}),
    (LongRoPEFwdOp, long_rope, {"max_position": 4096, "original_max_position": 8192}),
]
every_case = pytest.mark.parametrize(
    ("op", "formula", "params"), CASES, ids=[f"{c[0].__name__}-{i}" for i, c in enumerate(CASES)]
)


def exact(formula, x, params) -> torch.Tensor:
    """x, [B, S, H, D], rotated as the formula of one pair says."""
    found = [formula(i, x.shape[-1], **params) for i in range(x.shape[-1] // 2)]
    frequency = torch.tensor([frequency for frequency, _ in found], dtype=torch.float64)
    return turned_by(x, frequency) * found[0][1]


@every_case
def test_reference_is_the_models_formula(op, formula, params) -> None:
    x = torch.randn(2, 70, 3, 32)
    want = exact(formula, x, params)
    for dtype in (*DTYPES, torch.float64):
        y = op.reference(x.to(dtype), input_layout="2d", **params)
        assert y.is_contiguous() and y.dtype == dtype
        assert_close(y, exact(formula, x.to(dtype), params), dtype, 2)
    for how, view in stride_variants(x):
        y = op.reference(view, input_layout="2d", **params)
        assert y.is_contiguous(), how
        assert_close(y, want, x.dtype, 2)
    assert_close(op.reference(x[0, :, 1], **params), want[0, :, 1], x.dtype, 2)
    assert_close(op(**params)(x[0, :, 1]), want[0, :, 1], x.dtype, 2)


def check(op, x, params, positions=None) -> None:
    if positions is None:
        params = {"input_layout": "1d" if x.dim() == 2 else "2d"} | params
    inputs = [x] if positions is None else [x, positions]
    params = {n: v.to(x.device) if isinstance(v, torch.Tensor) else v for n, v in params.items()}
    y = poisoned(x.shape, x.dtype, x.device)
    serve(op, [y], inputs, params)
    assert_close(y, op.reference(x.double(), *inputs[1:], **params), x.dtype, 2)


@pytest.mark.parametrize("device", DEVICES)
@every_case
def test_kernel(device, op, formula, params) -> None:
    x = torch.randn(2, 9, 3, 32, device=device)
    check(op, x.half(), params)
    check(op, x.bfloat16().transpose(1, 2), params)
    check(op, x[0, :, 1, :], params)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [2, 24, 80])
def test_kernel_sizes(device, size) -> None:
    x = torch.randn(1, 33, 2, size, device=device)
    check(RoPELlama31FwdOp, x, {"original_max_position": 100})
    check(YaRNFwdOp, x, {})
    check(LongRoPEFwdOp, x, {"rescale_factors": torch.rand(size // 2) + 1})


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("rotary_dim", [None, 0, 2, 24])
def test_positions_are_those_given(index, rotary_dim) -> None:
    x = torch.randn(40, 3, 38)
    positions = torch.randint(0, 2**20, (40,), dtype=index)
    size = 38 if rotary_dim is None else rotary_dim
    frequency = 5e5 ** (-torch.arange(0, size, 2, dtype=torch.float64) / max(size, 1))
    start = turned_by(x[None, ..., :size], frequency, position=positions)[0]
    params = {"max_position": 2**20, "base": 5e5, "rotary_dim": rotary_dim}
    for how, view in stride_variants(x):
        y = RoPENeoxPositionIdsFwdOp(**params)(view, positions)
        assert y.is_contiguous(), how
        assert_close(y[..., :size], start, x.dtype, 2)
        assert torch.equal(y[..., size:], x[..., size:])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("dtype", "rotary_dim"), zip(DTYPES, (None, 2, 24), strict=True))
def test_kernel_at_positions(device, dtype, rotary_dim) -> None:
    x = torch.randn(20, 3, 38, device=device).to(dtype)
    positions = torch.randint(0, 2**30, (20,), device=device)
    params = {"max_position": 2**30, "rotary_dim": rotary_dim}
    for _how, view in stride_variants(x):
        check(RoPENeoxPositionIdsFwdOp, view, params, positions)
    for _how, view in stride_variants(positions.int()):
        check(RoPENeoxPositionIdsFwdOp, x, params, view)
    check(RoPENeoxPositionIdsFwdOp, x[:1], params, positions[:1])
    check(RoPENeoxPositionIdsFwdOp, x[:1].expand(20, 3, 38), params, positions[:1].expand(20))


@pytest.mark.parametrize("device", DEVICES)
def test_kernel_offsets_past_two_to_the_31(device) -> None:
    store = torch.empty(2**31 + 64, dtype=torch.bfloat16, device=device)
    x = store.as_strided((2, 64), (2**31, 1))
    x.copy_(torch.randn(2, 64, device=device))
    check(YaRNFwdOp, x, {})
    positions = torch.tensor([3, 70000], device=device)
    check(RoPENeoxPositionIdsFwdOp, x[:, None], {"max_position": 2**17}, positions)


@pytest.mark.parametrize(
    ("op", "params", "text"),
    [
        (RoPELlama31FwdOp, {"low_freq_factor": 5.0}, "low_freq_factor"),
        (RoPELlama31FwdOp, {"scaling_factor": 0.0}, "scaling_factor"),
        (YaRNFwdOp, {"base": 1.0}, "base"),
        (YaRNFwdOp, {"beta_slow": 33.0}, "beta_slow"),
        (LongRoPEFwdOp, {"original_max_position": 1}, "original_max_position"),
        (LongRoPEFwdOp, {"rescale_factors": torch.ones(5)}, "rescale_factors"),
        (RoPENeoxPositionIdsFwdOp, {"max_position": 0}, "max_position"),
    ],
)
def test_what_is_refused_is_named(op, params, text) -> None:
    with pytest.raises(tileops.CallError, match=text):
        op(**params)(torch.ones(4, 8))


@gpu
@every_case
def test_kernel_full_size(op, formula, params) -> None:
    check(op, torch.randn(2, 2048, 32, 32, device="cuda").bfloat16(), params)
    check(op, torch.randn(131072, 32, device="cuda"), params)
