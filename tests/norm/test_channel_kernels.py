"""The kernels over channels and groups against the float64 references, in the interpreter and on a
GPU."""

from __future__ import annotations

import math

import pytest
import torch

from tests.devices import DEVICES, gpu
from tileops.norm import BatchNormBwdOp, BatchNormFwdOp, GroupNormFwdOp, InstanceNormFwdOp
from tileops.testing.tolerance import assert_close
from tileops.testing.values import poisoned, serve, stride_variants

F32 = torch.float32
DTYPES = (torch.float16, torch.bfloat16, F32)
#: (operator, parameters, whether running statistics are given).
CALLS = {
    "batch-train": (BatchNormFwdOp, {"training": True}, False),
    "batch-running": (BatchNormFwdOp, {"training": True, "momentum": 0.25}, True),
    "batch-infer": (BatchNormFwdOp, {"training": False}, True),
    "instance": (InstanceNormFwdOp, {}, False),
    "instance-running": (InstanceNormFwdOp, {"momentum": 0.25}, True),
    "instance-infer": (InstanceNormFwdOp, {"use_input_stats": False}, True),
    "group-2": (GroupNormFwdOp, {"num_groups": 2}, False),
    "group-1": (GroupNormFwdOp, {"num_groups": 1}, False),
    "backward": (BatchNormBwdOp, {}, False),
}
DEFAULTS = {
    BatchNormFwdOp: {"training": False, "momentum": 0.1, "eps": 1e-5},
    InstanceNormFwdOp: {"use_input_stats": True, "momentum": 0.1, "eps": 1e-5},
    GroupNormFwdOp: {"eps": 1e-5},
    BatchNormBwdOp: {},
}
every_call = pytest.mark.parametrize("name", CALLS)
on_every_device = pytest.mark.parametrize("device", DEVICES)


def vectors(op, x, running, affine):
    """What follows the input: running statistics where the operator has them, weight and bias."""
    made = torch.rand(4, x.shape[1], device=x.device) + 0.5
    dtype = F32 if op is BatchNormFwdOp else x.dtype
    found = list(made[2:].to(dtype)) if affine else [None, None]
    if op is GroupNormFwdOp:
        return found
    return [*(made[:2] if running else (None, None)), *found]


def results(op, x, params):
    """Outputs to write: of the input's shape, and of one value a channel."""
    like = poisoned(x.shape, x.dtype, x.device)
    sums = [poisoned((x.shape[1],), F32, x.device) for _ in range(2)]
    if op is BatchNormBwdOp:
        return [like, *sums]
    if op is BatchNormFwdOp:
        return [like, *(sums if params["training"] else (None, None))]
    return [like]


def check(name, x, only=None, affine=True, dy=None) -> str:
    op, params, running = CALLS[name]
    params = DEFAULTS[op] | params
    ys = results(op, x, params)
    if op is BatchNormBwdOp:
        stats = BatchNormFwdOp.reference(x.double(), training=True)[1:3]
        w = torch.rand(x.shape[1], device=x.device) + 0.5 if affine else None
        dy = torch.randn(x.shape, device=x.device).to(x.dtype) if dy is None else dy
        inputs = [dy, x, *(s.float() for s in stats)]
        wide = [dy.double(), x.double(), *stats]
        served = serve(op, ys, inputs, {"weight": w}, only)
        exact = op.reference(*wide, weight=None if w is None else w.double())
    else:
        inputs = [x, *vectors(op, x, running, affine)]
        exact = op.reference(*(None if t is None else t.double() for t in inputs), **params)
        served = serve(op, ys, inputs, params, only)
        if params.get("training") or params.get("use_input_stats"):
            ys += [t for t in inputs[1:3] if t is not None]
    exact = exact if isinstance(exact, tuple) else (exact,)
    for y, wanted in zip(ys, exact, strict=True):
        if wanted is not None:
            assert_close(y, wanted, y.dtype, x.numel())
    return served


@every_call
@on_every_device
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((3, 4, 7), torch.bfloat16),
        ((2, 6, 5, 9), F32),
        ((33, 4, 1), F32),
        ((2, 2, 700), torch.float16),
        ((3, 34, 2), F32),
    ],
)
def test_channels(name, device, shape, dtype) -> None:
    if shape[-1] == 1 and name in ("instance", "instance-running"):
        return
    check(name, torch.randn(shape, device=device).to(dtype) + 1)


