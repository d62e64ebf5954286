"""Quantization to int8, int4 and float8, and back."""

from __future__ import annotations

from tileops.quantization import reference
from tileops.runtime.op import Kernel, Op, Policy

__all__ = [
    "FP8QuantPerBlockFwdOp",
    "FP8QuantPerTokenGroupFwdOp",
    "INT4QuantPerGroupFwdOp",
    "INT8DequantPerBlockFwdOp",
    "INT8DequantPerChannelFwdOp",
    "INT8DequantPerTensorFwdOp",
    "INT8QuantPerChannelFwdOp",
    "INT8QuantPerTensorFwdOp",
    "INT8QuantPerTokenGroupFwdOp",
    "SmoothQuantFwdOp",
]

#: A reduction and a pass over its elements: one kernel of ours, which Inductor launches.
QUANTIZED = Policy(cuda="kernel", cpu="reference")
#: Elementwise: Inductor fuses it with what takes the values.
FUSED = Policy(cuda="reference", cpu="reference")


def _rows(function: str) -> dict[str, Kernel]:
    """Kernels of rows that have a scale: held in registers, or in parts that meet in memory."""
    return {
        "groups": Kernel("tileops.quantization.groups:launch_groups", function),
        "parts": Kernel("tileops.quantization.parts:launch_parts", function),
    }


def _dequantizing(function: str) -> dict[str, Kernel]:
    return {"tile": Kernel("tileops.quantization.dequantize:launch_tile", function)}


class FP8QuantPerTokenGroupFwdOp(Op):
    """float8_e4m3fn codes with a scale for each group of a token: all of the last axis.

    Shapes:
        x: [batch, seq_len_kv, kv_group, index_dim]
        q: [batch, seq_len_kv, kv_group, index_dim]
        scale: [batch, seq_len_kv, kv_group], in float32

    scale is max|x| / 448, or 1 where that is 0; q is x / scale in float32, clamped to 448 and
    rounded to the nearest code, ties to even. q * scale is x up to 2 ** -4 of it, or 2 ** -10
    scales. A NaN makes its group's scale NaN, and all of its codes; an infinity makes the scale
    infinite, its own code NaN and finite elements 0. Gradients are those of scale; codes have none.

    Errors: CallError when x has not four axes.

    Reference: vllm.model_executor.layers.quantization.utils.fp8_utils.per_token_group_quant_fp8,
    whose scales have a floor of 1e-10 / 448 instead
    """

    reference = staticmethod(reference.fp8_per_token_group)
    policy = QUANTIZED
    kernel_types = _rows("fp8")


class FP8QuantPerBlockFwdOp(Op):
    """float8_e4m3fn codes with a scale for each block of 128 rows by 128 columns.

    Shapes:
        w: [N, K]; the last block of an axis may be partial
        q: [N, K]
        scale: [ceil(N / 128), ceil(K / 128)], in float32

    scale is max|w| / 448, or 1 where that is 0; q is w / scale in float32, clamped to 448 and
    rounded to the nearest code, ties to even. q * scale is w up to 2 ** -4 of it, or 2 ** -10
    scales. A NaN makes its block's scale NaN, and all of its codes; an infinity makes the scale
    infinite, its own code NaN and finite elements 0. Gradients are those of scale; codes have none.

    Errors: CallError when w has not two axes.

    Reference: vllm.utils.deep_gemm.per_block_cast_to_fp8, whose max|w| has a floor of 1e-4 instead
    """

    reference = staticmethod(reference.fp8_per_block)
    policy = QUANTIZED
    kernel_types = {"block": Kernel("tileops.quantization.block:launch_block")}


class INT8QuantPerTensorFwdOp(Op):
    """int8 codes of a tensor with one scale.

    Shapes:
        x: [M, K]
        q: [M, K]
        scale: [1], in float32

    scale is max|x| / 127, or 1 where that is 0 or x has no elements; q is x / scale in float32,
    rounded half to even, -127 to 127. q * scale is x up to half of scale. A NaN or an infinity
    makes scale NaN or infinite and every code 0. Gradients are those of scale; codes have none.

    Errors: CallError when x has not two axes.

    Reference: vllm._custom_ops.scaled_int8_quant, with the scale of the data
    """

    reference = staticmethod(reference.int8_per_tensor)
    policy = QUANTIZED
    kernel_types = {"parts": Kernel("tileops.quantization.parts:launch_parts", "int8_tensor")}


