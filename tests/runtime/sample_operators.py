"""The hand-made operators of these tests with their classes, in a namespace of their own."""

import torch
import torch.nn.functional as F

from tests.runtime.sample_effects import BATCH, COMPOSITE, INPLACE, QUANT, SCALE, SPEC_ONLY
from tests.runtime.sample_pure import ADD, FUSED, RMS_NORM, SAVING, SINUSOIDAL
from tests.runtime.sample_syntax import compile_operator
from tileops.runtime.op import Kernel, Op, Policy
from tileops.runtime.registry import Registry

NAMESPACE = "tileops_sample"

OPERATORS = {
    o.header.op: o
    for o in (
        RMS_NORM, ADD, SINUSOIDAL, FUSED, SAVING, SCALE, BATCH, INPLACE, QUANT, COMPOSITE,
        SPEC_ONLY,
    )
}  # fmt: skip


def sinusoidal(*, seq_len, d_model, out_dtype=torch.float32, device=None):
    position = torch.arange(seq_len, device=device, dtype=torch.float32)[:, None]
    column = torch.arange(d_model, device=device, dtype=torch.float32)
    return torch.sin(position / (column + 1)).to(out_dtype)


def fused(input, residual, weight, *, eps):
    total = input + residual
    return F.rms_norm(total, total.shape[-1:], weight, eps), total


def running(x, running, *, training=False):
    if not training:
        return x - running
    mean = x.mean(0)
    return x - mean, 0.9 * running + 0.1 * mean


def quant(x):
    scale = x.abs().amax() / 127
    return (x / scale).round().to(torch.int8), scale.reshape(1).float()


class Sample(Op):
    """Operators of these tests."""


def make(name, reference, **members):
    return type(name, (Sample,), {"reference": staticmethod(reference), **members})


CLASSES = {
    "RMSNormFwdOp": make(
        "RMSNormFwdOp",
        lambda x, weight=None, *, normalized_shape, eps=None: F.rms_norm(
            x, normalized_shape, weight, eps
        ),
        kernel_types={
            "never": Kernel("tests.runtime.sample_launchers:never"),
            "row": Kernel("tests.runtime.sample_launchers:rms_norm"),
        },
    ),
    "AddFwdOp": make(
        "AddFwdOp",
        lambda input, other, *, alpha=1: torch.add(input, other, alpha=alpha),
        policy=Policy(cpu="reference"),
    ),
    "SinusoidalFwdOp": make("SinusoidalFwdOp", sinusoidal),
    "FusedAddRMSNormFwdOp": make("FusedAddRMSNormFwdOp", fused),
    "MeanSavingFwdOp": make(
        "MeanSavingFwdOp", lambda x, *, save: (x * 2, x.mean(-1) if save else None)
    ),
    "ScaleFwdOp": make(
        "ScaleFwdOp",
        lambda x, y: x * y,
        kernel_types={"plain": Kernel("tests.runtime.sample_launchers:scale")},
    ),
    "RunningFwdOp": make(
        "RunningFwdOp",
        running,
        kernel_types={"plain": Kernel("tests.runtime.sample_launchers:running")},
    ),
    "ShiftFwdOp": make(
        "ShiftFwdOp",
        lambda x, by: x + by,
        kernel_types={"plain": Kernel("tests.runtime.sample_launchers:shift")},
    ),
    "QuantFwdOp": make("QuantFwdOp", quant),
}


class NormAddFwdOp(Sample):
    """A composite of two operators."""

    def forward(self, x, y):
        norm = CLASSES["RMSNormFwdOp"]((self.size,), target=self.target)
        return CLASSES["FusedAddRMSNormFwdOp"]()(norm(x), y, torch.ones_like(x[0]))[0]


CLASSES["NormAddFwdOp"] = NormAddFwdOp

REGISTRY = Registry(
    [o.header for o in OPERATORS.values()],
    OPERATORS.__getitem__,
    NAMESPACE,
    CLASSES,
    compile_operator=compile_operator,
)
Sample.registry = REGISTRY
REGISTRY.register()
