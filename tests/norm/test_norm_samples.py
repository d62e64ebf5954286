"""The norms that torch has, on PyTorch's own samples and on the corners of channels: values, dtype,
running statistics and refusals."""

from __future__ import annotations

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch.testing._internal.common_methods_invocations import op_db

from tests.devices import gpu
from tileops.norm import (
    BatchNormFwdOp,
    GroupNormFwdOp,
    InstanceNormFwdOp,
    LayerNormFwdOp,
    RMSNormFwdOp,
)
from tileops.runtime.errors import CallError

F32 = torch.float32
OPS = {
    "batch_norm": BatchNormFwdOp,
    "group_norm": GroupNormFwdOp,
    "instance_norm": InstanceNormFwdOp,
    "layer_norm": LayerNormFwdOp,
    "rms_norm": RMSNormFwdOp,
}
INFOS = {name: next(i for i in op_db if i.name == f"nn.functional.{name}") for name in OPS}
#: torch's arguments after the input, by position.
POSITIONS = {
    "batch_norm": ("running_mean", "running_var"),
    "group_norm": ("num_groups",),
    "instance_norm": (),
    "layer_norm": ("normalized_shape",),
    "rms_norm": ("normalized_shape",),
}
#: Samples that an entry refuses by design: how many have no axis of channels.
REFUSED = {"batch_norm": 2}


def given(name, sample):
    """A sample's arguments by name, its tensors apart: (tensors, parameters)."""
    found = dict(zip(POSITIONS[name], sample.args, strict=False)) | sample.kwargs
    inputs = {k: v for k, v in found.items() if v is None or isinstance(v, torch.Tensor)}
    return inputs, {k: v for k, v in found.items() if k not in inputs or k == "eps"}


def prepared(name, tensors):
    """Tensors as the entry declares them: vectors of a batch norm are float32, copied."""
    wide = ("running_mean", "running_var", *(("weight", "bias") if name == "batch_norm" else ()))
    return {
        k: v if v is None else (v.to(F32) if k in wide else v).detach().clone()
        for k, v in tensors.items()
    }


def call(name, x, tensors, params):
    """The operator's first output."""
    names = [t.name for t in OPS[name].bound().operator.signature.inputs][1:]
    result = OPS[name](**params)(x, *(tensors.get(n) for n in names))
    return result[0] if isinstance(result, tuple) else result


def run(name, device, dtype):
    refused = 0
    for sample in INFOS[name].sample_inputs(device, dtype):
        x, (tensors, params) = sample.input.detach(), given(name, sample)
        if name == "batch_norm" and x.dim() < 2:
            refused += 1
            continue
        mine, theirs = prepared(name, tensors), prepared(name, tensors)
        # In half precision torch rounds on the way, on some devices.
        theirs = {k: v if v is None else v.to(F32) for k, v in theirs.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = getattr(F, name)(x.to(F32), **theirs, **params).to(dtype)
            got = call(name, x, mine, params)
        assert got.is_contiguous()
        torch.testing.assert_close(got, wanted, equal_nan=True, check_stride=False)
        for vector in ("running_mean", "running_var"):
            if mine.get(vector) is not None:
                torch.testing.assert_close(mine[vector], theirs[vector], equal_nan=True)
    assert refused == REFUSED.get(name, 0)


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("dtype", [F32, torch.bfloat16, torch.float16])
def test_samples(name, dtype) -> None:
    run(name, "cpu", dtype)


@gpu
@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("dtype", [F32, torch.bfloat16, torch.float16])
def test_samples_on_a_gpu(name, dtype) -> None:
    run(name, "cuda", dtype)


SHAPES = [(4, 6), (1, 6, 5), (5, 6, 1), (3, 6, 2, 5), (2, 6, 3, 1, 4), (2, 6, 1, 1, 2)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["batch_norm", "instance_norm", "group_norm"])
@pytest.mark.parametrize("special", [None, float("inf"), float("nan"), "constant"])
def test_corners_of_channels(name, shape, special) -> None:
    if name == "instance_norm" and torch.Size(shape[2:]).numel() == 1:
        return
    x = torch.randn(shape)
    if special == "constant":
        x[:, 2] = 3.5
    elif special is not None:
        x[0, 1] = special
    running = {"running_mean": torch.randn(6), "running_var": torch.rand(6) + 0.5}
    affine = {"weight": torch.randn(6), "bias": torch.randn(6)}
    params = {
        "batch_norm": {"training": True, "momentum": 0.3},
        "instance_norm": {"use_input_stats": True, "momentum": 0.3},
        "group_norm": {"num_groups": 3},
    }[name]
    tensors = affine if name == "group_norm" else running | affine
    # torch scales and shifts in one step, which cancels where the mean is large.
    near = {"rtol": 1e-4, "atol": 2e-4} if special == "constant" else {}
    for last in (False, True):
        given = x.contiguous(memory_format=torch.channels_last) if last and x.dim() == 4 else x
        mine, theirs = prepared(name, tensors), prepared(name, tensors)
        wanted = getattr(F, name)(given, **theirs, **params)
        torch.testing.assert_close(
            call(name, given, mine, params), wanted, equal_nan=True, check_stride=False, **near
        )
        for vector in running if name != "group_norm" else ():
            torch.testing.assert_close(mine[vector], theirs[vector], equal_nan=True)


@pytest.mark.parametrize("shape", [(0, 6, 4), (3, 6, 0)])
@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_an_empty_input_leaves_running_statistics(name, shape) -> None:
    mean, var = torch.randn(6), torch.rand(6)
    kept = mean.clone(), var.clone()
    params = {"training": True} if name == "batch_norm" else {}
    result = call(name, torch.randn(shape), {"running_mean": mean, "running_var": var}, params)
    assert result.shape == shape
    assert torch.equal(mean, kept[0]) and torch.equal(var, kept[1])


@pytest.mark.parametrize(
    ("op", "shape", "params", "running"),
    [
        (BatchNormFwdOp, (1, 6), {"training": True}, False),
        (BatchNormFwdOp, (1, 6, 1, 1), {"training": True}, True),
        (BatchNormFwdOp, (3, 6, 2), {}, False),
        (InstanceNormFwdOp, (3, 6), {}, False),
        (InstanceNormFwdOp, (3, 6, 1), {}, True),
        (InstanceNormFwdOp, (3, 6, 4), {"use_input_stats": False}, False),
        (GroupNormFwdOp, (3, 6, 4), {"num_groups": 4}, False),
        (GroupNormFwdOp, (3, 6, 4), {"num_groups": 0}, False),
    ],
)
def test_what_torch_refuses(op, shape, params, running) -> None:
    vectors = [torch.ones(6), torch.ones(6)] if running else []
    name = next(k for k, v in OPS.items() if v is op)
    theirs = dict(zip(("running_mean", "running_var"), vectors or (None, None), strict=False))
    theirs = {} if name == "group_norm" else theirs
    with pytest.raises((ValueError, RuntimeError, ZeroDivisionError)):
        getattr(F, name)(torch.randn(shape), **theirs, **params)
    with pytest.raises(CallError):
        op(**params)(torch.randn(shape), *vectors)
