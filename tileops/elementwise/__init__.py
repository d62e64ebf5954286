"""Elementwise operators: unary, binary with broadcasting, gated, and tables made from nothing."""

from __future__ import annotations

from tileops.elementwise import reference
from tileops.elementwise.row import classes
from tileops.elementwise.table import TABLE
from tileops.runtime.op import Kernel, Op

_TABLE = dict(classes(__name__, TABLE))
globals().update(_TABLE)

__all__ = ["GELUAndMulFwdOp", "GELUFwdOp", "SiLUAndMulFwdOp", "SinusoidalFwdOp"]
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

    reference = staticmethod(reference.gelu_and_mul)
    kernel_types = {"tile": Kernel("tileops.elementwise.gated:launch_gelu_and_mul")}


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
