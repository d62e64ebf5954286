"""Elementwise operators: unary, binary with broadcasting, gated, and tables made from nothing."""

from __future__ import annotations

from tileops.elementwise import reference
from tileops.elementwise.row import FUSED, classes
from tileops.elementwise.table import TABLE
from tileops.runtime.op import Kernel, Op

_TABLE = dict(classes(__name__, TABLE))
globals().update(_TABLE)

__all__ = [
    "AlibiFwdOp",
    "DropoutFwdOp",
    "GELUAndMulFwdOp",
    "GELUFwdOp",
    "SiLUAndMulFwdOp",
    "SinusoidalFwdOp",
]
__all__ += sorted(_TABLE)


class GELUFwdOp(Op):
    """Gaussian error linear unit, exact or by its tanh approximation.

    Shapes:
        input: [*S]
        output: [*S], of input's dtype

    Computed in float32 (float64 for float64) and rounded once.

    Errors: CallError when `approximate` is neither "none" nor "tanh".

    Reference: torch.nn.functional.gelu
    """

    policy = FUSED
    reference = staticmethod(reference.gelu)
    kernel_types = {
        "flat": Kernel("tileops.elementwise.pointwise:launch_flat", "gelu"),
        "tile": Kernel("tileops.elementwise.pointwise:launch_tile", "gelu"),
    }


class SiLUAndMulFwdOp(Op):
    """silu(first half) * second half, along the last axis.

    Shapes:
        input: [M, 2 * N]
        output: [M, N], of input's dtype

    Computed in float32 (float64 for float64) and rounded once.

    Errors: CallError when the last axis is odd.

    Reference: flashinfer.activation.silu_and_mul
    """

    policy = FUSED
    reference = staticmethod(reference.silu_and_mul)
    kernel_types = {"tile": Kernel("tileops.elementwise.gated:launch_silu_and_mul")}


class GELUAndMulFwdOp(Op):
    """gelu(first half) * second half, along the last axis.

    Shapes:
        input: [M, 2 * N]
        output: [M, N], of input's dtype

    Computed in float32 and rounded once.

    Errors: CallError when the last axis is odd, or `approximate` neither "none" nor "tanh".

    Reference: vllm.model_executor.layers.activation.GeluAndMul
    """

    policy = FUSED
    reference = staticmethod(reference.gelu_and_mul)
    kernel_types = {"tile": Kernel("tileops.elementwise.gated:launch_gelu_and_mul")}


class DropoutFwdOp(Op):
    """Elements set to zero at random, with probability p; what stays is divided by 1 - p.

    Shapes:
        input: [*S]
        output: [*S], of input's dtype; input itself where `inplace`

    With a seed, which elements stay is a function of the seed and of their place, the same on every
    device and in the backward, and a p is taken to 24 bits. Without a seed PyTorch's own dropout
    draws from its generator. Without training the input is copied. Half precision is scaled in
    float32 and rounded once.

    Errors: CallError when p is not between 0 and 1, or a written input requires grad.

    Reference: torch.nn.functional.dropout
    """

    policy = FUSED
    draws_without = "seed"
    reference = staticmethod(reference.dropout)
    kernel_types = {"tile": Kernel("tileops.elementwise.dropout:launch_dropout")}


class AlibiFwdOp(Op):
    """Attention with linear biases: what is added to the scores of every head.

    Shapes:
        output: [num_heads, seq_len, seq_len], of out_dtype

    output[h, i, j] is -slope * |i - j|. With n heads, n a power of two, the slope of head h is
    2 ** (-8 * (h + 1) / n). Else the heads up to the largest power of two n have these, and head
    n + e has 2 ** (-4 * (2 * e + 1) / n): every other slope of twice as many heads.

    Errors: CallError when seq_len or num_heads is negative.

    Reference: the formula above
    """

    reference = staticmethod(reference.alibi)
    kernel_types = {"tile": Kernel("tileops.elementwise.generative:launch_alibi")}


class SinusoidalFwdOp(Op):
    """Position table of "Attention Is All You Need": sines on even columns, cosines on odd ones.

    Shapes:
        output: [seq_len, d_model], of out_dtype

    output[p, c] is the sine (c even) or cosine (c odd) of p / 10000 ** (2 * (c // 2) / d_model),
    right to out_dtype's precision at every position.

    Errors: CallError when seq_len or d_model is negative.

    Reference: the formula above
    """

    reference = staticmethod(reference.sinusoidal)
    kernel_types = {"tile": Kernel("tileops.elementwise.generative:launch_sinusoidal")}
