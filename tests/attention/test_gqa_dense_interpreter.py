"""Attention kernels in Triton's interpreter, against float64, outputs poisoned."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from tileops.runtime.launch import Call
from tileops.testing.kernels import Declined, interpret
from tileops.testing.tolerance import norm_tolerance

sys.path.insert(0, str(Path(__file__).parent))
import oracle

pytestmark = pytest.mark.interpreter
CPU = torch.device("cpu")
LAUNCHERS = ["tile", "split_keys"]


def launcher(name):
    from tileops.attention import gqa_dense, gqa_dense_split

    return {"tile": gqa_dense.launch_tile, "split_keys": gqa_dense_split.launch_split_keys}[name]


def near(o, q, k, v, sinks, params):
    want = oracle.attention(q, k, v, sinks, **params)
    assert o.isfinite().all()
    error = (o.double() - want).norm() / want.norm().clamp(min=1e-30)
    # Weights are rounded to the inputs' dtype for the second product: one more epsilon.
    assert error <= 2 * norm_tolerance(o.dtype, k.shape[1]), error
    hidden = want.abs().amax(-1) == 0
    assert (o[hidden] == 0).all()


def run(name, q, k, v, sinks=None, **params):
    o = torch.full(q.shape, float("nan"), dtype=q.dtype)
    absent = [None] * 5
    interpret(launcher(name), [o], [q, k, v, *absent, sinks], oracle.DEFAULTS | params)
    near(o, q, k, v, sinks, params)


@pytest.mark.parametrize("name", LAUNCHERS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("d", [16, 40, 64, 80])
def test_head_widths_and_dtypes(name, d, dtype):
    run(name, *oracle.tensors(2, 5, 70, 4, 2, d, dtype), is_causal=True)


@pytest.mark.parametrize("name", LAUNCHERS)
@pytest.mark.parametrize("d", [96, 128, 192, 256])
def test_wide_heads(name, d):
    run(name, *oracle.tensors(1, 3, 40, 2, 1, d))


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


@pytest.mark.parametrize("name", LAUNCHERS)
@pytest.mark.parametrize("params", MASKS)
@pytest.mark.parametrize("lengths", [(64, 64), (33, 100), (50, 33), (1, 97)])
def test_masks_are_aligned_to_the_bottom_right(name, params, lengths):
    run(name, *oracle.tensors(1, *lengths, 2, 1, 16, seed=1), **params)


@pytest.mark.parametrize("name", LAUNCHERS)
@pytest.mark.parametrize("params", [{"is_causal": True}, {"window_size_left": 20}])
def test_sinks_join_the_denominator(name, params):
    sinks = torch.tensor([0.5, -3.0, 4.0, float("-inf")])
    run(name, *oracle.tensors(1, 40, 70, 4, 2, 16), sinks, **params)
    run(name, *oracle.tensors(1, 40, 20, 4, 2, 16), sinks, **params)


@pytest.mark.parametrize("name", LAUNCHERS)
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
def test_scales_and_softcap(name, params):
    run(name, *oracle.tensors(1, 20, 75, 4, 2, 16), **params)


@pytest.mark.parametrize("name", LAUNCHERS)
@pytest.mark.parametrize("heads", [(1, 1), (6, 2), (5, 5), (12, 1)])
def test_groups_of_heads(name, heads):
    run(name, *oracle.tensors(2, 7, 45, *heads, 16), is_causal=True)


@pytest.mark.parametrize("name", LAUNCHERS)
def test_any_strides(name):
    q, k, v = oracle.tensors(2, 20, 40, 4, 2, 16)
    run(name, q.transpose(1, 2).contiguous().transpose(1, 2), k, v)
    run(name, q.flip(3).transpose(0, 3).contiguous().transpose(0, 3), k, v)
    run(name, q, torch.cat((k, k), -1)[..., ::2], v[:, :1].expand(v.shape))
    packed = torch.randn(2, 20, 8 * 16).half()
    q, k, v = (x.unflatten(2, (-1, 16)) for x in packed.split([64, 32, 32], 2))
    run(name, q, k, v, is_causal=True)


@pytest.mark.parametrize("name", LAUNCHERS)
def test_no_keys_give_zeros(name):
    run(name, *oracle.tensors(1, 3, 0, 2, 1, 16))


@pytest.mark.parametrize("name", LAUNCHERS)
def test_large_scores_do_not_overflow(name):
    q, k, v = oracle.tensors(1, 4, 50, 2, 1, 16)
    run(name, q * 100, k * 100, v, is_causal=True)


@pytest.mark.parametrize("params", MASKS[:3] + MASKS[5:7])
@pytest.mark.parametrize("d", [64, 80])
def test_descriptors_read_what_pointers_read(params, d):
    from tileops.attention import gqa_dense, tiles

    q, k, v = oracle.tensors(2, 40, 70, 4, 2, d)
    k = torch.cat((k, k), 2)[:, :, :2]
    assert gqa_dense.describable(k, v)
    params = oracle.DEFAULTS | params
    o = torch.full(q.shape, float("nan"), dtype=q.dtype)
    masking = gqa_dense.Masking.of(d, params)
    gqa_dense.run_kernel(
        Call(CPU, None), o, None, q, k, v, None, masking, tiles.Tile(32, 32, 4, 2),
        gqa_dense.Split(0, 70), pack=False, descriptor=True,
    )  # fmt: skip
    near(o, q, k, v, None, params)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_every_count_of_splits_gives_the_same_result(count):
    from tileops.attention import gqa_dense, gqa_dense_split, tiles

    q, k, v = oracle.tensors(1, 2, 150, 4, 2, 16)
    sinks = torch.tensor([0.5, -3.0, 4.0, 0.0])
    params = oracle.DEFAULTS | {"is_causal": True, "window_size_left": 100}
    o = torch.full(q.shape, float("nan"), dtype=q.dtype)
    split = gqa_dense.Split(32, 32 * -(-4 // count), count)
    gqa_dense_split.run_split(
        Call(CPU, None), o, q, k, v, sinks, gqa_dense.Masking.of(16, params),
        tiles.Tile(16, 32, 4, 2), split,
    )  # fmt: skip
    near(o, q, k, v, sinks, params)


@pytest.mark.parametrize("name", LAUNCHERS)
@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"pos_encoding_mode": "rope"}, "rotary"),
        ({"out_dtype": torch.bfloat16}, "dtype"),
    ],
)
def test_declined_calls(name, params, reason):
    with pytest.raises(Declined, match=reason):
        run(name, *oracle.tensors(1, 2, 8, 2, 1, 16), **params)


def test_fp8_and_too_wide_heads_are_declined():
    with pytest.raises(Declined, match="float8_e4m3fn"):
        run("tile", *oracle.tensors(1, 2, 8, 2, 1, 16, torch.float8_e4m3fn))
    with pytest.raises(Declined, match="wider than 256"):
        run("tile", *oracle.tensors(1, 2, 8, 2, 1, 264))


def test_many_queries_are_declined_by_the_split():
    with pytest.raises(Declined, match="S_q = 300"):
        run("split_keys", *oracle.tensors(1, 300, 8, 2, 1, 16))
