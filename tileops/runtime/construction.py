"""Construction: the checks that `__init__` makes, and the tensors that an instance holds.

In: the parameters of a class. Out: CallError with the sentence that a torch.ops call would give;
the dtypes that construction-time tensors are cast to; such a tensor as a call needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from tileops.manifest.language.evaluate import evaluate
from tileops.manifest.language.symbolic import DomainError
from tileops.manifest.language.syntax import names_in
from tileops.manifest.signature.interpret import CallRejected, interpret
from tileops.manifest.signature.model import Signature, Tensor
from tileops.runtime.bound import Bound
from tileops.runtime.errors import CallError
from tileops.runtime.support import DTYPE_NAMES, TORCH_DTYPES, manifest_value, meta_of

#: Attributes of an instance: the dtypes of its tensors where they are not their own, and copies.
CASTS = "_casts"
COPIES = "_copies"


def check(bound: Bound, values: Mapping[str, Any]) -> dict[str, torch.dtype]:
    """Makes the construction checks; the dtypes that tensors are cast to. Errors: CallError."""
    operator = bound.operator
    signature = operator.signature
    if signature is None:
        return {}
    found = casts(bound, values)
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        if not isinstance(value, torch.Tensor):
            arguments[name] = manifest_value(value)
            continue
        meta = meta_of(value)
        arguments[name] = replace(meta, dtype=DTYPE_NAMES[found[name]]) if name in found else meta
    try:
        interpret(signature, operator.plan, arguments, construction_only=True)
    except CallRejected as error:
        raise CallError(str(error)) from None
    except TypeError:
        # Sizes without a value, which only a call can check.
        pass
    _same_device(signature, operator.header.operator, values)
    return found


def casts(bound: Bound, values: Mapping[str, Any]) -> dict[str, torch.dtype]:
    """The signature dtypes of construction-time tensors that are of another one."""
    found = {}
    for tensor in bound.operator.signature.construction:
        value = values.get(tensor.name)
        if isinstance(value, torch.Tensor):
            dtype = _signature_dtype(bound.operator.signature, tensor, values)
            if dtype is not None and dtype is not value.dtype:
                found[tensor.name] = dtype
    return found


def _signature_dtype(
    signature: Signature, tensor: Tensor, values: Mapping[str, Any]
) -> torch.dtype | None:
    """The dtype that a tensor is cast to, as far as parameters alone give it."""
    params = {param.name for param in signature.params} & values.keys()
    names = names_in(tensor.dtype)
    if not names <= params:
        return None
    try:
        dtype = evaluate(tensor.dtype, {name: manifest_value(values[name]) for name in names})
    except (DomainError, TypeError):
        return None
    return TORCH_DTYPES.get(dtype)


def follower(bound: Bound, name: str) -> Callable[..., Any]:
    """What makes of a construction-time tensor of a torch.ops call the one that it works with: on
    the device of the call's inputs, in its signature dtype. It is no copy where that is so already.
    """
    signature = bound.operator.signature
    declared = signature.tensor(name)

    def follow(
        tensor: torch.Tensor | None,
        leaders: tuple[torch.Tensor | None, ...],
        values: Mapping[str, Any],
    ) -> torch.Tensor | None:
        if tensor is None:
            return None
        device = next((item.device for item in leaders if item is not None), tensor.device)
        if declared.decl.on_cpu:
            device = tensor.device
        dtype = _signature_dtype(signature, declared, values) or tensor.dtype
        if tensor.device == device and tensor.dtype is dtype:
            return tensor
        return tensor.to(device, dtype)

    return follow


def _same_device(signature: Signature, subject: str, values: Mapping[str, Any]) -> None:
    """Without inputs and a device parameter, the tensors decide the call device together."""
    if signature.inputs or values.get("device") is not None:
        return
    tensors = {
        tensor.name: values[tensor.name].device
        for tensor in signature.construction
        if not tensor.decl.on_cpu and values.get(tensor.name) is not None
    }
    first = next(iter(tensors), "")
    for name, device in tensors.items():
        if device != tensors[first]:
            raise CallError(
                f"{subject}: {name} must be on {tensors[first]} as {first} is, got {device}"
            )


def moved(self: Any, name: str, *inputs: torch.Tensor | None) -> torch.Tensor | None:
    """A construction-time tensor on the device of the call, in its signature dtype.

    The copy is kept until the tensor changes; one that requires grad is copied by every call, for
    its gradient. `inputs` are those that decide the call device, if any.
    """
    tensor: torch.Tensor | None = self.__dict__[name]
    if tensor is None:
        return None
    device = next((item.device for item in inputs if item is not None), tensor.device)
    dtype = self.__dict__.get(CASTS, {}).get(name, tensor.dtype)
    if tensor.device == device and tensor.dtype is dtype:
        return tensor
    if torch.compiler.is_compiling() or tensor.requires_grad or tensor.is_inference():
        return tensor.to(device, dtype)
    copies = self.__dict__.setdefault(COPIES, {})
    source, version, copy = copies.get((name, device, dtype), (None, 0, None))
    if source is not tensor or version != tensor._version:
        copy = tensor.to(device, dtype)
        copies[name, device, dtype] = (tensor, tensor._version, copy)
    return copy  # type: ignore[no-any-return]
