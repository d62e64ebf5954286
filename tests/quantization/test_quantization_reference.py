"""The references against the definition, group by group in float64, and what codes give back."""

from __future__ import annotations

import math

import pytest
import torch

import tileops
from tests.quantization.samples import (
    BF16,
    F16,
    F32,
    FP8,
    INT4,
    QUANTIZERS,
    differing,
    odd_rows,
    unpacked,
    with_non_numbers,
)
from tileops.quantization import (
    INT8DequantPerBlockFwdOp,
    INT8DequantPerChannelFwdOp,
    INT8DequantPerTensorFwdOp,
)
from tileops.testing.values import stride_variants

every_quantizer = pytest.mark.parametrize("item", QUANTIZERS, ids=lambda item: item.op.__name__)


def nearest(x: torch.Tensor, code: torch.dtype, limit: float) -> torch.Tensor:
    """float64 quotients as codes' values: the nearest, of two that are as near the even one."""
    if code == torch.int8:
        return x.clamp(-limit, limit).round()
    codes = torch.arange(127, dtype=torch.uint8).view(FP8).double()
    size = x.abs().clamp(max=limit)
    above = torch.searchsorted(codes, size).clamp(1, 126)
    low, high = codes[above - 1], codes[above]
    up = (size - low > high - size) | ((size - low == high - size) & (above % 2 == 0))
    return torch.where(up, high, low) * x.sign()


@every_quantizer
def test_reference_is_the_definition(item) -> None:
    for dtype in item.dtypes:
        x = odd_rows(140, 300, dtype)
        inputs = item.inputs(x)
        values = x.double() / inputs[1].double() if len(inputs) > 1 else x.double()
        q, scale = item.op()(*inputs)
        assert (q.dtype, scale.dtype) == (item.code, F32) and q.shape == inputs[0].shape
        for how, view in stride_variants(inputs[0]):
            results = item.op.reference(view, *inputs[1:])
            for got, want in zip(results, (q, scale), strict=True):
                assert got.is_contiguous() and not differing(got, want).any(), how
        q, flat, groups = q.reshape(x.shape).double(), scale.flatten(), item.groups(x)
        assert flat.numel() == len(groups)
        for at, (rows, columns) in enumerate(groups):
            wanted = (values[rows, columns].abs().max() / item.limit).float()
            assert flat[at] == (wanted if wanted else 1.0)
            # The quotient is rounded to float32 before it is to a code.
            quotient = (values[rows, columns] / flat[at].double()).float().double()
            assert torch.equal(q[rows, columns], nearest(quotient, item.code, item.limit)), at


@every_quantizer
def test_values_come_back(item) -> None:
    x = torch.randn(140, 300)
    x = x.to(item.dtypes[0])
    inputs = item.inputs(x)
    q, scale = item.op()(*inputs)
    values = x.float() / inputs[1] if len(inputs) > 1 else x.float()
    q, flat = q.reshape(x.shape).float(), scale.flatten()
    for at, (rows, columns) in enumerate(item.groups(x)):
        error = (q[rows, columns] * flat[at] - values[rows, columns]).abs()
        if item.code == torch.int8:
            bound = flat[at] / 2
        else:
            bound = torch.maximum(values[rows, columns].abs() / 16, flat[at] / 1024)
        assert bool((error <= bound * (1 + 1e-5)).all())


@every_quantizer
def test_what_is_no_number_stays_in_its_group(item) -> None:
    clean = odd_rows(20, 300, item.dtypes[0])
    broken = with_non_numbers(clean)
    (q, scale), (plain, plain_scale) = (item.op()(*item.inputs(x)) for x in (broken, clean))
    q, plain = q.reshape(clean.shape).float(), plain.reshape(clean.shape).float()
    scale, plain_scale = scale.flatten(), plain_scale.flatten()
    for at, (rows, columns) in enumerate(item.groups(clean)):
        x = broken[rows, columns].float()
        if x.isfinite().all():
            assert torch.equal(q[rows, columns], plain[rows, columns])
            assert scale[at] == plain_scale[at]
        else:
            assert scale[at].isnan() if x.isnan().any() else scale[at] == math.inf
            if item.code == torch.int8:
                assert not q[rows, columns].any()
            else:
                lost = ~x.isfinite() | x.isnan().any()
                assert torch.equal(q[rows, columns].isnan(), lost)
                assert not q[rows, columns][~lost].any()


