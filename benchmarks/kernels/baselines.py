"""What torch itself has for an operator, beside the reference and its compiled form.

In: the arguments of a call by name. Out: calls by name; none where torch has no operator for the
row. A baseline writes fresh tensors, as the operator does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

Arguments = Mapping[str, Any]
Named = tuple[str, Callable[[], Any]]


def baselines(op: str, arguments: Arguments) -> Iterator[Named]:
    """torch's own operators for this call."""
    found = _BY_OP.get(op)
    if found is not None:
        yield from found(arguments)


def _rms_norm(a: Arguments) -> Iterator[Named]:
    yield "torch", lambda: F.rms_norm(a["x"], tuple(a["normalized_shape"]), a["weight"], a["eps"])


def _layer_norm(a: Arguments) -> Iterator[Named]:
    shape = tuple(a["normalized_shape"])
    yield "torch", lambda: F.layer_norm(a["input"], shape, a["weight"], a["bias"], a["eps"])


def _gemm(a: Arguments) -> Iterator[Named]:
    left = a["a"].t() if a["trans_a"] else a["a"]
    right = a["b"].t() if a["trans_b"] else a["b"]
    yield "cublas", lambda: torch.mm(left, right)


def _attention(a: Arguments) -> Iterator[Named]:
    """Only what scaled_dot_product_attention can express."""
    q, k, v = (a[name].transpose(1, 2) for name in "qkv")
    further = ("q_scale", "k_scale", "v_scale", "rope_cos", "sinks", "softcap", "out_dtype")
    windowed = a["window_size_left"] >= 0 or a["window_size_right"] >= 0
    causal = a["is_causal"] and q.shape[2] > 1
    if windowed or any(a.get(name) is not None for name in further):
        return
    if causal and q.shape[2] != k.shape[2]:
        return
    backends = (("flash", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION))
    for name, backend in backends:

        def run(backend: Any = backend) -> Any:
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(
                    q, k, v, is_causal=causal, scale=a["sm_scale"],
                    enable_gqa=q.shape[1] != k.shape[1],
                )  # fmt: skip

        yield name, run


_BY_OP: dict[str, Callable[[Arguments], Iterator[Named]]] = {
    "RMSNormFwdOp": _rms_norm,
    "LayerNormFwdOp": _layer_norm,
    "GEMMFwdOp": _gemm,
    "GQADenseFwdOp": _attention,
}
