"""Tensor descriptors of [B, S, heads, D] tensors, as sm_90 and later read blocks of rows of a head.

In: tensors of any strides. Out: whether a descriptor can hold them, and the descriptor.
"""

from __future__ import annotations

import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from tileops.runtime.launch import Call

_ALIGNMENT = 16


def describable(call: Call, *tensors: torch.Tensor) -> bool:
    """Whether the GPU has tensor descriptors, and they can hold all of these."""
    capability = call.capability
    return capability is not None and capability[0] >= 9 and all(map(_describable, tensors))


def _describable(x: torch.Tensor) -> bool:
    if x.numel() == 0 or int(x.stride(3)) != 1 or int(x.shape[1]) >= 2**31:
        return False
    # A descriptor cannot be built without reading the address; meta tensors answer 0.
    if x.data_ptr() % _ALIGNMENT != 0:
        return False
    outer = [int(s) for n, s in zip(x.shape[:3], x.stride()[:3], strict=True) if int(n) > 1]
    return all(s > 0 and s * x.itemsize % _ALIGNMENT == 0 for s in outer)


def descriptor_of(x: torch.Tensor, rows: int, width: int) -> TensorDescriptor:
    """x [B, S, heads, D] as [B, heads, S, D], read in blocks of rows of one head."""
    order = (0, 2, 1, 3)
    shape = [int(x.shape[axis]) for axis in order]
    # The stride of an axis of size 1 is never used, but has to be a legal one.
    strides = [
        int(x.stride(axis)) if int(x.shape[axis]) > 1 or axis == 3 else -(-shape[3] // 8) * 8
        for axis in order
    ]
    return TensorDescriptor(x, shape, strides, [1, 1, rows, width])
