"""What a user would take instead of an operator, beside the reference and its compiled form.

In: the arguments of a call by name. Out: calls of torch's own operators here, of other libraries in
libraries.py; none where nothing expresses the row. A baseline writes fresh tensors, as the operator
does, in the operator's shapes; measure.py holds its values against the reference before its time
counts.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Baseline:
    """One call by name; `within` is entered around its warm-up and its recording."""

    name: str
    call: Callable[[], Any]
    within: Callable[[], AbstractContextManager[Any]] = nullcontext
    compiles: bool = False


def baselines(op: str, arguments: Arguments, ref_api: str | None = None) -> Iterator[Baseline]:
    """Everything for this call; `ref_api` is what the manifest calls the operator's model."""
    from benchmarks.kernels import libraries

    own = list(_BY_OP[op](arguments) if op in _BY_OP else _torch_function(ref_api, arguments))
    yield from own
    yield from libraries.baselines(op, arguments, own)


def _torch_function(ref_api: str | None, a: Arguments) -> Iterator[Baseline]:
    """The function of torch that the manifest names, where its arguments are called alike."""
    module, _, name = (ref_api or "").rpartition(".")
    if module not in ("torch", "torch.Tensor", "torch.nn.functional") or a.get("inplace"):
        return
    owner = torch.Tensor if module == "torch.Tensor" else importlib.import_module(module)
    function = getattr(owner, name, None)
    if function is None or isinstance(function, type):
        return
    left_out = ("target", "inplace", "device", "out")
    given = {key: value for key, value in a.items() if key not in left_out and value is not None}
    tensors = [key for key, value in given.items() if isinstance(value, torch.Tensor)]
    if tensors:
        # By position: its name is the manifest's choice, as `x`, and defaults stand before it here.
        first = next((name for name in ("condition", "input", "x") if name in tensors), tensors[0])
        x = given.pop(first)
        yield Baseline("torch", lambda: function(x, **given))


def _rms_norm(a: Arguments) -> Iterator[Baseline]:
    shape = tuple(a["normalized_shape"])
    yield Baseline("torch", lambda: F.rms_norm(a["x"], shape, a["weight"], a["eps"]))


def _layer_norm(a: Arguments) -> Iterator[Baseline]:
    shape = tuple(a["normalized_shape"])
    yield Baseline(
        "torch", lambda: F.layer_norm(a["input"], shape, a["weight"], a["bias"], a["eps"])
    )


def _group_norm(a: Arguments) -> Iterator[Baseline]:
    options = (a["num_groups"], a["weight"], a["bias"], a["eps"])
    yield Baseline("torch", lambda: F.group_norm(a["input"], *options))


def _batch_norm(a: Arguments) -> Iterator[Baseline]:
    """The output alone, which comes first; torch writes the running statistics in place too."""
    running = (a["running_mean"], a["running_var"], a["weight"], a["bias"])
    options = (a["training"], a["momentum"], a["eps"])
    yield Baseline("torch", lambda: F.batch_norm(a["input"], *running, *options))


def _instance_norm(a: Arguments) -> Iterator[Baseline]:
    running = (a["running_mean"], a["running_var"], a["weight"], a["bias"])
    options = (a["use_input_stats"], a["momentum"], a["eps"])
    yield Baseline("torch", lambda: F.instance_norm(a["input"], *running, *options))


def _batch_norm_backward(a: Arguments) -> Iterator[Baseline]:
    saved = (None, None, a["save_mean"], a["save_invstd"], True, 1e-5, [True] * 3)
    backward = torch.ops.aten.native_batch_norm_backward
    yield Baseline("torch", lambda: backward(a["doutput"], a["input"], a["weight"], *saved))


def _softmax(a: Arguments) -> Iterator[Baseline]:
    dim = -1 if a["dim"] is None else a["dim"]
    yield Baseline("torch", lambda: torch.softmax(a["x"], dim, dtype=a["dtype"]))


def _gemm(a: Arguments) -> Iterator[Baseline]:
    left = a["a"].t() if a["trans_a"] else a["a"]
    right = a["b"].t() if a["trans_b"] else a["b"]
    yield Baseline("cublas", lambda: torch.mm(left, right))


def _attention(a: Arguments) -> Iterator[Baseline]:
    """What scaled_dot_product_attention and FlexAttention express."""
    further = ("q_scale", "k_scale", "v_scale", "rope_cos", "sinks", "out_dtype")
    if any(a.get(name) is not None for name in further):
        return
    q, k, v = (a[name].transpose(1, 2) for name in "qkv")
    windowed = a["window_size_left"] >= 0 or a["window_size_right"] >= 0
    causal = a["is_causal"] and q.shape[2] > 1
    yield Baseline("flex", functools.partial(_flex(a), q, k, v), compiles=True)
    if windowed or a["softcap"] is not None or (causal and q.shape[2] != k.shape[2]):
        return
    backends = (("flash", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION))
    for name, backend in backends:

        def run(backend: Any = backend) -> Any:
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(
                    q, k, v, is_causal=causal, scale=a["sm_scale"],
                    enable_gqa=q.shape[1] != k.shape[1],
                ).transpose(1, 2)  # fmt: skip

        yield Baseline(name, run)


def _flex(a: Arguments) -> Callable[..., Any]:
    """FlexAttention with the row's mask and soft cap."""
    s_q, s_kv = a["q"].shape[1], a["k"].shape[1]
    right = 0 if a["is_causal"] else a["window_size_right"]
    bounds, cap, device = (a["window_size_left"], right), a["softcap"], a["q"].device

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        function, mask, score = _flex_parts(s_q, s_kv, bounds, cap, device)
        output = function(
            q, k, v, score_mod=score, block_mask=mask,
            scale=a["sm_scale"], enable_gqa=q.shape[1] != k.shape[1],
        )  # fmt: skip
        return output.transpose(1, 2)

    return run


@functools.lru_cache(maxsize=1)
def _flex_parts(
    s_q: int, s_kv: int, bounds: tuple[int, int], cap: float | None, device: torch.device
) -> tuple[Any, Any, Any]:
    """The function, compiled on a GPU, with its mask and scores: one for all inputs of a row."""
    from torch.nn.attention import flex_attention as flex

    (left, right), shift = bounds, s_kv - s_q

    def seen(batch: Any, head: Any, query: Any, key: Any) -> Any:
        visible = key >= 0
        if right >= 0:
            visible = visible & (key <= query + shift + right)
        if left >= 0:
            visible = visible & (key >= query + shift - left)
        return visible

    def capped(score: Any, batch: Any, head: Any, query: Any, key: Any) -> Any:
        return cap * torch.tanh(score / cap)

    masked = left >= 0 or right >= 0
    mask = flex.create_block_mask(seen, None, None, s_q, s_kv, device) if masked else None
    score = None if cap is None else capped
    if device.type != "cuda":
        return flex.flex_attention, mask, score
    torch._dynamo.reset()
    return torch.compile(flex.flex_attention, dynamic=False, fullgraph=True), mask, score


_BY_OP: dict[str, Callable[[Arguments], Iterator[Baseline]]] = {
    "RMSNormFwdOp": _rms_norm,
    "LayerNormFwdOp": _layer_norm,
    "GroupNormFwdOp": _group_norm,
    "BatchNormFwdOp": _batch_norm,
    "BatchNormBwdOp": _batch_norm_backward,
    "InstanceNormFwdOp": _instance_norm,
    "SoftmaxFwdOp": _softmax,
    "GEMMFwdOp": _gemm,
    "GQADenseFwdOp": _attention,
}
