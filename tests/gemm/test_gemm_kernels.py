"""GEMM kernels against float64, outputs poisoned: in the interpreter and on a GPU."""

from __future__ import annotations

import math

import pytest
import torch

from tests.devices import DEVICES, gpu
from tileops.gemm import GEMMFwdOp
from tileops.gemm.tiles import Plan, Tile
from tileops.runtime.launch import Call
from tileops.testing.tolerance import assert_close
from tileops.testing.values import poisoned, serve, stride_variants

LAYOUTS = [(False, False), (False, True), (True, False), (True, True)]
HALVES = [torch.float16, torch.bfloat16]
on_devices = pytest.mark.parametrize("device", DEVICES)
in_layouts = pytest.mark.parametrize(("trans_a", "trans_b"), LAYOUTS)


def operands(shape, trans_a, trans_b, device, dtype=torch.float16):
    m, n, k = shape
    a = torch.randn((k, m) if trans_a else (m, k), device=device).to(dtype)
    b = torch.randn((n, k) if trans_b else (k, n), device=device).to(dtype)
    return a, b


def run(only, a, b, trans_a, trans_b):
    left = a.t() if trans_a else a
    right = b.t() if trans_b else b
    d = poisoned((left.shape[0], right.shape[1]), a.dtype, a.device)
    params = {"trans_a": trans_a, "trans_b": trans_b}
    if only == "descriptor" and a.device.type == "cpu":
        # The interpreter has descriptors, but no capability that says so.
        from tileops.gemm.gemm_descriptor import launch_descriptor

        assert launch_descriptor(Call(a.device, (9, 0)), d, a, b, **params) is None
    else:
        serve(GEMMFwdOp, [d], [a, b], params, only)
    assert_close(d, left.double() @ right.double(), d.dtype, left.shape[1])
    return d


def needs_descriptors(device):
    if device == "cuda" and torch.cuda.get_device_capability()[0] < 9:
        pytest.skip("tensor descriptors need sm_90")


@on_devices
@pytest.mark.parametrize("dtype", [*HALVES, torch.float32])
@in_layouts
@pytest.mark.parametrize("shape", [(64, 96, 64), (33, 65, 47), (1, 1, 1), (130, 7, 100)])
def test_pointers_serve_both_orders_and_tails(device, shape, trans_a, trans_b, dtype):
    run("pointer", *operands(shape, trans_a, trans_b, device, dtype), trans_a, trans_b)


@on_devices
@pytest.mark.parametrize("only", ["pointer", "split_k"])
@in_layouts
def test_any_strides(device, only, trans_a, trans_b):
    a, b = operands((40, 50, 70), trans_a, trans_b, device)
    for _how, left in stride_variants(a):
        run(only, left, b, trans_a, trans_b)
    for _how, right in stride_variants(b):
        run(only, a, right, trans_a, trans_b)
    run(only, a[:1].expand(a.shape), b[:, :1].expand(b.shape), trans_a, trans_b)


@on_devices
@pytest.mark.parametrize("only", ["pointer", "split_k"])
def test_an_empty_k_gives_zeros(device, only):
    d = run(only, *operands((5, 6, 0), False, True, device), False, True)
    assert torch.equal(d, torch.zeros_like(d))


@on_devices
@pytest.mark.parametrize("dtype", HALVES)
@in_layouts
@pytest.mark.parametrize("shape", [(1, 40, 2048), (16, 33, 1500), (50, 32, 3000), (3, 300, 100)])
def test_splits_of_k(device, shape, trans_a, trans_b, dtype):
    run("split_k", *operands(shape, trans_a, trans_b, device, dtype), trans_a, trans_b)


@on_devices
def test_splits_sum_in_one_order(device):
    a, b = operands((4, 64, 4096), False, True, device)
    first = run("split_k", a, b, False, True)
    for _ in range(3):
        assert torch.equal(run("split_k", a, b, False, True), first)


@on_devices
@in_layouts
@pytest.mark.parametrize("shape", [(128, 256, 64), (136, 264, 72), (8, 8, 8)])
@pytest.mark.parametrize("order", ["rows", "columns"])
def test_descriptors(device, shape, trans_a, trans_b, order):
    needs_descriptors(device)
    a, b = operands(shape, trans_a, trans_b, device)
    if order == "columns":
        a, b = a.t().contiguous().t(), b.t().contiguous().t()
    run("descriptor", a, b, trans_a, trans_b)


@on_devices
@in_layouts
@pytest.mark.parametrize(("m", "n", "k"), [(8, 72, 1032), (24, 40, 584), (72, 40, 2056)])
@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("swap", [False, True])
def test_descriptors_split_and_swapped(device, m, n, k, trans_a, trans_b, splits, swap):
    needs_descriptors(device)
    from tileops.gemm.gemm_descriptor import run_descriptor

    a, b = operands((m, n, k), trans_a, trans_b, device)
    left, right = a.t() if trans_a else a, b.t() if trans_b else b
    d = poisoned((m, n), a.dtype, device)
    plan = Plan(Tile(64, 32, 64, warps=4, stages=3), splits, swap)
    call = Call(a.device, (9, 0))
    run_descriptor(call, d, a, b, plan, trans_a=trans_a, trans_b=trans_b)
    assert_close(d, left.double() @ right.double(), d.dtype, k)


