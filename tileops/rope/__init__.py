"""Rotary position embeddings."""

from __future__ import annotations

from tileops.rope import reference
from tileops.runtime.op import Kernel, Op

__all__ = ["RoPEFwdOp"]


class RoPEFwdOp(Op):
    """Rotary position embedding over all of the last axis, at positions 0 to S - 1.

    Shapes:
        x: [S, D] for input_layout "1d", [B, S, H, D] for "2d"
        output: as x, of x's dtype

    Pair i turns by position / base ** (2 * i / D) radians: elements (i, i + D / 2) in rope_layout
    "neox", (2 * i, 2 * i + 1) in "interleaved". Angles are right at every position; the rotation
    runs in float32 and is rounded once, where vLLM first rounds cosines and sines to the dtype.

    Errors: CallError when D is odd, or when x's rank is not the layout's.

    Reference: vllm.model_executor.layers.rotary_embedding.base.RotaryEmbedding
    """

    reference = staticmethod(reference.rope)
    kernel_types = {"pairs": Kernel("tileops.rope.rotate:launch_rope")}
