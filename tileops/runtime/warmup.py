"""Calls made ahead of time, so that the first one that counts compiles nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._pytree import tree_map_only

from tileops.runtime.dispatch import Served, record_implementations
from tileops.runtime.errors import CallError


def warmup(
    call: Callable[..., Any],
    /,
    *args: Any,
    meta_device: torch.device | str = "cuda",
    **kwargs: Any,
) -> tuple[Served, ...]:
    """Prepares an operator for calls of these shapes, strides, dtypes and parameters.

    `call` is an operator of torch.ops or an instance of a class. It is called once on copies, so
    that nothing passed is written; a fake tensor stands for zeros of its shape and strides on its
    device, a meta tensor for such on `meta_device`. Kernels are compiled, and Triton keeps them on
    disk; afterwards the same call may be captured in a CUDA graph. Returns what served it, a
    composite's stages one by one.

    Errors: CallError while a CUDA graph is captured, for a symbolic size, and what the call raises.
    """
    if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
        raise CallError("warmup must be called before a CUDA graph is captured, not inside")

    def copy(tensor: torch.Tensor) -> torch.Tensor:
        return _copy(tensor, torch.device(meta_device))

    args, kwargs = tree_map_only(torch.Tensor, copy, (args, kwargs))
    with record_implementations() as served, torch.no_grad():
        call(*args, **kwargs)
    if any(item.device.type == "cuda" for item in served):
        torch.cuda.synchronize()
    return tuple(served)


def _copy(tensor: torch.Tensor, meta_device: torch.device) -> torch.Tensor:
    """A tensor of the same layout that nobody else holds."""
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    if any(isinstance(size, torch.SymInt) for size in (*shape, *strides)):
        raise CallError(f"warmup must be given sizes that are known, got {list(shape)}")
    # The memory that the tensor spans, since an expanded one cannot be written.
    span = 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    span = span if tensor.numel() else 0
    if tensor.is_meta or isinstance(tensor, FakeTensor):
        device = meta_device if tensor.is_meta else tensor.device
        memory = torch.zeros(span, dtype=tensor.dtype, device=device)
    else:
        memory = tensor.detach().as_strided((span,), (1,)).clone()
    return memory.as_strided(shape, strides)
