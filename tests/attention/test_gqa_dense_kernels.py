"""Attention kernels against float64, outputs poisoned: in the interpreter and on a GPU."""

from __future__ import annotations

import pytest
import torch

from tests.attention import oracle
from tests.devices import DEVICES, gpu
from tileops.attention import GQADenseFwdOp
from tileops.runtime.launch import Call
from tileops.testing.tolerance import norm_tolerance
from tileops.testing.values import poisoned, serve, stride_variants

on_devices = pytest.mark.parametrize("device", DEVICES)
with_kernels = pytest.mark.parametrize("name", ["tile", "split_keys"])


def near(o, q, k, v, sinks, params):
    want = oracle.attention(q, k, v, sinks, **params)
    assert o.isfinite().all()
    error = (o.double() - want).norm() / want.norm().clamp(min=1e-30)
    # Weights are rounded to the inputs' dtype for the second product: one more epsilon.
    assert error <= 2 * norm_tolerance(o.dtype, k.shape[1]), error
    hidden = want.abs().amax(-1) == 0
    assert (o[hidden] == 0).all()


def run(name, q, k, v, sinks=None, **params):
    o = poisoned(q.shape, q.dtype, q.device)
    serve(GQADenseFwdOp, [o], [q, k, v, *[None] * 5, sinks], oracle.DEFAULTS | params, name)
    near(o, q, k, v, sinks, params)


def call_on(device):
    capability = torch.cuda.get_device_capability() if device == "cuda" else None
    return Call(torch.empty(0, device=device).device, capability)


@on_devices
@with_kernels
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("d", [16, 40, 64, 80])
def test_head_widths_and_dtypes(device, name, d, dtype):
    run(name, *oracle.tensors(2, 5, 70, 4, 2, d, dtype, device=device), is_causal=True)


@on_devices
@with_kernels
@pytest.mark.parametrize("d", [96, 128, 192, 256])
def test_wide_heads(device, name, d):
    run(name, *oracle.tensors(1, 3, 40, 2, 1, d, device=device))


MASKS = [
    {},
    {"is_causal": True},
    {"window_size_left": 0, "window_size_right": 0},
    {"window_size_left": 9},
    {"window_size_right": 9},
    {"window_size_left": 40, "window_size_right": 20},
    {"is_causal": True, "window_size_left": 37},
    {"is_causal": True, "window_size_left": 1, "window_size_right": 50},
]


@on_devices
@with_kernels
@pytest.mark.parametrize("params", MASKS)
@pytest.mark.parametrize("lengths", [(64, 64), (33, 100), (50, 33), (1, 97)])
def test_masks_are_aligned_to_the_bottom_right(device, name, params, lengths):
    run(name, *oracle.tensors(1, *lengths, 2, 1, 16, seed=1, device=device), **params)


@on_devices
@with_kernels
@pytest.mark.parametrize("params", [{"is_causal": True}, {"window_size_left": 20}])
def test_sinks_join_the_denominator(device, name, params):
    sinks = torch.tensor([0.5, -3.0, 4.0, float("-inf")], device=device)
    run(name, *oracle.tensors(1, 40, 70, 4, 2, 16, device=device), sinks, **params)
    run(name, *oracle.tensors(1, 40, 20, 4, 2, 16, device=device), sinks, **params)


@on_devices
@with_kernels
@pytest.mark.parametrize(
    "params",
    [
        {"softcap": 5.0, "sm_scale": 0.7},
        {"softcap": 5.0, "is_causal": True},
        {"sm_scale": -0.3, "is_causal": True},
        {"sm_scale": 0.0},
        {"sm_scale": 3.0, "is_causal": True},
    ],
)
def test_scales_and_softcap(device, name, params):
    run(name, *oracle.tensors(1, 20, 75, 4, 2, 16, device=device), **params)


@on_devices
@with_kernels
@pytest.mark.parametrize("heads", [(1, 1), (6, 2), (5, 5), (12, 1)])
def test_groups_of_heads(device, name, heads):
    run(name, *oracle.tensors(2, 7, 45, *heads, 16, device=device), is_causal=True)


@on_devices
@with_kernels
def test_any_strides(device, name):
    q, k, v = oracle.tensors(2, 20, 40, 4, 2, 16, device=device)
    for _how, queries in stride_variants(q):
        run(name, queries, k, v, is_causal=True)
    for _how, keys in stride_variants(k):
        run(name, q, keys, v)
    for _how, values in stride_variants(v):
        run(name, q, k, values)
    run(name, q, k, v[:, :1].expand(v.shape))
    packed = torch.randn(2, 20, 8 * 16, device=device).half()
    run(name, *(x.unflatten(2, (-1, 16)) for x in packed.split([64, 32, 32], 2)), is_causal=True)


@on_devices
@with_kernels
def test_no_keys_give_zeros(device, name):
    run(name, *oracle.tensors(1, 3, 0, 2, 1, 16, device=device))


