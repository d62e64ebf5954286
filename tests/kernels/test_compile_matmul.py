"""GEMM and attention kernels compile for sm_80, sm_90 and sm_100 without a GPU, and fit there."""

from __future__ import annotations

import pytest
import torch

from tests.attention.oracle import DEFAULTS
from tests.devices import compiles
from tileops.attention import GQADenseBwdOp, GQADenseFwdOp, GQADenseWithLSEFwdOp
from tileops.gemm import GEMMFwdOp
from tileops.testing.kernels import Declined, compile_launch, record
from tileops.testing.values import launcher_of

pytestmark = compiles

CAPABILITIES = [(8, 0), (9, 0), (10, 0)]
OTHERS = [(8, 9)]
# Shared memory of a program, in KiB: what the hardware grants.
SHARED = {(8, 0): 163, (8, 9): 99, (9, 0): 227, (10, 0): 227}
# Spilled bytes a thread that cost nothing to speak of: a few registers, outside the inner loop.
SPILLS = 128


def meta(*shape, dtype=torch.bfloat16):
    return torch.empty(shape, dtype=dtype, device="meta")


def check(launches, capability, spills=SPILLS):
    for launch in launches:
        resources = compile_launch(launch, capability)
        print(launch.name, capability, launch.options, resources)
        assert resources.shared <= SHARED[capability] * 1024
        assert resources.spills <= spills


GEMMS = [
    ("descriptor", (4096, 4096, 7168), False, True),
    ("pointer", (4096, 4096, 7168), False, True),
    ("pointer", (1000, 1001, 1003), False, True),
    ("split_k", (16, 4096, 7168), False, True),
    ("descriptor", (16, 4096, 7168), False, True),
]
MORE_GEMMS = [
    ("descriptor", (4096, 4096, 7168), True, False),
    ("descriptor", (1024, 1024, 1024), False, True),
    ("descriptor", (512, 512, 1024), True, True),
    ("descriptor", (1024, 1001, 1024), False, True),
    ("descriptor", (256, 4096, 7168), False, True),
    ("descriptor", (128, 4096, 7168), False, True),
    ("descriptor", (32, 6144, 4096), False, False),
    ("descriptor", (64, 128256, 4096), False, True),
    ("descriptor", (8, 1536, 7168), True, True),
    ("pointer", (4096, 4096, 7168), True, False),
    ("pointer", (512, 512, 1024), False, False),
    ("split_k", (1, 4096, 7168), False, False),
    ("split_k", (64, 4096, 7001), True, True),
    ("split_k", (128, 1024, 7168), False, True),
]
CAUSAL = {"is_causal": True}
SCORES = {
    name: DEFAULTS[name]
    for name in ("is_causal", "window_size_left", "window_size_right", "sm_scale", "softcap")
}
ATTENTIONS = [
    ("tile", (2, 2048, 2048, 32, 8, 128), CAUSAL, False),
    ("split_keys", (1, 1, 32768, 32, 8, 128), CAUSAL, True),
]
MORE_ATTENTIONS = [
    ("tile", (2, 2048, 2048, 32, 8, 128), {}, False),
    ("tile", (1, 4096, 4096, 64, 8, 64), CAUSAL | {"window_size_left": 127}, True),
    ("tile", (1, 2048, 2048, 16, 8, 256), CAUSAL | {"softcap": 50.0}, False),
    ("tile", (1, 300, 333, 16, 8, 80), {"window_size_left": 9, "window_size_right": 9}, False),
    ("tile", (1, 2048, 2048, 16, 8, 192), CAUSAL, False),
    ("split_keys", (32, 1, 4096, 32, 8, 128), CAUSAL, False),
    ("split_keys", (1, 8, 32768, 64, 8, 128), CAUSAL | {"window_size_left": 4095}, True),
    ("split_keys", (1, 1, 32768, 16, 8, 256), CAUSAL | {"softcap": 50.0}, False),
]


