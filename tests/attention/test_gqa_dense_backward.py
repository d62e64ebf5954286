"""Gradients of attention: the formulas against autograd, the kernels against float64, and which way
a gradient goes."""

from __future__ import annotations

import pytest
import torch

import tileops
from tests.attention import oracle
from tests.devices import DEVICES, compiles, gpu
from tileops.attention import GQADenseBwdOp, GQADenseWithLSEFwdOp, reference
from tileops.runtime.launch import Call
from tileops.testing.kernels import record
from tileops.testing.tolerance import assert_close, norm_tolerance
from tileops.testing.values import launcher_of, poisoned, serve, stride_variants

on_devices = pytest.mark.parametrize("device", DEVICES)
SCORES = ("is_causal", "window_size_left", "window_size_right", "sm_scale", "softcap")
DEFAULTS = {name: oracle.DEFAULTS[name] for name in SCORES}
MASKS = [
    {},
    {"is_causal": True},
    {"window_size_left": 0, "window_size_right": 0},
    {"window_size_left": 9},
    {"window_size_right": 9},
    {"window_size_left": 40, "window_size_right": 20},
    {"is_causal": True, "window_size_left": 37},
]
SCALES = [
    {"softcap": 5.0, "sm_scale": 0.7},
    {"softcap": 2.0, "is_causal": True},
    {"sm_scale": -0.3, "is_causal": True},
    {"sm_scale": 0.0},
]


def lse_of(q, k, params):
    """[B, H, S_q] in float64 by its definition."""
    params = oracle.DEFAULTS | params
    group = q.shape[2] // k.shape[2]
    q, k = q.double().transpose(1, 2), k.double().transpose(1, 2).repeat_interleave(group, 1)
    scale = q.shape[3] ** -0.5 if params["sm_scale"] is None else params["sm_scale"]
    scores = q @ k.transpose(2, 3) * scale
    if params["softcap"] is not None:
        scores = params["softcap"] * torch.tanh(scores / params["softcap"])
    seen = oracle.mask(q.shape[2], k.shape[2], params).to(q.device)
    return scores.masked_fill(~seen, float("-inf")).logsumexp(-1)


def gradients_of(do, q, k, v, params):
    """dq, dk and dv in float64, as autograd has them of the definition."""
    leaves = [x.detach().double().requires_grad_() for x in (q, k, v)]
    return torch.autograd.grad(oracle.attention(*leaves, **params), leaves, do.double())


def forward(q, k, v, params):
    return reference.gqa_dense_with_lse(q, k, v, **(DEFAULTS | params))


# --- the references ---------------------------------------------------------------------------


@pytest.mark.parametrize("params", MASKS + SCALES)
@pytest.mark.parametrize("lengths", [(12, 12), (7, 20), (20, 7)])
def test_lse_against_the_definition(params, lengths):
    q, k, v = oracle.tensors(2, *lengths, 4, 2, 24, torch.bfloat16)
    o, lse = forward(q, k, v, params)
    assert o.is_contiguous() and lse.is_contiguous()
    assert_close(o, oracle.attention(q, k, v, **params), torch.bfloat16, lengths[1])
    assert_close(lse, lse_of(q, k, params), torch.float32, lengths[1])


@pytest.mark.parametrize("params", MASKS + SCALES)
def test_the_formulas_are_autograds_gradients(params):
    q, k, v = oracle.tensors(2, 20, 20, 4, 2, 8, torch.float64)
    do = torch.randn_like(q)
    o, lse = forward(q, k, v, params)
    found = reference.gqa_dense_backward(do, q, k, v, o, lse, **params)
    for got, want in zip(found, gradients_of(do, q, k, v, params), strict=True):
        torch.testing.assert_close(got, want)


