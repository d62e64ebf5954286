"""Calls that break a declaration: for each check of an entry, one call that only it refuses.

In: rows of an entry. Out: calls with the sentence that eager, fake and compiled code must say. Each
is a row with one thing changed: a size, rank, dtype, device, layout, presence or parameter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from tileops.codegen.model import Argument, Role
from tileops.manifest.dtypes import DTYPES
from tileops.manifest.language.types import DTypeType, LiteralType, alternatives
from tileops.manifest.signature.interpret import CallRejected, TensorMeta, interpret
from tileops.manifest.signature.model import Role as TensorRole
from tileops.manifest.signature.steps import (
    AxisStep,
    ComboStep,
    DTypeStep,
    EmitStep,
    LetStep,
    Mode,
    ParamStep,
    PlacementStep,
    PresenceStep,
    RankStep,
    RuleStep,
    SpliceStep,
    Step,
)
from tileops.manifest.workload.instantiate import instantiate
from tileops.runtime.support import TORCH_DTYPES
from tileops.testing.call import Call
from tileops.testing.cases import Row, arguments_of, split_arguments
from tileops.testing.tensors import random_tensor

__all__ = ["Rejection", "breakable", "rejections"]

Facts = dict[str, Any]

_INTS = (-2, -1, 0, 1, 2, 3, 7, 300, 1 << 40)
_FLOATS = (-1.0, 0.0, 0.5, 1e300)
_ELSEWHERE = "meta"


@dataclass(frozen=True, slots=True, eq=False)
class Rejection:
    """A call that `step` refuses with `sentence`; `change` says what makes it wrong."""

    row: Row
    step: Step
    change: str
    sentence: str
    facts: Facts

    def __str__(self) -> str:
        return f"{self.row}: {self.change}"

    def call(self) -> Call:
        """The call with tensors in place."""
        row, operator = self.row, self.row.bound.operator
        tensors = {k: _tensor(v) for k, v in self.facts.items() if isinstance(v, TensorMeta)}
        params = {name: self.facts[name] for name in row.case.params}
        values = arguments_of(operator, replace(row.case, params=params), tensors)
        args, kwargs = split_arguments(operator, values)
        return Call(getattr(row.bound.packet(), row.overload), args, kwargs)


def rejections(rows: Sequence[Row]) -> list[Rejection]:
    """For every step of the plan that can be broken, the first call that it refuses."""
    found: dict[int, Rejection] = {}
    for row in rows:
        signature, given = row.case.signature, instantiate(row.case).arguments
        tensors = (*signature.inputs, *signature.construction)
        # Sentences name tensors in the order of the schema.
        facts = {tensor.name: given[tensor.name] for tensor in tensors} | given
        for change, changed in _changes(row, facts):
            try:
                interpret(signature, row.case.workload.plan, changed)
            except CallRejected as error:
                if error.step is not None and id(error.step) not in found:
                    made = Rejection(row, error.step, change, str(error), changed)
                    found[id(error.step)] = made
    return list(found.values())


def breakable(row: Row) -> list[Step]:
    """The steps that a call can break and that torch's own schema check leaves to them."""
    return [step for step in row.case.workload.plan.steps if _breakable(row, step)]


def _breakable(row: Row, step: Step) -> bool:
    signature = row.case.signature
    match step:
        case EmitStep() | LetStep():
            return False
        case ParamStep(param=name):
            # torch checks the rest: it knows int, float, bool and lists.
            param = signature.param(name)
            members = () if param is None else alternatives(param.type)
            return any(isinstance(item, LiteralType | DTypeType) for item in members)
        case PresenceStep(condition=condition):
            # A tensor's own presence is whatever the call makes it.
            tensor = signature.tensor(step.tensor)
            return condition is not None and tensor is not None and not tensor.own_presence
        case PlacementStep():
            tensors = [t for t in signature.inputs if not t.decl.on_cpu]
            if step.tensor in {t.name for t in signature.construction}:
                # A call copies it to its device.
                return step.on_cpu
            return step.on_cpu or step.contiguous or tensors[0].name != step.tensor
        case RankStep(open=open_, count=count, splices=splices):
            return open_ is None or bool(count or splices) or step.mode is Mode.CHECK
        case AxisStep(mode=mode) | SpliceStep(mode=mode):
            return mode is Mode.CHECK
        case RuleStep():
            return step.kind != "obligation" and not step.implied
        case DTypeStep() | ComboStep():
            return True


