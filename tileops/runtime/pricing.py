"""What a completed call costs, by the cost model of its entry.

In: a registered operator and what its class remembers of a call. Out: (flops, bytes). The formulas
are the manifest's (tileops/manifest/roofline.py); a cost function is imported here, since only the
runtime may import the operators' code.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from tileops.manifest.roofline import CostFunction, PricedCall, RooflineError, TensorFacts
from tileops.manifest.roofline import price as price_call
from tileops.manifest.signature.interpret import CallRejected, TensorMeta, interpret
from tileops.manifest.signature.model import Param, Signature
from tileops.manifest.values import adt_value, convert
from tileops.runtime.bound import Bound
from tileops.runtime.errors import CallError
from tileops.runtime.support import DTYPE_NAMES, manifest_value

Type = tuple[tuple[int, ...], torch.dtype]


@dataclass(frozen=True, slots=True)
class LastCall:
    """Shape and dtype of each input of a completed call, None where absent, and the parameters.

    `contents` are the metadata tensors that a cost function may read, with their version then.
    """

    inputs: dict[str, Type | None]
    parameters: dict[str, Any]
    contents: dict[str, tuple[torch.Tensor, int]] = field(default_factory=dict)


def price(bound: Bound, call: LastCall) -> tuple[int, int]:
    """(flops, bytes) of a call. Errors: CallError where no cost model of the entry answers."""
    subject = bound.header.op
    workload = bound.workload
    model = workload.roofline
    if model is None:
        raise CallError(f"{subject}: its entry has no roofline that can be evaluated")
    signature = workload.signature
    params = manifest_params(signature, call.parameters)
    tensors = _tensors(signature, call)
    arguments: dict[str, Any] = {**params, **tensors}
    try:
        types = interpret(signature, workload.plan, arguments)
    except CallRejected as error:
        # A parameter that was edited since the call.
        raise CallError(str(error)) from None
    facts = {name: meta and TensorFacts(meta.shape, meta.dtype) for name, meta in tensors.items()}
    facts |= {name: spec and TensorFacts(*spec) for name, spec in types.outputs.items()}
    passed = frozenset(name for name, meta in tensors.items() if meta is not None)
    priced = PricedCall(signature.op, params, types.indices, facts, _Contents(subject, call))
    point = workload.point(params, passed)
    resolve = functools.partial(_function, bound)
    try:
        found = price_call(model, priced, signature, workload.discriminants, point, resolve)
    except RooflineError as error:
        if isinstance(error.__cause__, CallError):
            raise error.__cause__ from None
        raise CallError(f"{subject}: {error}") from error.__cause__
    assert found is not None
    return found


def manifest_params(signature: Signature, values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameter values as the manifest has them: dtypes by name, ADTs as values, lists as lists."""
    return {
        param.name: _manifest_param(signature, param, values.get(param.name))
        for param in signature.params
    }


def _manifest_param(signature: Signature, param: Param, value: Any) -> Any:
    plain = manifest_value(value)
    kind = getattr(param.kind, "item", param.kind)
    adt = signature.adts.get(getattr(kind, "name", ""))
    try:
        if adt is not None and value is not None:
            return adt_value(value, adt)
        return convert(plain, param.type, signature.adts)
    except ValueError:
        # An object that the language does not look into.
        return plain


def _tensors(signature: Signature, call: LastCall) -> dict[str, TensorMeta | None]:
    found: dict[str, TensorMeta | None] = {}
    for tensor in signature.construction:
        value = call.parameters.get(tensor.name)
        found[tensor.name] = None if value is None else _meta((value.shape, value.dtype))
    for name, item in call.inputs.items():
        found[name] = None if item is None else _meta(item)
    return found


def _meta(item: tuple[Sequence[int], torch.dtype]) -> TensorMeta:
    return TensorMeta(tuple(item[0]), DTYPE_NAMES[item[1]])


class _Contents(Mapping[str, Sequence[int]]):
    """The contents of metadata tensors, copied to the host when a cost function reads one."""

    def __init__(self, subject: str, call: LastCall) -> None:
        self._subject = subject
        self._found = call.contents

    def __getitem__(self, name: str) -> Sequence[int]:
        tensor, version = self._found[name]
        if version_of(tensor) != version:
            raise CallError(
                f"{self._subject}: its roofline reads the contents of {name}, which were "
                "overwritten after the call"
            )
        return tensor.detach().reshape(-1).tolist()  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def version_of(tensor: torch.Tensor) -> int:
    """How often a tensor was written; inference tensors do not count."""
    return 0 if tensor.is_inference() else tensor._version


def reads_contents(bound: Bound) -> tuple[str, ...]:
    """The metadata tensors whose contents the entry's cost function may ask for."""
    signature = bound.operator.signature
    roofline = None if signature is None else signature.entry.roofline
    if roofline is None or roofline.func is None:
        return ()
    return tuple(tensor.name for tensor in signature.inputs if tensor.decl.values is not None)


def _function(bound: Bound, path: str) -> CostFunction:
    subject = bound.header.op
    if bound.header.status != "implemented":
        raise CallError(f"{subject}: is spec-only, so its roofline {path} has no code")
    try:
        return _imported(path)
    except (ImportError, AttributeError, TypeError) as error:
        raise CallError(
            f"{subject}: its roofline must be an importable function, got {path}: {error}"
        ) from error


@functools.cache
def _imported(path: str) -> CostFunction:
    module, _, name = path.rpartition(".")
    function = getattr(importlib.import_module(module), name)
    if not callable(function):
        raise TypeError(f"{name} is a {type(function).__name__}")
    return function  # type: ignore[no-any-return]
