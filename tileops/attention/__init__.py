"""Attention. One class per operator; kernels load on first use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from tileops.attention import reference
from tileops.runtime.op import Kernel, Op

__all__ = ["GQADenseBwdOp", "GQADenseFwdOp", "GQADenseWithLSEFwdOp"]

_Found = Sequence[torch.Tensor | None]
#: The parameters that decide which scores there are.
_SCORES = ("is_causal", "window_size_left", "window_size_right", "sm_scale", "softcap")


def _gradients(
    grads: _Found,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: Any,
    lse: Any,
    **params: Any,
) -> dict[str, torch.Tensor]:
    backward = torch.ops.tileops.attention_gqa_dense_bwd
    dq, dk, dv = backward(grads[0], q, k, v, o, lse, **params)
    return {"q": dq, "k": dk, "v": dv}


def _has_sibling(q: torch.Tensor, k: torch.Tensor) -> bool:
    """Whether GQADenseBwdOp is for such a call: 16-bit, as many queries as keys, no guard."""
    if q.dtype not in (torch.float16, torch.bfloat16):
        return False
    return statically_known_true(q.shape[1] == k.shape[1])


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
    Gradients of 16-bit calls on a GPU with S_q = S_kv and no rotation or sinks come from
    GQADenseBwdOp, after a second forward for the rows' sums; GQADenseWithLSEFwdOp keeps those.

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
    backward_op = "GQADenseBwdOp"

    @staticmethod
    def backward(
        grads: _Found,
        outputs: _Found,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        *others: torch.Tensor | None,
        pos_encoding_mode: str,
        out_dtype: torch.dtype | None,
        **params: Any,
    ) -> Mapping[str, Any] | None:
        """The gradients through GQADenseBwdOp, where that has them."""
        if any(x is not None for x in others) or out_dtype not in (None, q.dtype):
            return None
        # A CPU has the gradient of the reference's fused operator, which forms no scores either.
        if q.device.type == "cpu" or not _has_sibling(q, k):
            return None
        scores = {name: params[name] for name in _SCORES}
        _, lse = torch.ops.tileops.attention_gqa_dense_with_lse_fwd(q, k, v, **scores)
        return _gradients(grads, q, k, v, outputs[0], lse, **scores)


class GQADenseWithLSEFwdOp(Op):
    """Grouped-query attention that also returns what merging and training need of the softmax.

    As GQADenseFwdOp, with `lse`: the natural logarithm of the sum of the exponentials of a row's
    scores, -inf for a row that sees no key.

    Shapes:
        q: [B, S_q, H, D]; float16 or bfloat16, any strides.
        k, v: [B, S_kv, H_kv, D], q's dtype, any strides; H is a multiple of H_kv.
        o: [B, S_q, H, D], q's dtype, contiguous.
        lse: [B, H, S_q] float32, contiguous.

    Errors:
        CallError when a rank, size, dtype or device is wrong, or H is no multiple of H_kv.

    Reference: flash_attn_interface._flash_attn_forward
    """

    reference = staticmethod(reference.gqa_dense_with_lse)
    inductor_compiles_kernels = False
    kernel_types = {
        "split_keys": Kernel("tileops.attention.gqa_dense_split:launch_split_keys_with_lse"),
        "tile": Kernel("tileops.attention.gqa_dense:launch_tile_with_lse"),
    }
    backward_op = "GQADenseBwdOp"

    @staticmethod
    def backward(
        grads: _Found,
        outputs: _Found,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        **params: Any,
    ) -> Mapping[str, Any] | None:
        """The gradients through GQADenseBwdOp, where that has them."""
        if grads[0] is None or grads[1] is not None or not _has_sibling(q, k):
            return None
        return _gradients(grads, q, k, v, *outputs, **params)


class GQADenseBwdOp(Op):
    """The gradients of grouped-query attention, from its output and its rows' sums.

    With the scores s of the forward, `p = exp(s - lse)` and `t = p * (do v^T - sum(do * o))`, both
    zero where a key is hidden: dv is `p^T do`, dq is `sm_scale * t k`, dk is `sm_scale * t^T q`;
    a softcap multiplies t by `1 - tanh(s / softcap)^2`, of the scores before the bound. Gradients
    of keys and values are sums over the query heads that read them. Sums are float32 in a fixed
    order, and p and t are rounded to q's dtype for the products they enter.

    Shapes:
        do, q, o: [B, S, H, D]; float16 or bfloat16, any strides.
        k, v: [B, S, H_kv, D], q's dtype, any strides; H is a multiple of H_kv.
        lse: [B, H, S] float32, natural, as GQADenseWithLSEFwdOp returns it.
        dq: [B, S, H, D], q's dtype, contiguous.
        dk, dv: [B, S, H_kv, D], q's dtype, contiguous.

    Errors:
        CallError when a rank, size, dtype or device is wrong, or H is no multiple of H_kv.

    Reference: flash_attn_interface._flash_attn_backward
    """

    reference = staticmethod(reference.gqa_dense_backward)
    inductor_compiles_kernels = False
    kernel_types = {
        "backward": Kernel("tileops.attention.gqa_dense_backward:launch_backward"),
    }

    @staticmethod
    def dependent_inputs(
        inputs: Mapping[str, torch.Tensor], params: Mapping[str, Any]
    ) -> Mapping[str, torch.Tensor]:
        """What the forward of the same inputs returned."""
        o, lse = reference.gqa_dense_with_lse(inputs["q"], inputs["k"], inputs["v"], **params)
        return {"o": o, "lse": lse}