def test_parts_of_heads_give_what_all_at_once_give(monkeypatch):
    q, k, v = oracle.tensors(3, 6, 6, 4, 2, 8, torch.float64)
    do = torch.randn_like(q)
    whole = forward(q, k, v, {})
    gradients = reference.gqa_dense_backward(do, q, k, v, *whole)
    monkeypatch.setattr(reference, "_MOST_SCORES", 0)
    parts = forward(q, k, v, {})
    again = reference.gqa_dense_backward(do, q, k, v, *parts)
    torch.testing.assert_close((*parts, *again), (*whole, *gradients))


# --- the kernels ------------------------------------------------------------------------------


def check_forward(name, q, k, v, **params):
    o = poisoned(q.shape, q.dtype, q.device)
    lse = poisoned((q.shape[0], q.shape[2], q.shape[1]), torch.float32, q.device)
    serve(GQADenseWithLSEFwdOp, [o, lse], [q, k, v], DEFAULTS | params, name)
    want = oracle.attention(q, k, v, **params)
    assert (o.double() - want).norm() <= 2 * norm_tolerance(o.dtype, k.shape[1]) * want.norm()
    assert_close(lse, lse_of(q, k, params), torch.float32, k.shape[1])


def check_backward(do, q, k, v, **params):
    o, lse = forward(q, k, v, params)
    found = [poisoned(x.shape, x.dtype, x.device) for x in (q, k, v)]
    serve(GQADenseBwdOp, found, [do, q, k, v, o, lse], DEFAULTS | params, "backward")
    near(found, do, q, k, v, params)


def near(found, do, q, k, v, params):
    """Against the formulas in float64, from the output as it was rounded."""
    given = (x.double() for x in (do, q, k, v, *forward(q, k, v, params)))
    # Where the formulas give zero, differences of float32 sums are left.
    slack = 4 * torch.finfo(torch.float32).eps * do.double().norm() * v.double().norm()
    wanted = reference.gqa_dense_backward(*given, **params)
    for got, want in zip(found, wanted, strict=True):
        assert got.isfinite().all()
        error = (got.double() - want).norm()
        # Weights and their gradients are rounded to the inputs' dtype: one more epsilon.
        assert error <= 2 * norm_tolerance(got.dtype, q.shape[1]) * want.norm() + slack


def call_tensors(b, s, h, h_kv, d, dtype=torch.float16, device="cpu"):
    q, k, v = oracle.tensors(b, s, s, h, h_kv, d, dtype, device=device)
    do = oracle.tensors(b, s, s, h, h_kv, d, dtype, seed=1, device=device)[0]
    return do, q, k, v


@on_devices
@pytest.mark.parametrize("name", ["tile", "split_keys"])
@pytest.mark.parametrize("params", MASKS + SCALES)
@pytest.mark.parametrize("lengths", [(33, 100), (50, 33)])
def test_kernels_return_the_rows_sums(device, name, params, lengths):
    check_forward(name, *oracle.tensors(2, *lengths, 4, 2, 16, device=device), **params)


