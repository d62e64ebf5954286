"""Normalisation operators."""

from __future__ import annotations

from tileops.norm import reference
from tileops.runtime.op import Kernel, Op, Policy

__all__ = [
    "AdaLayerNormFwdOp",
    "AdaLayerNormZeroFwdOp",
    "FusedAddLayerNormFwdOp",
    "FusedAddRMSNormFwdOp",
    "LayerNormFwdOp",
    "RMSNormFwdOp",
]

_FUSED = Policy(cuda="kernel", cpu="reference")


def _of_rows(function: str) -> dict[str, Kernel]:
    """The launchers over rows, by how a row is held."""
    names = ("row", "split_row", "long_row")
    return {name: Kernel(f"tileops.norm.rows:launch_{name}", function) for name in names}


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
