"""The attention reference against float64 and torch, and which kernel serves which call."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.attention import oracle
from tests.devices import compiles
from tileops.attention import reference
from tileops.testing.kernels import Declined, record
from tileops.testing.tolerance import assert_close


def written_out(monkeypatch):
    monkeypatch.setattr(reference, "_sizes_known", lambda q, k: False)


@pytest.fixture(params=["fused", "written_out"])
def form(request, monkeypatch):
    """Both ways through the reference."""
    if request.param == "written_out":
        written_out(monkeypatch)
    return request.param


CALLS = [
    {},
    {"is_causal": True},
    {"window_size_left": 0, "window_size_right": 0},
    {"window_size_left": 5},
    {"window_size_right": 3},
    {"is_causal": True, "window_size_left": 7, "window_size_right": 4},
    {"softcap": 2.0, "is_causal": True},
    {"sm_scale": 0.3},
    {"sm_scale": -0.3, "is_causal": True},
]


@pytest.mark.parametrize("params", CALLS)
@pytest.mark.parametrize("lengths", [(12, 12), (7, 20), (20, 7), (1, 9)])
@pytest.mark.parametrize("sinks", [None, torch.tensor([0.5, -3.0, 4.0, float("-inf")])])
def test_against_the_definition(form, params, lengths, sinks):
    q, k, v = oracle.tensors(2, *lengths, 4, 2, 24, torch.bfloat16)
    o = reference.gqa_dense(q, k, v, sinks=sinks, **params)
    assert o.is_contiguous()
    assert_close(o, oracle.attention(q, k, v, sinks, **params), torch.bfloat16, lengths[1])


@pytest.mark.parametrize("causal", [False, True])
def test_against_torch(form, causal):
    q, k, v = oracle.tensors(2, 16, 16, 8, 2, 32, torch.float16)
    swapped = [x.transpose(1, 2) for x in (q, k, v)]
    theirs = F.scaled_dot_product_attention(*swapped, is_causal=causal, enable_gqa=True)
    assert_close(
        reference.gqa_dense(q, k, v, is_causal=causal), theirs.transpose(1, 2), q.dtype, 64
    )


def test_softcap_and_scale_are_applied_in_flash_attentions_order(form):
    q, k, v = oracle.tensors(1, 4, 4, 1, 1, 16)
    scores = torch.einsum("bqhd,bkhd->bhqk", q.double(), k.double())
    weights = torch.softmax(3.0 * torch.tanh(scores * 0.5 / 3.0), -1)
    want = torch.einsum("bhqk,bkhd->bqhd", weights, v.double())
    assert_close(reference.gqa_dense(q, k, v, sm_scale=0.5, softcap=3.0), want, q.dtype, 16)


def test_no_keys_give_zeros(form):
    for params in ({}, {"is_causal": True}):
        q, k, v = oracle.tensors(1, 3, 0, 2, 1, 16)
        assert torch.equal(reference.gqa_dense(q, k, v, **params), torch.zeros_like(q))


def test_fp8_scales_dequantise_per_head_of_keys(form):
    q, k, v = oracle.tensors(2, 6, 9, 4, 2, 16, torch.float8_e4m3fn)
    scales = [torch.rand(2, 2) + 0.5 for _ in range(3)]
    o = reference.gqa_dense(q, k, v, *scales, is_causal=True, out_dtype=torch.bfloat16)
    wide = [s.double()[:, None, :, None] for s in scales]
    q = q.double() * wide[0].repeat_interleave(2, 2)
    want = oracle.attention(q, k.double() * wide[1], v.double() * wide[2], is_causal=True)
    assert_close(o, want, torch.bfloat16, 16)


@pytest.mark.parametrize("layout", ["neox", "interleaved"])
@pytest.mark.parametrize("rotary_dim", [None, 8])
def test_rotation_is_by_complex_multiplication(form, layout, rotary_dim):
    q, k, v = oracle.tensors(2, 5, 9, 4, 2, 16, torch.float16)
    width = rotary_dim or 16
    angle = torch.rand(12, width // 2) * 6
    cos, sin = angle.cos().half(), angle.sin().half()
    o = reference.gqa_dense(
        q, k, v, rope_cos=cos, rope_sin=sin, is_causal=True, pos_encoding_mode="rope",
        rotary_dim=rotary_dim, rope_layout=layout,
    )  # fmt: skip

    def rotate(x, first):
        x = x.double().clone()
        pairs = [(i, i + width // 2) if layout == "neox" else (2 * i, 2 * i + 1)
                 for i in range(width // 2)]  # fmt: skip
        for position in range(x.shape[1]):
            for index, (one, two) in enumerate(pairs):
                turn = torch.complex(cos.double(), sin.double())[first + position, index]
                z = torch.complex(x[:, position, :, one], x[:, position, :, two]) * turn
                x[:, position, :, one], x[:, position, :, two] = z.real, z.imag
        return x

    want = oracle.attention(rotate(q, 4), rotate(k, 0), v.double(), is_causal=True)
    assert_close(o, want, torch.float16, 16)


@pytest.mark.parametrize(
    "params", [{}, {"is_causal": True}, {"softcap": 2.0}, {"window_size_right": 1}]
)
@pytest.mark.parametrize("lengths", [(3, 4), (4, 2)])
def test_gradients(form, params, lengths):
    q, k, v = (
        x.double().requires_grad_() for x in oracle.tensors(1, *lengths, 2, 1, 3, torch.float64)
    )
    sinks = torch.randn(2, dtype=torch.float64, requires_grad=True)
    call = lambda q, k, v, sinks: reference.gqa_dense(q, k, v, sinks=sinks, **params)  # noqa: E731
    assert torch.autograd.gradcheck(call, (q, k, v, sinks))
    plain = lambda q, k, v: reference.gqa_dense(q, k, v, **params)  # noqa: E731
    assert torch.autograd.gradcheck(plain, (q, k, v))


def full_call(q, k, v, sinks, cos, sin):
    return reference.gqa_dense(
        q, k, v, rope_cos=cos, rope_sin=sin, sinks=sinks, is_causal=True, window_size_left=4,
        softcap=3.0, pos_encoding_mode="rope",
    )  # fmt: skip


def arguments(b, s_q, s_kv):
    q, k, v = oracle.tensors(b, s_q, s_kv, 4, 2, 16)
    return q, k, v, torch.randn(4), *(torch.rand(s_kv + 3, 8).half() for _ in range(2))


def plain_call(q, k, v, sinks, cos, sin):
    return reference.gqa_dense(q, k, v, is_causal=True)


@pytest.mark.parametrize("call", [full_call, plain_call])
def test_four_lengths_compile_once(call):
    import torch._dynamo

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(call, backend="aot_eager", fullgraph=True)
    # Sizes of the first call are all different: equal ones would be taken for the same.
    for sizes in [(3, 5, 9), (6, 7, 12), (5, 30, 41), (7, 8, 100)]:
        args = arguments(*sizes)
        for tensor in args[:3]:
            torch._dynamo.mark_dynamic(tensor, (0, 1))
        for tensor in args[4:]:
            torch._dynamo.mark_dynamic(tensor, 0)
        torch.testing.assert_close(compiled(*args), call(*args), atol=2e-3, rtol=2e-3)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize("call", [full_call, plain_call])
def test_unbacked_lengths_trace(call):
    import torch._dynamo

    torch._dynamo.reset()
    args = arguments(3, 5, 9)
    for tensor in args[:3]:
        torch._dynamo.decorators.mark_unbacked(tensor, 0)
    for tensor in args[:3]:
        torch._dynamo.decorators.mark_unbacked(tensor, 1)
    if call is full_call:
        for tensor in args[4:]:
            torch._dynamo.decorators.mark_unbacked(tensor, 0)
    compiled = torch.compile(call, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(*args), call(*args), atol=2e-3, rtol=2e-3)


def test_symbolic_sizes_take_the_written_out_form():
    from torch.fx.experimental.proxy_tensor import make_fx

    q, k, v = oracle.tensors(2, 5, 9, 4, 2, 16)
    call = lambda q, k, v: reference.gqa_dense(q, k, v, is_causal=True)  # noqa: E731
    graph = make_fx(call, tracing_mode="symbolic")(q, k, v)
    assert not any("scaled_dot_product" in str(node.target) for node in graph.graph.nodes)


def launches(name, b, s_q, s_kv, h, h_kv, d, dtype=torch.bfloat16, capability=(9, 0), **params):
    from tileops.attention import gqa_dense, gqa_dense_split

    launcher = {
        "tile": gqa_dense.launch_tile,
        "split_keys": gqa_dense_split.launch_split_keys,
    }[name]
    q = torch.empty(b, s_q, h, d, dtype=dtype, device="meta")
    k = torch.empty(b, s_kv, h_kv, d, dtype=dtype, device="meta")
    return record(launcher, [q], [q, k, k, *[None] * 6], oracle.DEFAULTS | params, capability)


@compiles
def test_decoding_fills_the_gpu():
    kernel, merge = launches("split_keys", 4, 1, 8192, 32, 8, 128)
    tiles, splits = kernel.grid
    assert 132 < tiles * splits <= 264 and merge.grid == (4 * 32,)
    (kernel,) = launches("split_keys", 64, 1, 8192, 32, 8, 128)
    assert kernel.grid == (512, 1)


@compiles
def test_a_window_leaves_the_keys_before_it_unread():
    kernel, *_ = launches("split_keys", 1, 1, 8192, 32, 8, 128, window_size_left=1023)
    assert kernel.args["key_begin"] == 8192 - 1024
    assert kernel.args["split_length"] * kernel.grid[1] >= 1024


@compiles
def test_prefill_is_left_to_the_tiles():
    with pytest.raises(Declined, match="S_q = 2048"):
        launches("split_keys", 2, 2048, 2048, 32, 8, 128)
    assert launches("tile", 2, 2048, 2048, 32, 8, 128)[0].constexprs["DESCRIPTOR"]
    older = launches("tile", 2, 2048, 2048, 32, 8, 128, capability=(8, 0))
    assert not older[0].constexprs["DESCRIPTOR"]


@compiles
def test_a_short_chunk_of_few_heads_splits_the_keys():
    kernel, _ = launches("split_keys", 1, 128, 32768, 8, 1, 128)
    assert kernel.grid[0] * kernel.grid[1] > 66


@compiles
@pytest.mark.parametrize("name", ["tile", "split_keys"])
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"pos_encoding_mode": "rope"}, "rotary"),
        ({"out_dtype": torch.float16}, "dtype"),
        ({"dtype": torch.float8_e4m3fn}, "float8_e4m3fn"),
        ({"d": 264}, "wider than 256"),
    ],
)
def test_declined_calls(name, changed, reason):
    sizes = {"b": 1, "s_q": 2, "s_kv": 8, "h": 2, "h_kv": 1, "d": 64}
    with pytest.raises(Declined, match=reason):
        launches(name, **(sizes | changed))


@pytest.mark.slow
def test_gradients_with_sinks_compile_in_inductor():
    import torch._dynamo

    torch._dynamo.reset()
    inputs = [*oracle.tensors(1, 5, 9, 4, 2, 16), torch.randn(4)]
    inputs = [x.requires_grad_() for x in inputs]

    def loss(q, k, v, sinks):
        # Sizes are integers here, so that the fused form is the one compiled.
        call = torch.ops.tileops.attention_gqa_dense_fwd
        return call(q, k, v, sinks=sinks, is_causal=True).float().square().sum()

    compiled = torch.compile(loss, fullgraph=True, dynamic=False)
    got = torch.autograd.grad(compiled(*inputs), inputs)
    want = torch.autograd.grad(loss(*inputs), inputs)
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a, b, atol=2e-2, rtol=2e-2)
