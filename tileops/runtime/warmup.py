"""Calls made ahead of time, so that the first one that counts compiles nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from tileops.runtime.dispatch import Served, record_implementations
from tileops.runtime.errors import CallError


def warmup(
    call: Callable[..., Any],
    *args: Any,
    device: torch.device | str | None = None,
    **kwargs: Any,
) -> tuple[Served, ...]:
    """Prepares an operator for calls of these shapes, strides, dtypes and parameters.

    `call` is an operator of torch.ops or an instance of a class. It is called once on copies, so
    that nothing passed is written; a meta or fake tensor stands for zeros of its shape and strides
    on `device`, by default the current CUDA device. Kernels are compiled, and Triton keeps them on
    disk; afterwards the same call may be captured in a CUDA graph. Returns what served it, a
    composite's stages one by one.

    Errors: CallError while a CUDA graph is captured, for a symbolic size, and what the call raises.
    """
    if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
        raise CallError("warmup must be called before a CUDA graph is captured, not inside")
    place = torch.device(device) if device is not None else None

    def real(tensor: torch.Tensor) -> torch.Tensor:
        return _copy(tensor, place)

    args, kwargs = tree_map_only(torch.Tensor, real, (args, kwargs))
    with record_implementations() as served, torch.no_grad():
        call(*args, **kwargs)
    if any(item.device.type == "cuda" for item in served):
        torch.cuda.synchronize()
    return tuple(served)


def _copy(tensor: torch.Tensor, device: torch.device | None) -> torch.Tensor:
    """A tensor of the same layout that nobody else holds."""
    if any(isinstance(size, torch.SymInt) for size in (*tensor.shape, *tensor.stride())):
        raise CallError(f"warmup must be given sizes that are known, got {list(tensor.shape)}")
    stands_for_another = tensor.is_meta or isinstance(tensor, _fake())
    if device is None:
        device = tensor.device if not tensor.is_meta else torch.device("cuda")
    copy = torch.empty_strided(
        tuple(tensor.shape), tuple(tensor.stride()), dtype=tensor.dtype, device=device
    )
    return copy.zero_() if stands_for_another else copy.copy_(tensor.detach())


def _fake() -> type:
    from torch._subclasses.fake_tensor import FakeTensor

    return FakeTensor
