"""Rotary position embeddings."""

from __future__ import annotations

from tileops.rope import reference
from tileops.runtime.op import Kernel, Op, Policy

__all__ = [
    "LongRoPEFwdOp",
    "RoPEFwdOp",
    "RoPELlama31FwdOp",
    "RoPENeoxPositionIdsFwdOp",
    "YaRNFwdOp",
]

#: Angles are made in the kernel; on the CPU Inductor fuses them with the rotation.
INLINED = Policy(cuda="kernel", cpu="reference")


class RoPEFwdOp(Op):
    """Rotary position embedding over the last axis, or its start, at positions 0 to S - 1.

    Shapes:
        x: [S, D] for input_layout "1d", [B, S, H, D] for "2d"
        output: as x, of x's dtype

    The first R = rotary_dim elements (D for None) are rotated; the others pass through unchanged.
    Pair i turns by position / base ** (2 * i / R) radians: elements (i, i + R / 2) in rope_layout
    "neox", (2 * i, 2 * i + 1) in "interleaved". Angles are right at every position; the rotation
    runs in float32 and is rounded once, where vLLM first rounds cosines and sines to the dtype.

    Errors: CallError when R is odd, negative or above D, or when x's rank is not the layout's.

    Reference: vllm.model_executor.layers.rotary_embedding.base.RotaryEmbedding
    """

    reference = staticmethod(reference.rope)
    policy = INLINED
    kernel_types = {"pairs": Kernel("tileops.rope.rotate:launch_rope")}


class RoPELlama31FwdOp(Op):
    """Rotary position embedding with Llama 3.1's scaling of frequencies, at positions 0 to S - 1.

    Shapes:
        x: [S, D] for input_layout "1d", [B, S, H, D] for "2d"
        output: as x, of x's dtype

    Pair i, elements (i, i + D / 2), has the frequency f = base ** (-2 * i / D). It turns
    original_max_position * f / (2 * pi) times over the original context: for more turns than
    high_freq_factor f stays, for fewer than low_freq_factor it is divided by scaling_factor, and
    between them it goes from one to the other linearly in the turns. Angles are right at every
    position; the rotation runs in float32 and is rounded once.

    Errors: CallError when D is odd, when x's rank is not the layout's, or when base,
    scaling_factor, low_freq_factor or original_max_position is not positive or low_freq_factor is
    above high_freq_factor.

    Reference: vllm.model_executor.layers.rotary_embedding.llama3_rope.Llama3RotaryEmbedding
    """

    reference = staticmethod(reference.rope_llama31)
    policy = INLINED
    kernel_types = {"pairs": Kernel("tileops.rope.rotate:launch_llama31")}


class YaRNFwdOp(Op):
    """Rotary position embedding with YaRN's scaling of frequencies, at positions 0 to S - 1.

    Shapes:
        x: [S, D] for input_layout "1d", [B, S, H, D] for "2d"
        output: as x, of x's dtype

    Pair i, elements (i, i + D / 2), has the frequency base ** (-2 * i / D). Up to the pair that
    turns beta_fast times over original_max_position positions it stays, from the pair that turns
    beta_slow times on it is divided by scaling_factor, and it goes from one to the other linearly
    in i. Results are multiplied by attn_factor, and by 0.1 * ln(scaling_factor) + 1 for a
    scaling_factor above 1. Angles are right at every position; the rotation runs in float32 and is
    rounded once.

    Errors: CallError when D is odd, when x's rank is not the layout's, when base is 1 or not
    positive, when scaling_factor, beta_slow or original_max_position is not positive, or when
    beta_slow is above beta_fast.

    Reference: vllm.model_executor.layers.rotary_embedding.yarn_scaling_rope.YaRNScalingRotaryEmbedding
    """  # noqa: E501

    reference = staticmethod(reference.yarn)
    policy = INLINED
    kernel_types = {"pairs": Kernel("tileops.rope.rotate:launch_yarn")}


class LongRoPEFwdOp(Op):
    """Rotary position embedding with LongRoPE's factor for each pair, at positions 0 to S - 1.

    Shapes:
        x: [S, D] for input_layout "1d", [B, S, H, D] for "2d"
        rescale_factors (optional, at construction): [D / 2]; the short ones of a model up to its
            original context, its long ones beyond that
        output: as x, of x's dtype

    Pair i, elements (i, i + D / 2), has the frequency base ** (-2 * i / D) / rescale_factors[i].
    With s = max_position / original_max_position above 1, results are multiplied by
    sqrt(1 + ln(s) / ln(original_max_position)). Angles are right at every position; the rotation
    runs in float32 and is rounded once.

    Errors: CallError when D is odd, when x's rank is not the layout's, when rescale_factors is not
    [D / 2], when base or max_position is not positive, or original_max_position is below 2.

    Reference: vllm.model_executor.layers.rotary_embedding.phi3_long_rope_scaled_rope.Phi3LongRoPEScaledRotaryEmbedding
    """  # noqa: E501

    reference = staticmethod(reference.long_rope)
    policy = INLINED
    kernel_types = {"pairs": Kernel("tileops.rope.rotate:launch_long_rope")}


class RoPENeoxPositionIdsFwdOp(Op):
    """Rotary position embedding of packed tokens at the positions that are given.

    Shapes:
        x: [N, H, D]
        positions: [N], int32 or int64
        output: [N, H, D], of x's dtype

    The first R = rotary_dim elements of each head (D for None) are rotated; the others pass
    through unchanged. Pair i, elements (i, i + R / 2), of token n turns by positions[n] /
    base ** (2 * i / R) radians. Angles are right at every position; the rotation runs in float32
    and is rounded once.

    Errors: CallError when R is odd, negative or above D, or when base or max_position is not
    positive.

    Unchecked: that 0 <= positions < max_position; a token outside turns by the angle of its
    position all the same, where the reference reads past its table.

    Reference: vllm._custom_ops.rotary_embedding
    """

    reference = staticmethod(reference.rope_neox_position_ids)
    policy = INLINED
    kernel_types = {"pairs": Kernel("tileops.rope.rotate:launch_position_ids")}