@on_devices
def test_descriptors_and_a_result_that_none_holds(device):
    needs_descriptors(device)
    run("descriptor", *operands((70, 67, 64), False, True, device), False, True)


@on_devices
def test_descriptors_read_a_single_row_of_any_stride(device):
    needs_descriptors(device)
    _, b = operands((1, 64, 64), False, True, device)
    a = torch.randn(1, 67, device=device).half()[:, :64]
    run("descriptor", a, b, False, True)


@on_devices
@pytest.mark.parametrize("special", [math.nan, math.inf])
@pytest.mark.parametrize("only", ["pointer", "split_k", "descriptor"])
def test_special_values_stay_in_their_row(device, special, only):
    needs_descriptors(device)
    a, b = operands((40, 40, 72), False, True, device)
    a[3, 71] = special
    d = poisoned((40, 40), a.dtype, device)
    if only == "descriptor" and device == "cpu":
        from tileops.gemm.gemm_descriptor import launch_descriptor

        launch_descriptor(Call(a.device, (9, 0)), d, a, b, trans_a=False, trans_b=True)
    else:
        serve(GEMMFwdOp, [d], [a, b], {"trans_a": False, "trans_b": True}, only)
    finite = torch.ones(40, dtype=torch.bool, device=device)
    finite[3] = False
    assert d[finite].isfinite().all() and not d[3].isfinite().any()


@on_devices
def test_offsets_past_two_to_the_31(device):
    store = torch.empty(2**31 + 64, dtype=torch.bfloat16, device=device)
    a = store.as_strided((2, 64), (2**31, 1))
    a.copy_(torch.randn(2, 64, device=device))
    _, b = operands((2, 40, 64), False, True, device, torch.bfloat16)
    run("pointer", a, b, False, True)
    run("split_k", a, b, False, True)
    run("pointer", b, a, False, True)


@gpu
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(
    ("shape", "trans_a", "trans_b", "served"),
    [
        ((4096, 4096, 7168), False, True, "descriptor"),
        ((16, 4096, 7168), False, True, "descriptor"),
        ((1, 4096, 7168), False, True, "descriptor"),
        ((8, 1536, 7168), False, True, "descriptor"),
        ((32, 6144, 4096), False, False, "descriptor"),
        ((100, 4096, 7168), False, True, "descriptor"),
        ((256, 4096, 7168), True, True, "descriptor"),
        ((16, 4096, 7001), False, True, "split_k"),
        ((6144, 4096, 2048), True, False, "descriptor"),
        ((2048, 4096, 6144), False, False, "descriptor"),
        ((1024, 1024, 1024), True, True, "descriptor"),
        ((1000, 1001, 1003), False, True, "pointer"),
        ((64, 128256, 4096), False, True, "descriptor"),
    ],
)
def test_full_size(dtype, shape, trans_a, trans_b, served):
    a, b = operands(shape, trans_a, trans_b, "cuda", dtype)
    a /= math.sqrt(shape[2])  # the tolerance is for results of order one
    d = poisoned(shape[:2], dtype, "cuda")
    name = serve(GEMMFwdOp, [d], [a, b], {"trans_a": trans_a, "trans_b": trans_b})
    if torch.cuda.get_device_capability()[0] in (9, 10):
        assert name == served
    left, right = a.t() if trans_a else a, b.t() if trans_b else b
    assert_close(d, left.double() @ right.double(), dtype, shape[2])


@gpu
def test_more_than_two_to_the_31_elements():
    a, b = operands((70000, 32768, 64), False, True, "cuda")
    for only in ("pointer", "descriptor"):
        if only == "descriptor":
            needs_descriptors("cuda")
        d = poisoned((70000, 32768), a.dtype, "cuda")
        serve(GEMMFwdOp, [d], [a, b], {"trans_a": False, "trans_b": True}, only)
        assert_close(d[-64:], a[-64:].double() @ b.double().t(), a.dtype, 64)
        assert bool(d[::1000].isfinite().all())


@gpu
@in_layouts
def test_float32_at_full_size(trans_a, trans_b):
    shape = (1024, 4096, 2048)
    a, b = operands(shape, trans_a, trans_b, "cuda", torch.float32)
    run("pointer", a, b, trans_a, trans_b)


@gpu
def test_float32_keeps_infinities():
    a = torch.ones(64, 64, device="cuda")
    a[3, 5] = float("inf")
    a[4, 5] = float("nan")
    b = torch.eye(64, device="cuda") + 1.0
    d = run("pointer", a, b, False, False)
    assert d[3].isinf().all() and d[4].isnan().all() and d[5].isfinite().all()
