"""The GEMM reference, and which kernel serves which call."""

from __future__ import annotations

import pytest
import torch

from tests.devices import compiles
from tileops.gemm import GEMMFwdOp, reference, tiles
from tileops.testing.kernels import Declined, record
from tileops.testing.tolerance import assert_close
from tileops.testing.values import launcher_of

LAYOUTS = [(False, False), (False, True), (True, False), (True, True)]
NT = {"trans_a": False, "trans_b": True}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize(("trans_a", "trans_b"), LAYOUTS)
def test_reference_against_float64(trans_a, trans_b, dtype):
    a = torch.randn((70, 33) if trans_a else (33, 70)).to(dtype)
    b = torch.randn((45, 70) if trans_b else (70, 45)).to(dtype)
    d = reference.gemm(a, b, trans_a=trans_a, trans_b=trans_b)
    assert d.is_contiguous() and d.shape == (33, 45)
    left = a.t() if trans_a else a
    right = b.t() if trans_b else b
    assert_close(d, left.double() @ right.double(), dtype, 70)
    assert_close(reference.gemm(a, b, trans_a=trans_a, trans_b=trans_b), left @ right, dtype, 70)


def test_reference_of_an_empty_k_is_zero():
    d = reference.gemm(torch.ones(3, 0).half(), torch.ones(4, 0).half(), **NT)
    assert torch.equal(d, torch.zeros(3, 4).half())


def test_reference_is_differentiable():
    a = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    b = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, b: reference.gemm(a, b, **NT), (a, b))


def test_reference_traces_with_unbacked_sizes():
    a, b = torch.randn(8, 16).half(), torch.randn(12, 16).half()
    torch._dynamo.reset()
    torch._dynamo.decorators.mark_unbacked(a, 0)
    traced = torch.compile(lambda a, b: reference.gemm(a, b, **NT), backend="eager", fullgraph=True)
    assert torch.equal(traced(a, b), reference.gemm(a, b, **NT))


def meta(*shape, strides=None, offset=0):
    base = torch.empty(1 << 22, dtype=torch.bfloat16, device="meta")
    if strides is None:
        return torch.empty(shape, dtype=torch.bfloat16, device="meta")
    return base.as_strided(shape, strides, offset)


def descriptor(a, b, capability=(9, 0), **params):
    from tileops.gemm.gemm_descriptor import launch_descriptor

    m = a.shape[1 if params.get("trans_a") else 0]
    n = b.shape[1 if params.get("trans_b") is False else 0]
    return record(launch_descriptor, [meta(m, n)], [a, b], NT | params, capability)


@compiles
@pytest.mark.parametrize(
    ("a", "b", "capability", "reason"),
    [
        (meta(256, 64), meta(256, 64), (8, 0), "sm_90"),
        (meta(256, 0), meta(256, 0), (9, 0), "K is 0"),
        (meta(256, 64, strides=(128, 2)), meta(256, 64), (9, 0), "a: neither axis"),
        (meta(256, 68, strides=(68, 1)), meta(256, 68), (9, 0), "a: the outer stride"),
        (meta(256, 64), meta(256, 64, strides=(0, 1)), (9, 0), "b: the outer stride"),
    ],
)
def test_descriptor_kernel_declines_with_its_reason(a, b, capability, reason):
    with pytest.raises(Declined, match=reason):
        descriptor(a, b, capability)


@compiles
@pytest.mark.parametrize("name", GEMMFwdOp.kernel_types)
def test_float32_goes_through_pointers(name):
    operand = torch.empty(16, 16, device="meta")
    launch = launcher_of(GEMMFwdOp, name)
    if name == "pointer":
        (only,) = record(launch, [operand], [operand, operand], NT)
        assert only.constexprs["PRECISION"] == "tf32x3"
        return
    with pytest.raises(Declined, match="float32 products go through the pointer kernel"):
        record(launch, [operand], [operand, operand], NT)


@compiles
def test_descriptor_kernel_is_persistent():
    launch = descriptor(meta(4096, 7168), meta(4096, 7168))[0]
    assert launch.grid == (132,)
    launch = descriptor(meta(256, 64), meta(256, 64))[0]
    assert launch.grid[0] < 132


@compiles
def test_few_rows_split_k_and_fill_the_gpu():
    from tileops.gemm.gemm import launch_split_k

    launches = record(launch_split_k, [meta(16, 4096)], [meta(16, 7168), meta(4096, 7168)], NT)
    assert [launch.name for launch in launches] == ["gemm_kernel", "sum_splits_kernel"]
    tiles_n, splits = launches[0].grid
    assert 132 <= tiles_n * splits <= 2 * 132


@compiles
def test_one_split_needs_no_second_pass():
    from tileops.gemm.gemm import launch_split_k

    launches = record(launch_split_k, [meta(16, 65536)], [meta(16, 512), meta(65536, 512)], NT)
    assert [launch.name for launch in launches] == ["gemm_kernel"]


def test_splits_cover_k_exactly():
    for m, n, k in [(1, 64, 1), (1, 8192, 8192), (16, 4096, 7168), (64, 64, 100000), (128, 128, 0)]:
        for processors in (1, 4, 108, 132):
            tile = tiles.split_tile(m, n, k, (9, 0))
            length = tiles.split_length(tile, m, n, k, processors)
            splits = max(1, tiles.ceil_div(k, length))
            assert length % tile.block_k == 0 and splits <= 32
            assert splits * length >= k > (splits - 1) * length or k == 0


def test_plans_fill_the_gpu_and_split_no_further_than_k_allows():
    for m in (1, 16, 33, 64, 65, 128, 256, 4096):
        for n, k in ((64, 64), (4096, 7168), (1536, 7168), (128256, 4096)):
            plan = tiles.descriptor_plan(m, n, k, 132)
            assert plan.swap == (m <= 64)
            assert plan.splits == 1 or plan.splits * 512 <= k
            assert plan.splits == 1 or plan.tile.count(*((n, m) if plan.swap else (m, n))) < 132
    assert tiles.descriptor_plan(256, 4096, 7168, 132).splits == 2


@compiles
def test_few_rows_through_descriptors_are_one_launch():
    launches = descriptor(meta(16, 7168), meta(4096, 7168))
    assert [launch.name for launch in launches] == ["gemm_descriptor_kernel"]
    launches = descriptor(meta(128, 7168), meta(4096, 7168))
    assert [launch.name for launch in launches] == ["gemm_descriptor_kernel", "sum_splits_kernel"]
