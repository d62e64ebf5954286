"""One call, made three ways: by the interpreter, by generated code on tensors, and on fake ones.

Arguments are manifest values and `TensorMeta`; results are `Outcome`s, which compare.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from tileops.codegen.generate import generate
from tileops.codegen.model import Argument, Operator, Role
from tileops.manifest.signature.interpret import CallRejected, TensorMeta, interpret
from tileops.manifest.signature.model import MISSING, Signature
from tileops.manifest.signature.steps import Plan
from tileops.manifest.values import adt_value
from tileops.runtime.compile import compile_operator
from tileops.runtime.errors import CallError
from tileops.runtime.support import DTYPE_NAMES, TORCH_DTYPES, hint

Outputs = dict[str, tuple[tuple[int, ...], str] | None]


@dataclass(frozen=True)
class Outcome:
    """What a call gives: outputs and indices, or a sentence."""

    outputs: Outputs | None
    indices: dict[str, Any] | None = None
    sentence: str = ""


class Subject:
    """An operator under test."""

    def __init__(self, signature: Signature, plan: Plan) -> None:
        self.signature = signature
        self.plan = plan
        self.operator: Operator = generate(signature, plan)
        self.functions = compile_operator(self.operator)

    def complete(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The call with defaults, and None for every absent tensor, in the order of the schema."""
        result: dict[str, Any] = {}
        for argument in self.operator.arguments:
            name = argument.param or argument.name
            if argument.role is Role.TARGET or name in result:
                continue
            param = self.signature.param(name)
            if name in arguments:
                result[name] = arguments[name]
            elif param is not None and param.default is not MISSING:
                result[name] = param.default
            elif param is None:
                result[name] = None
            if param is not None and isinstance(result.get(name), dict):
                adt = self.signature.adts[getattr(param.kind, "name", "")]
                result[name] = adt_value(result[name], adt)
        return result

    def interpreted(self, arguments: Mapping[str, Any]) -> Outcome:
        try:
            types = interpret(self.signature, self.plan, self.complete(arguments))
        except CallRejected as error:
            return Outcome(None, sentence=str(error))
        return Outcome(types.outputs, self.shown(types.indices))

    def shown(self, indices: Mapping[str, Any]) -> dict[str, Any]:
        """The indices that `infer` returns, those that no branch bound as None."""
        return {name: _plain(indices.get(name)) for name in self.operator.index_names}

    def generated(self, arguments: Mapping[str, Any]) -> Outcome:
        """The generated code on real tensors."""
        return self._infer(self.complete(arguments), _real)

    def traced(self, arguments: Mapping[str, Any]) -> Outcome:
        """The generated code on fake tensors whose sizes are symbols."""
        env = ShapeEnv(duck_shape=False, specialize_zero_one=True)
        mode = FakeTensorMode(shape_env=env)
        with mode:
            return self._infer(self.complete(arguments), lambda meta: _fake(meta, mode))

    def _infer(self, arguments: Mapping[str, Any], tensor: Any) -> Outcome:
        built = {
            name: tensor(value) if isinstance(value, TensorMeta) else value
            for name, value in arguments.items()
        }
        args = [
            _argument(item, self.signature, built)
            for item in self.operator.arguments
            if item.role is not Role.TARGET
        ]
        try:
            _, specs, indices = self.functions["infer"](*args)
        except CallError as error:
            return Outcome(None, sentence=str(error))
        outputs: Outputs = {}
        for output, spec in zip(self.operator.outputs, specs, strict=True):
            outputs[output.name] = (
                None if spec is None else (tuple(map(hint, spec[0])), DTYPE_NAMES[spec[1]])
            )
        values = dict(zip(self.operator.index_names, map(_plain, indices), strict=True))
        return Outcome(outputs, values)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple | torch.Size):
        return tuple(map(hint, value))
    if isinstance(value, torch.dtype):
        return DTYPE_NAMES[value]
    return hint(value)


def _argument(item: Argument, signature: Signature, values: Mapping[str, Any]) -> Any:
    value = item.part_of(values.get(item.param or item.name))
    if item.type.rstrip("?") == "ScalarType" and isinstance(value, str):
        return TORCH_DTYPES[value]
    if item.type.rstrip("?") in ("SymInt[]", "SymInt?[]", "int[1]") and isinstance(value, int):
        return [value]
    if item.type == "Device?" and isinstance(value, str):
        return torch.device(value)
    return value


def _real(meta: TensorMeta) -> torch.Tensor:
    if meta.contiguous:
        return torch.empty(meta.shape, dtype=TORCH_DTYPES[meta.dtype])
    sizes = (*meta.shape[:-1], meta.shape[-1] * 2)
    return torch.empty(sizes, dtype=TORCH_DTYPES[meta.dtype])[..., ::2]


def _fake(meta: TensorMeta, mode: FakeTensorMode) -> torch.Tensor:
    return mode.from_tensor(_real(meta), static_shapes=False)