# --- changes --------------------------------------------------------------------------------------


def _changes(row: Row, facts: Facts) -> Iterator[tuple[str, Facts]]:
    signature = row.case.signature
    inputs = [t for t in signature.tensors if t.role is not TensorRole.OUTPUT]
    for tensor in inputs:
        meta = facts[tensor.name]
        others: Iterator[tuple[str, TensorMeta | None]]
        if meta is None:
            others = iter([("passed", TensorMeta((2,), "float32"))])
        else:
            others = _other_tensors(meta, tensor.presence is not None)
        for what, other in others:
            yield f"{tensor.name} {what}", {**facts, tensor.name: other}
    present = {t.name: facts[t.name] for t in inputs if facts[t.name] is not None}
    for old in dict.fromkeys(meta.dtype for meta in present.values()):
        for dtype in _dtypes():
            same = {n: replace(m, dtype=dtype) for n, m in present.items() if m.dtype == old}
            yield f"every {old} as {dtype}", {**facts, **same}
    for size in dict.fromkeys(size for meta in present.values() for size in meta.shape):
        for other in (size // 4, size + 1, 1):
            same = {n: replace(m, shape=_swapped(m.shape, size, other)) for n, m in present.items()}
            yield f"every axis of {size} of {other}", {**facts, **same}
    for argument in row.bound.operator.arguments:
        if argument.role is Role.PARAM and argument.param in facts:
            for value in _other_values(row, argument, facts[argument.param]):
                yield f"{argument.param}={value!r}", {**facts, argument.param: value}


def _other_tensors(meta: TensorMeta, optional: bool) -> Iterator[tuple[str, TensorMeta | None]]:
    shape = meta.shape
    yield "with an axis more", replace(meta, shape=(2, *shape))
    if shape:
        yield "with an axis less", replace(meta, shape=shape[1:])
    yield "without axes", replace(meta, shape=())
    for axis, size in enumerate(shape):
        for other in (size + 1, size * 2, size - 1, 3 * size + 1, 0):
            if other >= 0:
                yield (
                    f"axis {axis} of {other}",
                    replace(meta, shape=(*shape[:axis], other, *shape[axis + 1 :])),
                )
    for dtype in _dtypes():
        yield f"as {dtype}", replace(meta, dtype=dtype)
    yield "elsewhere", replace(meta, device=_ELSEWHERE)
    if len(shape) >= 2 and all(size > 1 for size in shape):
        yield "not contiguous", replace(meta, contiguous=False)
    if optional:
        yield "absent", None


def _swapped(shape: tuple[int, ...], size: int, other: int) -> tuple[int, ...]:
    return tuple(other if item == size else item for item in shape)


def _dtypes() -> list[str]:
    return [name for name in DTYPES if name in TORCH_DTYPES]


def _other_values(row: Row, argument: Argument, value: Any) -> list[Any]:
    """Values that the schema admits in the place of a parameter's."""
    param = row.case.signature.param(argument.param)
    literals = [
        item.value
        for item in (() if param is None else alternatives(param.type))
        if isinstance(item, LiteralType)
    ]
    kind = argument.type.rstrip("?")
    found: list[Any] = []
    if kind == "str":
        found += ["bogus", *literals]
    elif kind == "bool":
        found += [True, False]
    elif kind in ("SymInt", "int[1]"):
        found += _INTS
        found += [value + 1] if isinstance(value, int) else []
    elif kind == "float":
        found += _FLOATS
    elif kind == "Scalar":
        found += [*_INTS, *_FLOATS]
    elif kind == "ScalarType":
        found += _dtypes()
    elif kind == "SymInt[]" and isinstance(value, list | tuple):
        found += [[], [*value, 3], [size + 1 for size in value], list(value)[1:]]
    if argument.type.endswith("?"):
        found.append(None)
    return [item for item in found if type(item) is not type(value) or item != value]


def _tensor(meta: TensorMeta) -> torch.Tensor:
    dtype = TORCH_DTYPES[meta.dtype]
    shape: Sequence[int] = meta.shape
    if not meta.contiguous:
        shape = (*meta.shape[:-2], meta.shape[-1], meta.shape[-2])
    if meta.device == _ELSEWHERE:
        tensor = torch.empty(shape, dtype=dtype, device=_ELSEWHERE)
    else:
        tensor = random_tensor(tuple(shape), dtype, meta.device, 0)
    return tensor if meta.contiguous else tensor.transpose(-1, -2)
