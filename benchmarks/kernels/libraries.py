"""Kernels of other libraries for the same calls: Liger-Kernel, FlagGems, fla.

In: the arguments of a call by name, and torch's calls for it. Out: calls of whatever of these
libraries can be imported; none of them is needed. FlagGems replaces torch's own operators, so that
torch's calls are made under it.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from benchmarks.kernels.baselines import Arguments, Baseline

#: The libraries and what is imported of them.
LIBRARIES = {
    "liger": "liger_kernel.transformers.functional",
    "fla": "fla.modules",
    "flag_gems": "flag_gems",
}


@functools.cache
def library(name: str) -> Any:
    """The module, or None where it is not there or does not work with this torch."""
    try:
        return importlib.import_module(LIBRARIES[name])
    except Exception:
        return None


def available() -> list[str]:
    """The libraries that can be imported here."""
    return [name for name in LIBRARIES if library(name) is not None]


def baselines(op: str, a: Arguments, own: Sequence[Baseline]) -> Iterator[Baseline]:
    """The libraries' calls for an operator; `own` are torch's."""
    for name, functions in (("liger", _LIGER), ("fla", _FLA), ("flag_gems", _FLAG_GEMS)):
        if op in functions and library(name) is not None:
            call = functions[op](library(name), a)
            if call is not None:
                yield Baseline(name, call)
    gems = library("flag_gems")
    for item in own:
        if gems is not None and item.name in ("torch", "cublas"):
            yield Baseline("flag_gems", item.call, gems.use_gems)


Call = Callable[[], Any] | None


def _halves(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two contiguous tensors, made once: these libraries take halves, not both side by side."""
    first, second = x.chunk(2, dim=-1)
    return first.contiguous(), second.contiguous()


def _liger_rms_norm(module: Any, a: Arguments) -> Call:
    if a["weight"] is None or len(a["normalized_shape"]) != 1:
        return None
    eps = _eps(a, a["x"])
    return lambda: module.liger_rms_norm(a["x"], a["weight"], eps, in_place=False)


def _liger_layer_norm(module: Any, a: Arguments) -> Call:
    if a["weight"] is None or a["bias"] is None or len(a["normalized_shape"]) != 1:
        return None
    return lambda: module.liger_layer_norm(a["input"], a["weight"], a["bias"], a["eps"])


def _liger_fused_add_rms_norm(module: Any, a: Arguments) -> Call:
    return lambda: module.liger_fused_add_rms_norm(
        a["input"], a["residual"], a["weight"], a["eps"], in_place=False
    )


def _liger_silu_and_mul(module: Any, a: Arguments) -> Call:
    first, second = _halves(a["input"])
    return lambda: module.liger_swiglu(first, second)


def _liger_gelu_and_mul(module: Any, a: Arguments) -> Call:
    if a["approximate"] != "tanh":
        return None
    first, second = _halves(a["input"])
    return lambda: module.liger_geglu(first, second)


def _liger_softmax(module: Any, a: Arguments) -> Call:
    x = a["x"]
    if a["dim"] not in (None, -1, x.dim() - 1) or a["dtype"] is not None:
        return None
    return lambda: module.liger_softmax(x)


def _fla_rms_norm(module: Any, a: Arguments) -> Call:
    if len(a["normalized_shape"]) != 1:
        return None
    run = importlib.import_module("fla.modules.layernorm").rms_norm
    eps = _eps(a, a["x"])
    return lambda: run(a["x"], a["weight"], None, eps=eps)


def _fla_layer_norm(module: Any, a: Arguments) -> Call:
    if len(a["normalized_shape"]) != 1:
        return None
    run = importlib.import_module("fla.modules.layernorm").layer_norm
    return lambda: run(a["input"], a["weight"], a["bias"], eps=a["eps"])


def _fla_fused_add_rms_norm(module: Any, a: Arguments) -> Call:
    run = importlib.import_module("fla.modules.layernorm").rms_norm
    return lambda: run(a["input"], a["weight"], None, a["residual"], eps=a["eps"], prenorm=True)


def _fla_silu_and_mul(module: Any, a: Arguments) -> Call:
    run = importlib.import_module("fla.modules.activations").swiglu
    first, second = _halves(a["input"])
    return lambda: run(first, second)


def _gems_silu_and_mul(module: Any, a: Arguments) -> Call:
    first, second = _halves(a["input"])
    return lambda: module.silu_and_mul(first, second)


def _gems_gelu_and_mul(module: Any, a: Arguments) -> Call:
    first, second = _halves(a["input"])
    return lambda: module.gelu_and_mul(first, second, a["approximate"])


def _eps(a: Arguments, x: torch.Tensor) -> float:
    """torch's default where none is given."""
    return float(torch.finfo(x.dtype).eps if a["eps"] is None else a["eps"])


_LIGER: dict[str, Callable[[Any, Arguments], Call]] = {
    "RMSNormFwdOp": _liger_rms_norm,
    "LayerNormFwdOp": _liger_layer_norm,
    "FusedAddRMSNormFwdOp": _liger_fused_add_rms_norm,
    "SiLUAndMulFwdOp": _liger_silu_and_mul,
    "GELUAndMulFwdOp": _liger_gelu_and_mul,
    "SoftmaxFwdOp": _liger_softmax,
}
_FLA: dict[str, Callable[[Any, Arguments], Call]] = {
    "RMSNormFwdOp": _fla_rms_norm,
    "LayerNormFwdOp": _fla_layer_norm,
    "FusedAddRMSNormFwdOp": _fla_fused_add_rms_norm,
    "SiLUAndMulFwdOp": _fla_silu_and_mul,
}
_FLAG_GEMS: dict[str, Callable[[Any, Arguments], Call]] = {
    "SiLUAndMulFwdOp": _gems_silu_and_mul,
    "GELUAndMulFwdOp": _gems_gelu_and_mul,
}
