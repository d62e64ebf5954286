"""What metadata tensors hold, against the `requires` of the entry: the work of `validate_inputs`.

In: a checked call. Out: nothing, or CallError with the requirement that its contents break. This
reads tensors on the CPU, so it waits for the device and has no place in a CUDA graph.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from tileops.manifest.language.arrays import TYPECODES, Values
from tileops.manifest.workload.contents import broken_contents
from tileops.runtime.bound import Bound
from tileops.runtime.errors import CallError
from tileops.runtime.pricing import manifest_params
from tileops.runtime.support import DTYPE_NAMES

Check = Callable[[Mapping[str, Any], Sequence[Any]], None]


def validator(bound: Bound) -> Check:
    """A function of a call's tensors and parameters, and of its solved indices."""
    operator = bound.operator
    subject = bound.header.operator

    def validate(values: Mapping[str, Any], indices: Sequence[Any]) -> None:
        tensors = {name: item for name, item in values.items() if isinstance(item, torch.Tensor)}
        if any(tensor.device.type == "meta" for tensor in tensors.values()):
            return
        if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
            raise CallError(
                f"{subject}: validate_inputs must be False while a CUDA graph is captured, since "
                "it reads tensors on the CPU"
            )
        workload = bound.workload
        read = {
            name: _values(tensor) for name, tensor in tensors.items() if name in workload.metadata
        }
        wrong = broken_contents(
            workload,
            manifest_params(workload.signature, values),
            dict(zip(operator.index_names, indices, strict=True)),
            frozenset(tensors),
            read,
        )
        if wrong is not None:
            raise CallError(f"{subject}: {wrong}")

    return validate


def _values(tensor: torch.Tensor) -> Values:
    """The contents of an integer tensor, copied once."""
    here = tensor.detach().cpu().contiguous()
    dtype = DTYPE_NAMES[here.dtype]
    data = array(TYPECODES[dtype])
    if here.numel():
        data.frombytes(ctypes.string_at(here.data_ptr(), here.numel() * here.element_size()))
    return Values(tuple(here.shape), dtype, data)
