"""Kernels give the references' codes and scales bit for bit, in the interpreter and on a GPU."""

from __future__ import annotations

import pytest
import torch

from tests.devices import DEVICES, gpu
from tests.quantization.samples import (
    BF16,
    F16,
    F32,
    INT4,
    QUANTIZERS,
    differing,
    odd_rows,
    with_non_numbers,
)
from tests.quantization.test_quantization_reference import DEQUANTIZERS, every_quantizer
from tileops.quantization import FP8QuantPerTokenGroupFwdOp, SmoothQuantFwdOp
from tileops.testing.tolerance import assert_close
from tileops.testing.values import poisoned, serve, stride_variants

LAUNCHED = [(item, launcher) for item in QUANTIZERS for launcher in item.op.kernel_types]
every_launcher = pytest.mark.parametrize(
    ("item", "launcher"), LAUNCHED, ids=[f"{i.op.__name__}-{name}" for i, name in LAUNCHED]
)


def check(op, inputs, params=None, only=None) -> None:
    want = op.reference(*inputs, **(params or {}))
    got = [poisoned(t.shape, t.dtype, t.device) for t in want]
    serve(op, got, inputs, params, only)
    for name, one, other in zip(("codes", "scales"), got, want, strict=True):
        bad = differing(one, other)
        assert not bad.any(), (name, one[bad][:5], other[bad][:5], bad.nonzero()[:5])


@pytest.mark.parametrize("device", DEVICES)
@every_launcher
def test_special_rows(device, item, launcher) -> None:
    for dtype in item.dtypes:
        x = odd_rows(150 if item.blocks[0] == 128 else 20, 300, dtype).to(device)
        check(item.op, item.inputs(x), only=launcher)
        check(item.op, item.inputs(with_non_numbers(x)), only=launcher)


@pytest.mark.parametrize("device", DEVICES)
@every_launcher
@pytest.mark.parametrize("shape", [(1, 1), (40, 7), (5, 256), (3, 1300), (2, 5000)])
def test_shapes(device, item, launcher, shape) -> None:
    check(item.op, item.inputs(torch.randn(shape, device=device).to(item.dtypes[0])), only=launcher)


@pytest.mark.parametrize("device", DEVICES)
@every_launcher
def test_strides(device, item, launcher) -> None:
    x = torch.randn(6, 140, device=device).to(item.dtypes[-1])
    for _how, view in stride_variants(x):
        check(item.op, item.inputs(view), only=launcher)
    check(item.op, item.inputs(x[:1].expand(6, 140)), only=launcher)
    check(item.op, item.inputs(x[:, :1].expand(6, 140)), only=launcher)


@pytest.mark.parametrize("device", DEVICES)
def test_axes_of_tokens_lie_anyhow(device) -> None:
    x = torch.randn(3, 2, 4, 10, device=device, dtype=BF16)
    for _how, view in stride_variants(x):
        check(FP8QuantPerTokenGroupFwdOp, [view])
    check(FP8QuantPerTokenGroupFwdOp, [x.permute(2, 0, 3, 1)])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("launcher", list(SmoothQuantFwdOp.kernel_types))
def test_factors_of_channels(device, launcher) -> None:
    x = odd_rows(20, 300, BF16).to(device)
    smooth = torch.rand(300, device=device) + 0.1
    smooth[7], smooth[8], smooth[9] = 1e30, 1e-30, -1.0
    for _how, view in stride_variants(smooth):
        check(SmoothQuantFwdOp, [x, view], only=launcher)
    smooth[11] = 0.0
    check(SmoothQuantFwdOp, [x, smooth], only=launcher)


@pytest.mark.parametrize("device", DEVICES)
@every_quantizer
def test_outputs_of_no_elements_but_scales(device, item) -> None:
    for shape in ((0, 5), (5, 0)):
        inputs = item.inputs(torch.ones(shape, device=device).to(item.dtypes[0]))
        if item.op.reference(*inputs)[1].numel():
            check(item.op, inputs)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [2, 50, 100, 128, 150, 300, 1800])
def test_int4(device, size) -> None:
    w = with_non_numbers(odd_rows(24, 384 if size == 128 else 300, F16)).to(device)
    check(INT4, [w], {"group_size": size})


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [10, 20])
def test_int4_strides(device, size) -> None:
    w = torch.randn(4, 30, device=device).half()
    for _how, view in stride_variants(w):
        check(INT4, [view], {"group_size": size})
    check(INT4, [w[:1].expand_as(w)], {"group_size": size})


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("op", "shape", "spread"), DEQUANTIZERS)
@pytest.mark.parametrize("dtype", [F16, BF16, F32])
def test_dequantizing(device, op, shape, spread, dtype) -> None:
    q = torch.randint(-128, 128, (9, 300), dtype=torch.int8, device=device)
    scale = torch.rand(shape, device=device)
    views = [*stride_variants(q), ("expanded", q[:1].expand(9, 300))]
    for (_how, view), given in zip(views, [scale, scale.flip(0)] * 3, strict=True):
        x, params = poisoned(q.shape, dtype, device), {"out_dtype": dtype}
        serve(op, [x], [view, given], params)
        want = op.reference(view, given, **params)
        if dtype == BF16 and device == "cpu":
            # The interpreter rounds ties of bfloat16 up.
            assert_close(x, want.double(), dtype)
        else:
            assert torch.equal(x, want)


@pytest.mark.parametrize("device", DEVICES)
@every_launcher
def test_offsets_past_two_to_the_31(device, item, launcher) -> None:
    store = torch.empty(2**31 + 64, dtype=F16, device=device)
    x = store.as_strided((2, 64), (2**31, 1))
    x.copy_(torch.randn(2, 64, device=device))
    check(item.op, item.inputs(x), only=launcher)


@gpu
@every_launcher
def test_full_size(item, launcher) -> None:
    for dtype in item.dtypes:
        for shape in ((2048, 4096), (2048, 5120), (1024, 2880), (1024, 32768), (65536, 128)):
            x = torch.randn(shape, device="cuda").to(dtype)
            check(item.op, item.inputs(x), only=launcher)
        # Long rows so few that programs share them, where the operator has a launcher for that.
        check(item.op, item.inputs(torch.randn(16, 32768, device="cuda").to(dtype)))
        # Every bit pattern: rows of huge, of tiny and of mixed values.
        bits = {2: torch.int16, 4: torch.int32}[dtype.itemsize]
        x = torch.randint(
            torch.iinfo(bits).min, torch.iinfo(bits).max, (4096, 2048), device="cuda", dtype=bits
        ).view(dtype)
        check(item.op, item.inputs(x), only=launcher)
        check(item.op, item.inputs(x.nan_to_num(0.0)), only=launcher)
        for exponent in (-140, -120, -100, -10, 0, 100):
            x = torch.randn(4096, 256, device="cuda").double() * 2.0**exponent
            check(item.op, item.inputs(x.to(dtype).nan_to_num()), only=launcher)


@gpu
def test_more_than_two_to_the_31_elements() -> None:
    x = torch.randn(2**24 + 3, 128, device="cuda", dtype=BF16)
    q, scale = poisoned(x.shape, torch.int8, "cuda"), poisoned((x.shape[0], 1), F32, "cuda")
    item = QUANTIZERS[4]
    serve(item.op, [q, scale], [x])
    for rows in (slice(0, 64), slice(-64, None)):
        want = item.op.reference(x[rows])
        assert torch.equal(q[rows], want[0]) and torch.equal(scale[rows], want[1])
