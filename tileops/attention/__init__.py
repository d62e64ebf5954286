"""Attention. One class per operator; kernels load on first use."""

from __future__ import annotations

from tileops.attention import reference
from tileops.runtime.op import Kernel, Op

__all__ = ["GQADenseFwdOp"]


class GQADenseFwdOp(Op):
    """Grouped-query attention over dense batches: `softmax(scale * q k^T + mask) v`, per head.

    Query head h reads key and value head `h // (H // H_kv)`. Query i stands at position
    `p = S_kv - S_q + i`: the causal mask is aligned to the bottom right, and shows it the keys up
    to p. A window shows the keys from `p - window_size_left` to `p + window_size_right`; -1 leaves
    a side open, and the causal mask closes the right side at p. A row that sees no key is zero.
    Scores and sums are float32, and the result is rounded once to the output dtype.

    Shapes:
        q: [B, S_q, H, D]; float16, bfloat16 or float8_e4m3fn, any strides.
        k, v: [B, S_kv, H_kv, D], q's dtype, any strides; H is a multiple of H_kv.
        q_scale, k_scale, v_scale: [B, H_kv] float32, multipliers that dequantise FP8 inputs.
        rope_cos, rope_sin: [S_kv + P_pad, R // 2], for pos_encoding_mode "rope": q and k are
            rotated by their positions, the first R = rotary_dim (default D) values of each head;
            "neox" pairs value i with i + R / 2, "interleaved" 2 i with 2 i + 1.
        sinks: [H] float32, a logit per head that joins the softmax's denominator only.
        o: [B, S_q, H, D], out_dtype or q's dtype, contiguous.

    sm_scale defaults to 1 / sqrt(D); softcap bounds scaled scores: `softcap * tanh(s / softcap)`.

    Errors:
        CallError when a rank, size, dtype, device or presence is wrong, or H is no multiple of
        H_kv.

    Reference: flash_attn_interface.flash_attn_func
    """

    reference = staticmethod(reference.gqa_dense)
    # Its float arguments arrive in float64 from Inductor, which tl.dot's accumulator then is.
    inductor_compiles_kernels = False
    kernel_types = {
        "split_keys": Kernel("tileops.attention.gqa_dense_split:launch_split_keys"),
        "tile": Kernel("tileops.attention.gqa_dense:launch_tile"),
    }
