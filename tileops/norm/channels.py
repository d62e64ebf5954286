"""Normalisation operators over channels, or groups of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tileops.norm import reference
from tileops.runtime.op import Kernel, Op, Policy

__all__ = ["BatchNormBwdOp", "BatchNormFwdOp", "GroupNormFwdOp", "InstanceNormFwdOp"]

_FUSED = Policy(cuda="kernel", cpu="reference")


def _launchers(planes: str, function: str | None = None) -> dict[str, Kernel]:
    """By planes, or, for the named function over rows, read once where registers hold a group."""
    row = {"row": Kernel("tileops.norm.rows:launch_group_row", function)} if function else {}
    return row | {"planes": Kernel(f"tileops.norm.planes:{planes}")}


class GroupNormFwdOp(Op):
    """Normalisation over groups of channels of a sample, in float32, rounded once.

    Group g holds channels `g * C // num_groups` and on. A group of a single element gives bias, or
    zero, as torch's operator does; torch.nn.functional refuses it.

    Shapes:
        input: [B, C, *L]
        weight (optional): [C]
        bias (optional): [C]
        output: [B, C, *L], of input's dtype, contiguous

    Errors: CallError when num_groups is not positive or does not divide C, when weight or bias is
    not [C], or when the dtypes or devices differ.

    Reference: torch.nn.functional.group_norm
    """

    reference = staticmethod(reference.group_norm)
    policy = _FUSED
    kernel_types = _launchers("launch_group", "group_norm")


class InstanceNormFwdOp(Op):
    """Normalisation of every channel of every sample, in float32, rounded once.

    With use_input_stats by the plane's own mean and biased variance; running statistics, where
    given, are then written: `(1 - momentum) * running + momentum * new`, with the average over the
    samples of means and of unbiased variances. Without, by the running statistics.

    Shapes:
        input: [B, C, *L]
        running_mean, running_var (optional, together): [C] float32, written with use_input_stats
        weight (optional): [C]
        bias (optional): [C]
        output: [B, C, *L], of input's dtype, contiguous

    An empty input leaves the running statistics as they are.

    Errors: CallError when one of running_mean and running_var is missing, or both are without
    use_input_stats; when a plane has a single element; when a vector is not [C], or when the dtypes
    or devices differ.

    Reference: torch.nn.functional.instance_norm
    """

    reference = staticmethod(reference.instance_norm)
    policy = _FUSED
    kernel_types = _launchers("launch_instance", "instance_norm")


class BatchNormFwdOp(Op):
    """Normalisation of every channel over the batch, in float32, rounded once.

    While training by mean and biased variance of the batch, which are returned as save_mean and
    save_invstd = 1 / sqrt(var + eps); running statistics, where given, are then written:
    `(1 - momentum) * running + momentum * new`, with the unbiased variance. Else by the running
    statistics, and save_mean and save_invstd are None. The gradient of a training call is
    BatchNormBwdOp.

    Shapes:
        input: [B, C, *L]
        running_mean, running_var (optional, together): [C] float32, written while training
        weight (optional): [C] float32
        bias (optional): [C] float32
        output: [B, C, *L], of input's dtype, contiguous
        save_mean, save_invstd (while training): [C] float32

    An empty batch gives a save_mean of zeros and leaves the running statistics as they are.

    Errors: CallError when one of running_mean and running_var is missing, or both are outside of
    training; when a channel has a single element, or eps is not positive, while training; when a
    vector is not [C], or when the dtypes or devices differ.

    Reference: torch.nn.functional.batch_norm
    """

    reference = staticmethod(reference.batch_norm)
    policy = _FUSED
    kernel_types = _launchers("launch_batch")

    @staticmethod
    def backward(
        grads: Sequence[torch.Tensor | None],
        outputs: Sequence[torch.Tensor | None],
        input: torch.Tensor,
        running_mean: torch.Tensor | None = None,
        running_var: torch.Tensor | None = None,
        weight: torch.Tensor | None = None,
        bias: torch.Tensor | None = None,
        *,
        training: bool,
        **_: float,
    ) -> dict[str, Any] | None:
        """The gradients through BatchNormBwdOp, where that has them."""
        doutput, *others = grads
        if not training or doutput is None or any(g is not None for g in others):
            return None
        dinput, dweight, dbias = torch.ops.tileops.norm_batch_norm_bwd(
            doutput, input, outputs[1], outputs[2], weight=weight
        )
        # Batch statistics alone make the output.
        running = {"running_mean": None, "running_var": None}
        return {"input": dinput, "weight": dweight, "bias": dbias, **running}


class BatchNormBwdOp(Op):
    """The gradients of a batch normalisation by the statistics of the batch.

    With n elements a channel and `normal = (input - save_mean) * save_invstd`:
    dbias is the sum of doutput, dweight that of `doutput * normal`, and dinput is
    `weight * save_invstd * (doutput - dbias / n - normal * dweight / n)`, in float32.

    Shapes:
        doutput: [B, C, *L]
        input: [B, C, *L]
        save_mean: [C] float32
        save_invstd: [C] float32
        weight (optional): [C] float32
        dinput: [B, C, *L], of input's dtype, contiguous
        dweight: [C] float32
        dbias: [C] float32

    Errors: CallError when doutput is not shaped as input, when a channel has a single element,
    when a vector is not [C], or when the dtypes or devices differ.

    Reference: torch.ops.aten.native_batch_norm_backward(train=True)
    """

    reference = staticmethod(reference.batch_norm_backward)
    policy = _FUSED
    kernel_types = _launchers("launch_batch_backward")