@on_every_device
@pytest.mark.parametrize("name", ["batch-train", "batch-infer", "group-2", "backward"])
def test_samples_of_channels_alone(name, device) -> None:
    for shape in ((37, 6), (5, 130), (130, 2)):
        check(name, torch.randn(shape, device=device))
    check(name, torch.randn(6, 36, device=device).t())


@every_call
@on_every_device
@pytest.mark.parametrize("only", ["planes", None])
def test_weights_are_optional(name, device, only) -> None:
    check(name, torch.randn(2, 4, 30, device=device), only, affine=False)
    check(name, torch.randn(2, 4, 30, device=device), only)


@every_call
@on_every_device
def test_strides(name, device) -> None:
    x = torch.randn(2, 4, 3, 5, device=device, dtype=torch.bfloat16)
    for _how, view in list(stride_variants(x))[1:]:
        check(name, view)
    check(name, x.contiguous(memory_format=torch.channels_last))
    dy = torch.randn(2, 4, 1, 1, device=device, dtype=torch.bfloat16).expand(2, 4, 3, 5)
    check(name, x[:, :, :1].expand(2, 4, 3, 5), dy=dy)


@every_call
@on_every_device
def test_few_channels_are_split(name, device) -> None:
    check(name, torch.randn(2, 2, 17000, device=device) + 3, "planes")
    if name in ("batch-running", "instance-running", "backward"):
        wide = torch.randn(2, 70, 130, 2, device=device) + 3
        check(name, wide.permute(0, 3, 1, 2), "planes")


@on_every_device
def test_rows_where_they_fill_the_device(device) -> None:
    assert check("instance", torch.randn(2, 4, 300, device=device)) == "row"
    assert check("group-2", torch.randn(2, 4, 300, device=device)) == "row"
    assert check("group-2", torch.randn(1, 4, 9000, device=device)) == "planes"
    assert check("instance-running", torch.randn(2, 4, 300, device=device)) == "planes"


@every_call
@on_every_device
@pytest.mark.parametrize("far", [0.0, 1000.0])
def test_what_the_first_tile_knows_nothing_of(name, device, far) -> None:
    """Zeros, as of a padded image, before numbers that vary little about a large one."""
    x = torch.randn(2, 2, 20000, device=device) + 1000
    x[:1, :, :3000] = far
    op, params, running = CALLS[name]
    if op is BatchNormBwdOp or name.endswith("infer"):
        return
    params = DEFAULTS[op] | params
    ys = results(op, x, params)
    inputs = [x, *vectors(op, x, running, False)]
    exact = op.reference(*(None if t is None else t.double() for t in inputs), **params)
    serve(op, ys, inputs, params, "planes")
    wanted = exact[0] if isinstance(exact, tuple) else exact
    assert float((ys[0] - wanted).norm() / wanted.norm()) < 3e-4


@every_call
@on_every_device
@pytest.mark.parametrize("special", [math.nan, math.inf])
def test_special_values(name, device, special) -> None:
    x = torch.randn(2, 4, 300, device=device)
    x[0, 1, 7] = special
    x[1, 2] = special
    x[:, 3] = 2.5
    for only in ("planes", "row") if name in ("instance", "group-2") else ("planes",):
        check(name, x, only)


@on_every_device
@pytest.mark.parametrize("name", ["batch-train", "batch-infer", "instance", "group-2", "backward"])
def test_offsets_past_two_to_the_31(name, device) -> None:
    store = torch.empty(2**31 + 128, dtype=torch.bfloat16, device=device)
    x, dy = (store.as_strided((2, 4, 16), (2**31, 16, 1), offset) for offset in (0, 64))
    x.copy_(torch.randn(2, 4, 16, device=device))
    dy.copy_(torch.randn(2, 4, 16, device=device))
    check(name, x, dy=dy)


@gpu
@every_call
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape",
    [(32, 64, 112, 112), (64, 2048, 7, 7), (4096, 256, 2), (2, 320, 128, 128), (8, 512, 3199)],
)
@pytest.mark.parametrize("last", [False, True])
def test_full_size(name, dtype, shape, last) -> None:
    x = torch.randn(shape, device="cuda").to(dtype)
    if last and x.dim() == 4:
        x = x.contiguous(memory_format=torch.channels_last)
    check(name, x)
