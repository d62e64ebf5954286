"""Normalisation operators."""

from __future__ import annotations

from tileops.norm import reference
from tileops.runtime.op import Kernel, Op, Policy

__all__ = ["FusedAddRMSNormFwdOp", "LayerNormFwdOp", "RMSNormFwdOp"]


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
    policy = Policy(cuda="kernel", cpu="reference")
    kernel_types = {
        "row": Kernel("tileops.norm.rms_norm:launch_row"),
        "split_row": Kernel("tileops.norm.rms_norm:launch_split_row"),
        "long_row": Kernel("tileops.norm.rms_norm:launch_long_row"),
    }


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
    policy = Policy(cuda="kernel", cpu="reference")
    kernel_types = {
        "row": Kernel("tileops.norm.rms_norm:launch_add_row"),
        "split_row": Kernel("tileops.norm.rms_norm:launch_add_split_row"),
        "long_row": Kernel("tileops.norm.rms_norm:launch_add_long_row"),
    }


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
    policy = Policy(cuda="kernel", cpu="reference")
    kernel_types = {
        "row": Kernel("tileops.norm.layer_norm:launch_row"),
        "split_row": Kernel("tileops.norm.layer_norm:launch_split_row"),
        "long_row": Kernel("tileops.norm.layer_norm:launch_long_row"),
    }
