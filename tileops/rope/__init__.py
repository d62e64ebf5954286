"""Rotary position embeddings."""

from __future__ import annotations

from tileops.rope import reference
from tileops.runtime.op import Kernel, Op, Policy

__all__ = ["RoPEFwdOp"]


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
    policy = Policy(cuda="kernel", cpu="reference")
    kernel_types = {"pairs": Kernel("tileops.rope.rotate:launch_rope")}