class INT8QuantPerChannelFwdOp(Op):
    """int8 codes with a scale for each row.

    Shapes:
        w: [N, K]
        q: [N, K]
        scale: [N], in float32

    scale is max|w| / 127, or 1 where that is 0 or rows have no elements; q is w / scale in float32,
    rounded half to even, -127 to 127. q * scale is w up to half of scale. A NaN or an infinity
    makes its row's scale NaN or infinite and its codes 0. Gradients are those of scale; codes have
    none.

    Errors: CallError when w has not two axes.

    Reference: vllm.model_executor.layers.quantization.utils.int8_utils.per_token_quant_int8, which
    multiplies by 127 / max|w| and rounds ties away from zero
    """

    reference = staticmethod(reference.int8_per_channel)
    policy = QUANTIZED
    kernel_types = _rows("int8")


class INT8QuantPerTokenGroupFwdOp(Op):
    """int8 codes with a scale for each 128 elements of a row.

    Shapes:
        x: [M, K]; the last group of a row may be partial
        q: [M, K]
        scale: [M, ceil(K / 128)], in float32

    scale is max|x| / 127, or 1 where that is 0; q is x / scale in float32, rounded half to even,
    -127 to 127. q * scale is x up to half of scale. A NaN or an infinity makes its group's scale
    NaN or infinite and its codes 0. Gradients are those of scale; codes have none.

    Errors: CallError when x has not two axes.

    Reference: vllm.model_executor.layers.quantization.utils.int8_utils.per_token_group_quant_int8,
    which takes whole groups and truncates
    """

    reference = staticmethod(reference.int8_per_token_group)
    policy = QUANTIZED
    kernel_types = {"groups": Kernel("tileops.quantization.groups:launch_groups", "int8_group")}


class SmoothQuantFwdOp(Op):
    """int8 codes of activations that are divided by a factor for each channel, a scale per token.

    Shapes:
        x: [M, K]
        smooth: [K], in float32
        q: [M, K]
        scale: [M], in float32

    With xs = x / smooth in float32, scale is max|xs| / 127, or 1 where that is 0 or rows have no
    elements; q is xs / scale, rounded half to even, -127 to 127. q * scale is xs up to half of
    scale. A NaN or an infinity of xs, as a zero of smooth makes, makes its row's scale NaN or
    infinite and its codes 0. Gradients are those of scale; codes have none.

    Errors: CallError when smooth is not [K].

    Reference: xs = x / smooth; scale = max|xs| / 127; q = round(xs / scale)
    """

    reference = staticmethod(reference.smooth_quant)
    policy = QUANTIZED
    kernel_types = _rows("int8_smooth")


class INT4QuantPerGroupFwdOp(Op):
    """int4 codes, two to a byte, with a scale and an offset for each group of elements.

    Shapes:
        w: [N, K]
        packed_weight: [N, K / 2], int8; the first of two codes is in the high four bits
        params: [N * K / group_size, 2], in float32: scale, then offset

    Groups are group_size elements that follow one another, row by row. offset is (max + min) / 2
    of a group and scale 1 / s with s = 16 / (max - min), or 1 where all are equal; a code is
    (w - offset) * s in float32, rounded half to even, -8 to 7. code * scale + offset is w up to
    half of scale, for the largest elements up to scale. A NaN or an infinity leaves params that are
    not finite, and codes of 0. Gradients are those of params; codes have none.

    Errors: CallError when K or group_size is odd, group_size is not positive, or the elements do
    not fill the groups.

    Reference: deepspeed.ops.quantizer.quantizer_op.quantize, asymmetric in four bits
    """

    reference = staticmethod(reference.int4_per_group)
    policy = QUANTIZED
    kernel_types = {"groups": Kernel("tileops.quantization.int4:launch_int4")}


class INT8DequantPerTensorFwdOp(Op):
    """Values of int8 codes with one scale: q * scale in float32, rounded once.

    Shapes:
        q: [M, K]
        scale: [1], in float32
        x: [M, K], of out_dtype

    Errors: CallError when scale is not [1].

    Reference: x = q * scale
    """

    reference = staticmethod(reference.dequantize_per_tensor)
    policy = FUSED
    kernel_types = _dequantizing("tensor")


class INT8DequantPerChannelFwdOp(Op):
    """Values of int8 codes with a scale for each row: q * scale in float32, rounded once.

    Shapes:
        q: [M, K]
        scale: [M], in float32
        x: [M, K], of out_dtype

    Errors: CallError when scale is not [M].

    Reference: x = q * scale[:, None]
    """

    reference = staticmethod(reference.dequantize_per_channel)
    policy = FUSED
    kernel_types = _dequantizing("channel")


class INT8DequantPerBlockFwdOp(Op):
    """Values of int8 codes with a scale for each 128 of a row: q * scale in float32, rounded once.

    Shapes:
        q: [M, K]; the last block of a row may be partial
        scale: [M, ceil(K / 128)], in float32
        x: [M, K], of out_dtype

    Errors: CallError when scale is not [M, ceil(K / 128)].

    Reference: x = q * scale[:, arange(K) // 128]
    """

    reference = staticmethod(reference.dequantize_per_block)
    policy = FUSED
    kernel_types = _dequantizing("block")