@on_devices
@with_kernels
def test_large_scores_do_not_overflow(device, name):
    q, k, v = oracle.tensors(1, 4, 50, 2, 1, 16, device=device)
    run(name, q * 100, k * 100, v, is_causal=True)


@on_devices
@with_kernels
def test_a_nan_stays_with_the_queries_that_see_it(device, name):
    q, k, v = oracle.tensors(1, 20, 20, 2, 1, 16, device=device)
    k[0, 12] = float("nan")
    o = poisoned(q.shape, q.dtype, device)
    params = oracle.DEFAULTS | {"is_causal": True}
    serve(GQADenseFwdOp, [o], [q, k, v, *[None] * 6], params, name)
    assert o[0, :12].isfinite().all() and o[0, 12:].isnan().all()


@on_devices
@pytest.mark.parametrize("params", MASKS[:3] + MASKS[5:7])
@pytest.mark.parametrize("d", [64, 80])
def test_descriptors_read_what_pointers_read(device, params, d):
    from tileops.attention import gqa_dense, tiles
    from tileops.attention.descriptors import describable

    call = call_on(device)
    if device == "cuda" and call.capability < (9, 0):
        pytest.skip("tensor descriptors need sm_90")
    q, k, v = oracle.tensors(2, 40, 70, 4, 2, d, device=device)
    k = torch.cat((k, k), 2)[:, :, :2]
    assert describable(Call(k.device, (9, 0)), k, v)
    params = oracle.DEFAULTS | params
    o = poisoned(q.shape, q.dtype, device)
    gqa_dense.run_kernel(
        call, o, None, q, k, v, None, gqa_dense.Masking.of(d, params),
        tiles.Tile(32, 32, warps=4, stages=2), gqa_dense.Split(0, 70), pack=False, descriptor=True,
    )  # fmt: skip
    near(o, q, k, v, None, params)


@on_devices
@pytest.mark.parametrize("count", [2, 3, 5])
def test_every_count_of_splits_gives_the_same_result(device, count):
    from tileops.attention import gqa_dense, gqa_dense_split, tiles

    q, k, v = oracle.tensors(1, 2, 150, 4, 2, 16, device=device)
    sinks = torch.tensor([0.5, -3.0, 4.0, 0.0], device=device)
    params = oracle.DEFAULTS | {"is_causal": True, "window_size_left": 100}
    o = poisoned(q.shape, q.dtype, device)
    gqa_dense_split.run_split(
        call_on(device), o, None, q, k, v, sinks, gqa_dense.Masking.of(16, params),
        tiles.Tile(16, 32, warps=4, stages=2), gqa_dense.Split(32, 32 * -(-4 // count), count),
    )  # fmt: skip
    near(o, q, k, v, sinks, params)


@on_devices
@with_kernels
def test_offsets_past_two_to_the_31(device, name):
    q, k, v = oracle.tensors(1, 2, 3, 2, 1, 16, device=device)
    store = torch.empty(2**31 + 2**30 + 64, dtype=k.dtype, device=device)
    far = store.as_strided((1, 3, 1, 16), (1, 2**30 + 2**29, 16, 1))
    far.copy_(k)
    run(name, q, far, v, is_causal=True)


FULL_SIZE = [
    (2, 2048, 2048, 32, 8, 128, {"is_causal": True}, "tile"),
    (32, 1, 4096, 32, 8, 128, {"is_causal": True}, "split_keys"),
    (1, 1, 32768, 32, 8, 128, {"is_causal": True}, "split_keys"),
    (1, 1024, 8192, 64, 8, 128, {"is_causal": True}, "tile"),
    (1, 4096, 4096, 16, 8, 64, {"is_causal": True, "window_size_left": 127}, "tile"),
    (1, 2048, 2048, 16, 8, 256, {"is_causal": True, "softcap": 50.0, "sm_scale": 0.0625}, "tile"),
    (8, 448, 1500, 20, 20, 64, {}, "tile"),
    (2, 1024, 1024, 16, 16, 64, {"window_size_left": 256, "window_size_right": 256}, "tile"),
    (1, 500, 777, 12, 4, 96, {"is_causal": True}, "tile"),
    (1, 300, 300, 8, 2, 192, {"is_causal": True}, "split_keys"),
]


@gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("with_sinks", [False, True])
@pytest.mark.parametrize("call", FULL_SIZE)
def test_full_size(dtype, with_sinks, call):
    *shape, params, served = call
    q, k, v = oracle.tensors(*shape, dtype, device="cuda")
    sinks = torch.randn(shape[3], device="cuda") if with_sinks else None
    o = poisoned(q.shape, dtype, "cuda")
    params = oracle.DEFAULTS | params
    name = serve(GQADenseFwdOp, [o], [q, k, v, *[None] * 5, sinks], params)
    if torch.cuda.get_device_capability()[0] in (9, 10):
        assert name == served
    for batch in range(shape[0]):  # float64 scores of one batch at a time fit a small GPU
        part = [x[batch : batch + 1] for x in (o, q, k, v)]
        near(*part, sinks, params)