def compile_gemm(capability, case, dtype=torch.bfloat16):
    name, (m, n, k), trans_a, trans_b = case
    a = meta(*((k, m) if trans_a else (m, k)), dtype=dtype)
    b = meta(*((n, k) if trans_b else (k, n)), dtype=dtype)
    params = {"trans_a": trans_a, "trans_b": trans_b}
    launcher = launcher_of(GEMMFwdOp, name)
    if name == "descriptor" and capability < (9, 0):
        with pytest.raises(Declined, match="sm_90"):
            record(launcher, [meta(m, n)], [a, b], params, capability)
        return
    d = meta(m, n, dtype=dtype)
    check(record(launcher, [d], [a, b], params, capability), capability)


def compile_attention(capability, case):
    name, (b, s_q, s_kv, h, h_kv, d), params, with_sinks = case
    q, k = meta(b, s_q, h, d), meta(b, s_kv, h_kv, d)
    inputs = [q, k, k, *[None] * 5, meta(h, dtype=torch.float32) if with_sinks else None]
    launcher = launcher_of(GQADenseFwdOp, name)
    check(record(launcher, [q], inputs, DEFAULTS | params, capability), capability)


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("case", GEMMS)
def test_gemm(capability, case):
    compile_gemm(capability, case)


@pytest.mark.parametrize("capability", CAPABILITIES + OTHERS)
@pytest.mark.parametrize("shape", [(1024, 4096, 2048), (100, 101, 103)])
def test_gemm_of_float32(capability, shape):
    compile_gemm(capability, ("pointer", shape, False, True), torch.float32)


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("case", ATTENTIONS)
def test_attention(capability, case):
    compile_attention(capability, case)


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("name", ["tile", "split_keys"])
def test_attention_with_lse(capability, name):
    q, k = meta(1, 1, 32, 128), meta(1, 8192, 8, 128)
    launcher = launcher_of(GQADenseWithLSEFwdOp, name)
    outputs = [q, meta(1, 32, 1, dtype=torch.float32)]
    check(record(launcher, outputs, [q, k, k], SCORES, capability), capability)


def compile_backward(capability, shape, params):
    b, s, h, h_kv, d = shape
    q, k, lse = meta(b, s, h, d), meta(b, s, h_kv, d), meta(b, h, s, dtype=torch.float32)
    launcher = launcher_of(GQADenseBwdOp, "backward")
    launches = record(launcher, [q, k, k], [q, q, k, k, q, lse], SCORES | params, capability)
    check(launches, capability)


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_attention_backward(capability):
    compile_backward(capability, (2, 4096, 32, 8, 128), CAUSAL)


@pytest.mark.slow
@pytest.mark.parametrize("capability", CAPABILITIES + OTHERS)
@pytest.mark.parametrize(
    ("shape", "params"),
    [
        ((1, 4096, 64, 8, 64), CAUSAL | {"window_size_left": 127}),
        ((1, 2048, 16, 8, 256), CAUSAL | {"softcap": 50.0}),
        ((16, 512, 16, 16, 64), {}),
        ((1, 333, 16, 8, 80), {"window_size_left": 9, "window_size_right": 9}),
    ],
)
def test_more_attention_backwards(capability, shape, params):
    compile_backward(capability, shape, params)


@pytest.mark.slow
@pytest.mark.parametrize("capability", CAPABILITIES + OTHERS)
@pytest.mark.parametrize("case", MORE_GEMMS)
def test_more_gemms(capability, case):
    compile_gemm(capability, case)


@pytest.mark.slow
@pytest.mark.parametrize("capability", CAPABILITIES + OTHERS)
@pytest.mark.parametrize("case", MORE_ATTENTIONS)
def test_more_attentions(capability, case):
    compile_attention(capability, case)


@pytest.mark.slow
@pytest.mark.parametrize("capability", CAPABILITIES)
def test_attention_over_strides_that_no_vector_reads(capability):
    q = meta(2, 100, 8, 64)
    k = torch.empty(2, 128, 2, 131, dtype=torch.float16, device="meta")[..., 1:129:2]
    launcher = launcher_of(GQADenseFwdOp, "tile")
    launches = record(launcher, [q], [q, k, k, *[None] * 6], DEFAULTS, capability)
    check(launches, capability, spills=4096)