@on_devices
@pytest.mark.parametrize("count", [2, 5])
def test_the_merge_of_split_keys_returns_the_rows_sums(device, count):
    from tileops.attention import gqa_dense, gqa_dense_split, tiles

    q, k, v = oracle.tensors(2, 3, 150, 4, 2, 16, device=device)
    params = DEFAULTS | {"is_causal": True}
    o = poisoned(q.shape, q.dtype, device)
    lse = poisoned((2, 4, 3), torch.float32, device)
    capability = torch.cuda.get_device_capability() if device == "cuda" else None
    gqa_dense_split.run_split(
        Call(q.device, capability), o, lse, q, k, v, None, gqa_dense.Masking.of(16, params),
        tiles.Tile(16, 32, warps=4, stages=2), gqa_dense.Split(0, 32 * -(-5 // count), count),
    )  # fmt: skip
    assert_close(lse, lse_of(q, k, params), torch.float32, 150)


@on_devices
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("d", [16, 40, 64, 80])
def test_head_widths_and_dtypes(device, d, dtype):
    check_backward(*call_tensors(2, 45, 4, 2, d, dtype, device), is_causal=True)


@on_devices
@pytest.mark.parametrize("d", [96, 128, 256])
def test_wide_heads(device, d):
    check_backward(*call_tensors(1, 40, 2, 1, d, device=device))


@on_devices
@pytest.mark.parametrize("params", MASKS + SCALES)
@pytest.mark.parametrize("length", [1, 64, 75])
def test_masks_and_scales(device, params, length):
    check_backward(*call_tensors(2, length, 4, 2, 16, device=device), **params)


@on_devices
@pytest.mark.parametrize("heads", [(1, 1), (6, 2), (5, 5), (12, 1)])
def test_groups_of_heads(device, heads):
    check_backward(*call_tensors(2, 45, *heads, 16, device=device), is_causal=True)


@on_devices
def test_any_strides(device):
    tensors = call_tensors(2, 40, 4, 2, 16, device=device)
    for at in range(4):
        for _how, other in stride_variants(tensors[at]):
            check_backward(*tensors[:at], other, *tensors[at + 1 :], is_causal=True)
    do, q, k, v = tensors
    check_backward(do[:1, :1].expand(do.shape), q, k, v[:, :1].expand(v.shape))


@on_devices
def test_descriptors_read_what_pointers_read(device):
    if device == "cuda" and torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("tensor descriptors need sm_90")
    do, q, k, v = call_tensors(1, 150, 4, 2, 80, device=device)
    params = DEFAULTS | {"is_causal": True, "window_size_left": 70}
    o, lse = forward(q, k, v, params)
    found = [poisoned(x.shape, x.dtype, device) for x in (q, k, v)]
    launcher = launcher_of(GQADenseBwdOp, "backward")
    assert launcher(Call(q.device, (9, 0)), *found, do, q, k, v, o, lse, **params) is None
    near(found, do, q, k, v, params)


@on_devices
def test_offsets_past_two_to_the_31(device):
    do, q, k, v = call_tensors(1, 3, 2, 1, 16, device=device)
    store = torch.empty(2**31 + 2**30 + 64, dtype=k.dtype, device=device)
    far = store.as_strided((1, 3, 1, 16), (1, 2**30 + 2**29, 16, 1))
    far.copy_(k)
    check_backward(do, q, far, v, is_causal=True)
    far.copy_(v)
    check_backward(do, q, k, far, is_causal=True)


@gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("shape", "params"),
    [
        ((1, 2048, 16, 4, 128), {"is_causal": True}),
        ((4, 512, 16, 16, 64), {}),
        ((1, 2048, 16, 2, 64), {"is_causal": True, "window_size_left": 127}),
        ((1, 1000, 8, 4, 256), {"is_causal": True, "softcap": 50.0}),
        ((1, 777, 12, 4, 96), {"window_size_left": 100, "window_size_right": 50}),
    ],
)
def test_full_size(dtype, shape, params):
    check_backward(*call_tensors(*shape, dtype, "cuda"), **params)


# --- the way of a gradient --------------------------------------------------------------------


def operators_of(call, *inputs):
    """What serves the call and its backward."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    with tileops.record_implementations() as served:
        results = call(*leaves)
        first = results[0] if isinstance(results, tuple) else results
        found = torch.autograd.grad(first, leaves, torch.ones_like(first))
    return [call.operator for call in served], found


def test_the_kept_sums_serve_the_backward():
    q, k, v = oracle.tensors(2, 20, 20, 4, 2, 16)
    call = torch.ops.tileops.attention_gqa_dense_with_lse_fwd
    served, found = operators_of(lambda *x: call(*x, is_causal=True), q, k, v)
    assert served == ["attention_gqa_dense_with_lse_fwd", "attention_gqa_dense_bwd"]
    near(found, torch.ones_like(q), q, k, v, {"is_causal": True})


def test_unequal_lengths_have_the_references_gradient():
    q, k, v = oracle.tensors(2, 7, 20, 4, 2, 16)
    call = torch.ops.tileops.attention_gqa_dense_with_lse_fwd
    served, found = operators_of(lambda *x: call(*x, is_causal=True), q, k, v)
    assert served == ["attention_gqa_dense_with_lse_fwd"]
    near(found, torch.ones_like(q), q, k, v, {"is_causal": True})


def test_a_gradient_of_the_sums_is_the_references():
    q, k, v = (x.requires_grad_() for x in oracle.tensors(1, 6, 6, 2, 1, 8))
    lse = torch.ops.tileops.attention_gqa_dense_with_lse_fwd(q, k, v)[1]
    dq, dk, dv = torch.autograd.grad(lse.sum(), (q, k, v), allow_unused=True)
    leaves = [x.detach().double().requires_grad_() for x in (q, k)]
    want = torch.autograd.grad(lse_of(*leaves, {}).sum(), leaves)
    assert_close(dq, want[0], torch.float16, 6)
    assert_close(dk, want[1], torch.float16, 6)
    assert dv is None or not dv.any()


def test_a_compiled_backward_is_one_node_for_all_lengths():
    import torch._dynamo
    from torch._dynamo.backends.common import aot_autograd

    torch._dynamo.reset()
    traced = {"forward": [], "backward": []}

    def keep(way):
        def compiler(module, _inputs):
            traced[way].append([str(n.target) for n in module.graph.nodes if n.op != "output"])
            return module.forward

        return compiler

    def loss(q, k, v):
        call = torch.ops.tileops.attention_gqa_dense_with_lse_fwd
        return call(q, k, v, is_causal=True)[0].float().square().sum()

    backend = aot_autograd(fw_compiler=keep("forward"), bw_compiler=keep("backward"))
    compiled = torch.compile(loss, backend=backend, fullgraph=True, dynamic=True)
    for length in (5, 9, 12, 33):
        inputs = [x.requires_grad_() for x in oracle.tensors(2, length, length, 4, 2, 16)]
        got = torch.autograd.grad(compiled(*inputs), inputs)
        want = torch.autograd.grad(loss(*inputs), inputs)
        for a, b in zip(got, want, strict=True):
            torch.testing.assert_close(a, b)
    assert {way: len(graphs) for way, graphs in traced.items()} == {"forward": 1, "backward": 1}
    names = [name for name in traced["backward"][0] if "tileops" in name]
    assert names == ["tileops.attention_gqa_dense_bwd.default"]


@gpu
@pytest.mark.parametrize("sinks", [False, True])
def test_a_plain_forward_asks_for_the_sums_again(sinks):
    q, k, v = oracle.tensors(2, 100, 100, 4, 2, 64, device="cuda")
    call = torch.ops.tileops.attention_gqa_dense_fwd
    options = {"sinks": torch.zeros(4, device="cuda")} if sinks else {}
    served, found = operators_of(lambda *x: call(*x, is_causal=True, **options), q, k, v)
    again = [] if sinks else ["attention_gqa_dense_with_lse_fwd", "attention_gqa_dense_bwd"]
    assert served == ["attention_gqa_dense_fwd", *again]
    if not sinks:
        near(found, torch.ones_like(q), q, k, v, {"is_causal": True})


@compiles
def test_keys_gradients_have_no_atomics_and_one_program_a_tile():
    q, k = (torch.empty(2, 4096, h, 128, dtype=torch.float16, device="meta") for h in (32, 8))
    lse = torch.empty(2, 32, 4096, device="meta")
    launcher = launcher_of(GQADenseBwdOp, "backward")
    launches = record(launcher, [q, k, k], [q, q, k, k, q, lse], DEFAULTS, (9, 0))
    assert [launch.grid for launch in launches] == [(2 * 32 * 32,), (2 * 8 * 32,)]
    assert all(launch.constexprs["DESCRIPTOR"] for launch in launches)
