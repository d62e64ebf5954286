"""Normalisation operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tileops.norm import reference
from tileops.runtime.op import Kernel, Op, Policy

__all__ = [
    "AdaLayerNormFwdOp",
    "AdaLayerNormZeroFwdOp",
    "BatchNormBwdOp",
    "BatchNormFwdOp",
    "FusedAddLayerNormFwdOp",
    "FusedAddRMSNormFwdOp",
    "GroupNormFwdOp",
    "InstanceNormFwdOp",
    "LayerNormFwdOp",
    "RMSNormFwdOp",
]

_FUSED = Policy(cuda="kernel", cpu="reference")


def _of_rows(function: str) -> dict[str, Kernel]:
    """The launchers over rows, by how a row is held."""
    names = ("row", "split_row", "long_row")
    return {name: Kernel(f"tileops.norm.rows:launch_{name}", function) for name in names}


def _of_groups(function: str, planes: str) -> dict[str, Kernel]:
    """The launchers over groups of channels: read once where registers hold them."""
    return {
        "row": Kernel("tileops.norm.rows:launch_group_row", function),
        "planes": Kernel(f"tileops.norm.planes:{planes}"),
    }


class RMSNormFwdOp(Op):
    """Root mean square normalisation over the trailing axes, in float32, rounded once.

    Shapes:
        x: [*B, *normalized_shape]
        weight (optional): [*normalized_shape]
        output: [*B, *normalized_shape], of x's dtype

    `eps=None` is float32's epsilon, which is what PyTorch takes for half precision.

    Errors: CallError when the trailing axes of x, or weight, differ from normalized_shape, or when
    the dtypes or devices differ.

    Reference: torch.nn.functional.rms_norm
    """

    reference = staticmethod(reference.rms_norm)
    policy = _FUSED
    kernel_types = _of_rows("rms_norm")


class FusedAddRMSNormFwdOp(Op):
    """Residual addition and root mean square normalisation in one pass.

    The float32 sum is normalised before it is rounded; residual_out is that sum rounded to the
    dtype. Nothing is written in place, unlike flashinfer's function.

    Shapes:
        input: [*B, N]
        residual: [*B, N]
        weight: [N]
        output: [*B, N], of input's dtype
        residual_out: [*B, N], of input's dtype

    Errors: CallError when the shapes of input and residual differ, when weight is not [N], or when
    the dtypes or devices differ.

    Reference: flashinfer.norm.fused_add_rmsnorm
    """

    reference = staticmethod(reference.fused_add_rms_norm)
    policy = _FUSED
    kernel_types = _of_rows("add_rms_norm")


class LayerNormFwdOp(Op):
    """Layer normalisation over the trailing axes, in float32, rounded once.

    Shapes:
        input: [*B, *normalized_shape]
        weight (optional): [*normalized_shape]
        bias (optional): [*normalized_shape]
        output: [*B, *normalized_shape], of input's dtype

    Errors: CallError when the trailing axes of input, or weight, or bias, differ from
    normalized_shape, or when the dtypes or devices differ.

    Reference: torch.nn.functional.layer_norm
    """

    reference = staticmethod(reference.layer_norm)
    policy = _FUSED
    kernel_types = _of_rows("layer_norm")


class FusedAddLayerNormFwdOp(Op):
    """Residual addition and layer normalisation in one pass.

    The float32 sum is normalised before it is rounded; residual_out is that sum rounded to the
    dtype.

    Shapes:
        x: [*B, N]
        residual: [*B, N]
        weight: [N]
        bias: [N]
        output: [*B, N], of x's dtype
        residual_out: [*B, N], of x's dtype

    Errors: CallError when the shapes of x and residual differ, when weight or bias is not [N], or
    when the dtypes or devices differ.

    Reference: flash_attn.ops.triton.layer_norm.layer_norm_fn(prenorm=True)
    """

    reference = staticmethod(reference.fused_add_layer_norm)
    policy = _FUSED
    kernel_types = _of_rows("add_layer_norm")


class AdaLayerNormFwdOp(Op):
    """Layer normalisation, scaled and shifted by each token's own values, as diffusion
    transformers do: `layer_norm(x) * scale + shift` in float32, rounded once.

    Scales are factors: a model that learns them around zero adds the one itself. Expanded scales
    and shifts, one for all tokens of an image, are read as they lie.

    Shapes:
        x: [*B, N]
        scale: [*B, N]
        shift: [*B, N]
        output: [*B, N], of x's dtype

    Errors: CallError when the shapes differ, or the dtypes or devices.

    Reference: torch.nn.functional.layer_norm(x, (N,), None, None, eps) * scale + shift
    """

    reference = staticmethod(reference.ada_layer_norm)
    policy = _FUSED
    kernel_types = _of_rows("ada_layer_norm")


class AdaLayerNormZeroFwdOp(Op):
    """AdaLayerNorm times a gate, which training starts at zero:
    `gate * (layer_norm(x) * scale + shift)` in float32, rounded once.

    Shapes:
        x: [*B, N]
        scale: [*B, N]
        shift: [*B, N]
        gate: [*B, N]
        output: [*B, N], of x's dtype

    Errors: CallError when the shapes differ, or the dtypes or devices.

    Reference: gate * (torch.nn.functional.layer_norm(x, (N,), None, None, eps) * scale + shift)
    """

    reference = staticmethod(reference.ada_layer_norm)
    policy = _FUSED
    kernel_types = _of_rows("ada_layer_norm")


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
    kernel_types = _of_groups("group_norm", "launch_group")


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
    kernel_types = _of_groups("instance_norm", "launch_instance")


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
    kernel_types = {"planes": Kernel("tileops.norm.planes:launch_batch")}

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
    kernel_types = {"planes": Kernel("tileops.norm.planes:launch_batch_backward")}
