"""GEMM kernels in Triton's interpreter, against float64, outputs poisoned."""

from __future__ import annotations

import pytest
import torch

from tileops.runtime.launch import Call
from tileops.testing.kernels import Declined, interpret
from tileops.testing.tolerance import assert_close

pytestmark = pytest.mark.interpreter

LAYOUTS = [(False, False), (False, True), (True, False), (True, True)]
CPU = torch.device("cpu")


def operands(m, n, k, trans_a, trans_b, dtype=torch.float16, seed=0):
    generator = torch.Generator().manual_seed(seed)
    a = torch.randn((k, m) if trans_a else (m, k), generator=generator).to(dtype)
    b = torch.randn((n, k) if trans_b else (k, n), generator=generator).to(dtype)
    return a, b


def poisoned(m, n, dtype):
    return torch.full((m, n), float("nan"), dtype=dtype)


def check(d, a, b, trans_a, trans_b):
    left = (a.t() if trans_a else a).double()
    right = (b.t() if trans_b else b).double()
    assert_close(d, left @ right, d.dtype, left.shape[1])


def run(launcher, a, b, trans_a, trans_b):
    m = a.shape[1 if trans_a else 0]
    n = b.shape[0 if trans_b else 1]
    d = poisoned(m, n, a.dtype)
    interpret(launcher, [d], [a, b], {"trans_a": trans_a, "trans_b": trans_b})
    check(d, a, b, trans_a, trans_b)
    return d


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("trans_a", "trans_b"), LAYOUTS)
@pytest.mark.parametrize("shape", [(64, 96, 64), (33, 65, 47), (1, 1, 1), (130, 7, 100)])
def test_pointer_kernel_serves_both_orders_and_tails(shape, trans_a, trans_b, dtype):
    from tileops.gemm.gemm import launch_pointer

    run(launch_pointer, *operands(*shape, trans_a, trans_b, dtype), trans_a, trans_b)


@pytest.mark.parametrize(("trans_a", "trans_b"), LAYOUTS)
def test_pointer_kernel_reads_any_strides(trans_a, trans_b):
    from tileops.gemm.gemm import launch_pointer

    a, b = operands(40, 50, 70, trans_a, trans_b)
    wide = torch.zeros(a.shape[0], 2 * a.shape[1] + 1, dtype=a.dtype)[:, 1::2]
    wide.copy_(a)
    flipped = b.t().contiguous().t()
    run(launch_pointer, wide, flipped, trans_a, trans_b)
    repeated = a[:1].expand(a.shape)
    run(launch_pointer, repeated, b, trans_a, trans_b)


@pytest.mark.parametrize("name", ["launch_pointer", "launch_split_k"])
def test_an_empty_k_gives_zeros(name):
    from tileops.gemm import gemm

    d = run(getattr(gemm, name), *operands(5, 6, 0, False, True), False, True)
    assert torch.equal(d, torch.zeros(5, 6, dtype=d.dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("trans_a", "trans_b"), LAYOUTS)
@pytest.mark.parametrize("shape", [(1, 40, 2048), (16, 33, 1500), (50, 32, 3000), (3, 300, 100)])
def test_split_kernel(shape, trans_a, trans_b, dtype):
    from tileops.gemm.gemm import launch_split_k

    run(launch_split_k, *operands(*shape, trans_a, trans_b, dtype), trans_a, trans_b)


def test_split_kernel_leaves_tall_calls_to_the_others():
    from tileops.gemm.gemm import launch_split_k

    a, b = operands(200, 64, 64, False, True)
    with pytest.raises(Declined, match="M = 200"):
        interpret(
            launch_split_k,
            [poisoned(200, 64, a.dtype)],
            [a, b],
            {"trans_a": False, "trans_b": True},
        )


@pytest.mark.parametrize(("trans_a", "trans_b"), LAYOUTS)
@pytest.mark.parametrize("shape", [(128, 256, 64), (136, 264, 72), (8, 8, 8)])
@pytest.mark.parametrize("order", ["rows", "columns"])
def test_descriptor_kernel(shape, trans_a, trans_b, order):
    from tileops.gemm.gemm_descriptor import launch_descriptor

    a, b = operands(*shape, trans_a, trans_b)
    if order == "columns":
        a, b = a.t().contiguous().t(), b.t().contiguous().t()
    d = poisoned(*shape[:2], a.dtype)
    call = Call(CPU, (9, 0))
    assert launch_descriptor(call, d, a, b, trans_a=trans_a, trans_b=trans_b) is None
    check(d, a, b, trans_a, trans_b)


def test_descriptor_kernel_writes_rows_that_no_descriptor_holds():
    from tileops.gemm.gemm_descriptor import launch_descriptor

    a, b = operands(70, 67, 64, False, True)
    d = poisoned(70, 67, a.dtype)
    assert launch_descriptor(Call(CPU, (9, 0)), d, a, b, trans_a=False, trans_b=True) is None
    check(d, a, b, False, True)


def test_descriptor_kernel_reads_a_single_row():
    from tileops.gemm.gemm_descriptor import launch_descriptor

    a, b = operands(1, 64, 64, False, True)
    a = torch.randn(1, 67).half()[:, :64]
    d = poisoned(1, 64, a.dtype)
    assert launch_descriptor(Call(CPU, (9, 0)), d, a, b, trans_a=False, trans_b=True) is None
    check(d, a, b, False, True)
