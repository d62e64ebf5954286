"""Normalisation operators: those over rows here, those over channels in channels.py."""

from __future__ import annotations

from tileops.norm import reference
from tileops.norm.channels import (
    BatchNormBwdOp,
    BatchNormFwdOp,
    GroupNormFwdOp,
    InstanceNormFwdOp,
)
from tileops.runtime.op import Kernel, Op, Policy

__all__ = [
    "AdaLayerNormFwdOp",
    "AdaLayerNormZeroFwdOp",
    "BatchNormBwdOp",
    "BatchNormFwdOp",
    "FusedAddLayerNormFwdOp",
    "FusedAddRMSNormFwdOp",
    "FusedAddRMSNormPerTokenQuantFwdOp",
    "FusedQKNormRoPEFwdOp",
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


class FusedAddRMSNormPerTokenQuantFwdOp(Op):
    """Residual addition, root mean square normalisation and quantization of each row, in one pass.

    All of it is float32: `y = rms_norm(input + residual) * weight`, and
    `scale = min(amax(|y|), scale_ub) / limit`, where limit is 448 for float8_e4m3fn and 127 for
    int8; q is y / scale, rounded to the nearest, ties to even, and saturated at the limit. A scale
    is what codes are multiplied by. It is at least 1 / (448 * 512), or float32's epsilon for int8,
    which are the scales of a row of zeros, whose codes are zeros. residual_out is the sum rounded
    to the dtype. Codes have no gradient.

    A row with a NaN or an infinity has NaN for a scale and for every float8 code, and int8 codes
    of 0; the residual sum keeps what it has. An infinite weight gives an infinite scale, NaN for
    the float8 codes of its column and 0 for all others, unless scale_ub bounds the scale.

    Shapes:
        input: [*B, N]
        residual: [*B, N]
        weight: [N]
        q: [*B, N], of quant_dtype
        scale: [*B, 1] float32
        residual_out: [*B, N], of input's dtype

    Errors: CallError when scale_ub is not positive, or given for int8; when the shapes of input and
    residual differ, when weight is not [N], or when the dtypes or devices differ.

    Reference: vllm._custom_ops.rms_norm_dynamic_per_token_quant, which rounds to the dtype on the
    way, and ignores NaNs
    """

    reference = staticmethod(reference.fused_add_rms_norm_per_token_quant)
    policy = _FUSED
    kernel_types = {
        "row": Kernel("tileops.norm.quantized:launch_row"),
        "long_row": Kernel("tileops.norm.quantized:launch_long_row"),
    }


class FusedQKNormRoPEFwdOp(Op):
    """Root mean square normalisation of every head of q and k, then rotary embedding, in place.

    The packed qkv of a token holds num_heads heads of q, then num_kv_heads of k and as many of v,
    which stay as they are. The first R values of a head are rotated by row positions[n] of the
    cache, which holds R / 2 cosines, then R / 2 sines: "neox" pairs value i with i + R / 2,
    "interleaved" 2 i with 2 i + 1. All of it is float32, rounded once.

    Shapes:
        qkv: [N, (num_heads + 2 * num_kv_heads) * D], contiguous, written
        q_weight: [D]
        k_weight: [D]
        cos_sin_cache: [P, R], R even and at most D
        positions: [N] int64, from 0 to P - 1; no call checks that

    Errors: CallError when a count of heads is not positive, when R is odd or exceeds D, when qkv is
    not contiguous or a shape is not as above, when the dtypes or devices differ, or when qkv
    requires grad.

    Reference: vllm._custom_ops.fused_qk_norm_rope
    """

    reference = staticmethod(reference.fused_qk_norm_rope)
    policy = _FUSED
    kernel_types = {"heads": Kernel("tileops.norm.qk_rope:launch_heads")}
