"""Norm and rotation of packed heads: the reference against the rotary operator's definition, and
the kernel against the reference."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.devices import DEVICES, gpu
from tileops.norm import FusedQKNormRoPEFwdOp
from tileops.testing.tolerance import assert_close
from tileops.testing.values import poisoned, serve

LAYOUTS = ("neox", "interleaved")
every_layout = pytest.mark.parametrize("layout", LAYOUTS)


def call(tokens, heads, kv_heads, size, rotary, layout, device="cpu", dtype=torch.bfloat16):
    """The inputs of a call, and its parameters."""
    qkv = torch.randn(tokens, (heads + 2 * kv_heads) * size, device=device).to(dtype)
    weights = torch.randn(2, size, device=device).to(dtype)
    cache = torch.randn(11, rotary, device=device)
    positions = torch.randint(0, 11, (tokens,), device=device)
    params = {"num_heads": heads, "num_kv_heads": kv_heads, "eps": 1e-6, "rope_layout": layout}
    return [qkv, *weights, cache, positions], params


def by_hand(inputs, params):
    """Value by value, in float64."""
    qkv, q_weight, k_weight, cache, positions = inputs
    heads, kv_heads = params["num_heads"], params["num_kv_heads"]
    size, half = q_weight.shape[0], cache.shape[1] // 2
    out = qkv.double().reshape(qkv.shape[0], -1, size).clone()
    for head in range(heads + kv_heads):
        w = (q_weight if head < heads else k_weight).double()
        y = F.rms_norm(out[:, head], (size,), w, 1e-6)
        z = y.clone()
        for i in range(half):
            at = (i, i + half) if params["rope_layout"] == "neox" else (2 * i, 2 * i + 1)
            cosine, sine = (cache[positions, i + k * half].double() for k in (0, 1))
            z[:, at[0]] = y[:, at[0]] * cosine - y[:, at[1]] * sine
            z[:, at[1]] = y[:, at[1]] * cosine + y[:, at[0]] * sine
        out[:, head] = z
    return out.reshape(qkv.shape)


@every_layout
@pytest.mark.parametrize(("size", "rotary"), [(8, 8), (10, 4), (6, 0)])
def test_the_reference(layout, size, rotary) -> None:
    inputs, params = call(7, 3, 2, size, rotary, layout)
    y = FusedQKNormRoPEFwdOp.reference(*inputs, **params)
    assert y.is_contiguous()
    assert_close(y, by_hand(inputs, params), torch.bfloat16, size)
    assert torch.equal(y[:, 5 * size :], inputs[0][:, 5 * size :])


@every_layout
def test_the_operator_writes_in_place(layout) -> None:
    inputs, params = call(7, 3, 2, 16, 8, layout)
    expected = FusedQKNormRoPEFwdOp.reference(*inputs, **params)
    assert FusedQKNormRoPEFwdOp(**params)(*inputs) is None
    assert torch.equal(inputs[0], expected)


def check(inputs, params) -> None:
    wide = [t.double() if t.is_floating_point() else t for t in inputs]
    exact = FusedQKNormRoPEFwdOp.reference(*wide, **params)
    qkv = inputs[0]
    # What is written comes first, as an output does.
    assert serve(FusedQKNormRoPEFwdOp, inputs[:1], inputs[1:], params) == "heads"
    assert_close(qkv, exact, qkv.dtype, inputs[1].shape[0])


@every_layout
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("tokens", "heads", "kv_heads", "size", "rotary"),
    [(3, 4, 2, 16, 16), (5, 3, 1, 10, 4), (1, 1, 1, 128, 64), (9, 6, 2, 6, 0), (2, 40, 8, 80, 80)],
)
def test_heads(layout, device, dtype, tokens, heads, kv_heads, size, rotary) -> None:
    check(*call(tokens, heads, kv_heads, size, rotary, layout, device, dtype))


@every_layout
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("cached", [torch.float16, torch.bfloat16, torch.float32])
def test_strides(layout, device, cached) -> None:
    (qkv, q, k, cache, positions), params = call(4, 3, 2, 16, 8, layout, device)
    cache = cache.to(cached).t().contiguous().t()
    q, k = torch.stack([q, k], 1).unbind(1)
    check([qkv, q, k, cache, positions[:1].expand(4)], params)


@pytest.mark.parametrize("device", DEVICES)
def test_a_position_outside_of_the_cache_shows(device) -> None:
    inputs, params = call(3, 2, 1, 8, 4, "neox", device)
    inputs[4] = torch.tensor([0, 11, -1], device=device)
    kept = poisoned(inputs[0].shape, torch.bfloat16, device).copy_(inputs[0])
    serve(FusedQKNormRoPEFwdOp, inputs[:1], inputs[1:], params)
    rows = inputs[0].view(3, 4, 8)
    assert bool(rows[0].isfinite().all()) and bool(rows[1:, :3, :4].isnan().all())
    assert torch.equal(rows[:, 3], kept.view(3, 4, 8)[:, 3])


@gpu
@every_layout
@pytest.mark.parametrize(("heads", "kv_heads"), [(64, 8), (32, 4), (96, 8)])
@pytest.mark.parametrize("rotary", [128, 64])
def test_full_size(layout, heads, kv_heads, rotary) -> None:
    check(*call(4096, heads, kv_heads, 128, rotary, layout, "cuda"))