@every_quantizer
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (1, 1), (1, 129), (129, 1)])
def test_few_elements_or_none(item, shape) -> None:
    q, scale = item.op()(*item.inputs(torch.ones(shape, dtype=item.dtypes[0])))
    assert q.numel() == shape[0] * shape[1]
    if not q.numel():
        assert bool((scale == 1).all())
    assert not scale.isnan().any() and bool((q.float() > 0).all())


def test_int4_is_the_definition() -> None:
    w = odd_rows(24, 300, F16)
    for size in (2, 50, 100, 150, 300, 1800):
        for how, view in stride_variants(w):
            packed, params = INT4(group_size=size)(view)
            assert packed.dtype == torch.int8 and packed.shape == (24, 150), how
            assert params.shape == (24 * 300 // size, 2) and packed.is_contiguous(), how
            code = unpacked(packed).reshape(-1, size)
            groups = w.float().reshape(-1, size)
            for group, got, (scale, offset) in zip(groups, code, params, strict=True):
                most, least = group.max(), group.min()
                inverse = 16 / (most - least) if most > least else torch.tensor(1.0)
                assert scale == 1 / inverse and offset == (most + least) / 2, how
                steps = ((group - offset) * inverse).round().clamp(-8, 7)
                assert torch.equal(got.float(), steps), how
                error = (got * scale + offset - group).abs()
                # Half a step, but for the largest, which the codes stop short of.
                bound = torch.where(steps == 7, scale, scale / 2)
                assert bool((error <= bound * 1.001 + most.abs() * 1e-6).all()), how


def test_int4_of_what_is_no_number() -> None:
    w = with_non_numbers(odd_rows(20, 300, F16))
    packed, params = INT4(group_size=300)(w)
    broken = ~w.isfinite().all(1)
    assert not packed[broken].any()
    assert not params[broken].isfinite().all(1).any() and params[~broken].isfinite().all()
    assert INT4()(torch.ones(0, 128, dtype=F16))[1].shape == (0, 2)


DEQUANTIZERS = (
    (INT8DequantPerTensorFwdOp, (1,), lambda s, k: s),
    (INT8DequantPerChannelFwdOp, (9,), lambda s, k: s[:, None]),
    (INT8DequantPerBlockFwdOp, (9, 3), lambda s, k: s.repeat_interleave(128, 1)[:, :k]),
)


@pytest.mark.parametrize(
    ("op", "shape", "spread"), DEQUANTIZERS, ids=lambda v: getattr(v, "__name__", "")
)
@pytest.mark.parametrize("dtype", [F16, BF16, F32])
def test_dequantizing_multiplies(op, shape, spread, dtype) -> None:
    q = torch.randint(-128, 128, (9, 300), dtype=torch.int8)
    scale = torch.rand(shape) * 100
    scale.view(-1)[-1] = math.inf
    want = (q.double() * spread(scale.double(), 300)).float().to(dtype)
    for how, view in stride_variants(q):
        x = op(out_dtype=dtype)(view, scale)
        assert x.is_contiguous(), how
        torch.testing.assert_close(x, want, rtol=0, atol=0, equal_nan=True)


@every_quantizer
def test_codes_have_no_gradient_and_scales_have(item) -> None:
    # Every group has one largest magnitude.
    x = ((torch.randperm(32) + 1.0) / 32).view(4, 8).to(item.dtypes[-1]).requires_grad_()
    q, scale = item.op()(*item.inputs(x))
    assert not q.requires_grad and scale.requires_grad
    scale.sum().backward()
    count = len(item.groups(x))
    assert int(x.grad.count_nonzero()) == count


@pytest.mark.parametrize(
    ("params", "shape", "text"),
    [
        ({"group_size": 3}, (4, 6), "group_size"),
        ({"group_size": 0}, (4, 6), "group_size"),
        ({"group_size": 10}, (4, 6), "group_size"),
        ({"group_size": 2}, (4, 7), "K % 2"),
    ],
)
def test_what_is_refused_is_named(params, shape, text) -> None:
    with pytest.raises(tileops.CallError, match=text):
        INT4(**params)(torch.ones(shape, dtype=F16))
