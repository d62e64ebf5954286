"""The workload of an operator as calls with tensors in place.

In: an operator, by class, entry name, operator name or overload. Out: for every row and dtype case
an overload with its arguments: real tensors, fake ones or meta ones, shrunk when asked.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterator, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tileops.codegen.model import Argument, Operator, Role
from tileops.manifest.language.kinds import DimKind
from tileops.manifest.language.syntax import Axes, Axis
from tileops.manifest.signature.interpret import TensorMeta
from tileops.manifest.workload.case import Case as RowCase
from tileops.manifest.workload.case import Instance
from tileops.manifest.workload.check import cases as row_cases
from tileops.manifest.workload.instantiate import generate, instantiate
from tileops.manifest.workload.shrink import shrink
from tileops.runtime.bound import Bound
from tileops.runtime.op import Op
from tileops.runtime.registry import Registry, default
from tileops.runtime.shipped import registry_of
from tileops.runtime.support import TORCH_DTYPES
from tileops.testing.call import Call
from tileops.testing.tensors import contents, random_tensor

__all__ = ["Case", "Row", "bound_of", "cases", "rows"]

Kind = Literal["real", "fake", "meta"]

#: Tensors whose names hold one of these get no negative values.
_NOT_NEGATIVE = ("var", "std", "scale")


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One call of a row: `overload(*args, **kwargs)`.

    `params` and `inputs` are the same call in the spelling of the class. `mode` is the fake mode of
    fake tensors, else None.
    """

    op: str
    label: str
    id: str
    overload: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    params: dict[str, Any]
    inputs: dict[str, Any]
    instance: Instance
    mode: FakeTensorMode | None
    unbacked: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return f"{self.op}[{self.id}]"

    def __call__(self) -> Any:
        """Makes the call."""
        with self.within():
            return self.overload(*self.args, **self.kwargs)

    def within(self) -> AbstractContextManager[Any]:
        """The context in which the tensors are used: the fake mode of fake ones."""
        return nullcontext() if self.mode is None else self.mode

    @property
    def call(self) -> Call:
        """The call as what the checks take."""
        return Call(self.overload, self.args, self.kwargs, unbacked=self.unbacked)


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One dtype case of a row, still without tensors; `out` where it passes the output buffer."""

    bound: Bound
    case: RowCase
    out: bool = False

    @property
    def op(self) -> str:
        return self.bound.header.op

    @property
    def id(self) -> str:
        return self.case.id + ("-out" if self.out else "")

    def __str__(self) -> str:
        return f"{self.op}[{self.id}]"

    @property
    def branch(self) -> tuple[Any, ...]:
        """What tells apart the rows that compile to different code: dtypes, presence, overload."""
        return (*self.case.dtypes.values(), self.overload)

    @property
    def overload(self) -> str:
        """The overload of the row's effect branch."""
        if self.out:
            return "out"
        select = self.bound.branch
        if select is None:
            return "default"
        operator = self.bound.operator
        there = {name: True for name, present in self.case.present.items() if present}
        values = arguments_of(operator, self.case, there)
        return str(select(*(values.get(name) for name in operator.infer_arguments)))

    def shrunk(self, max_elements: int) -> Row:
        """The row with smaller indices, its tensors at most `max_elements` where rules allow."""
        return replace(self, case=shrink(self.case, max_elements))

    def tensors(
        self,
        device: torch.device | str = "cpu",
        kind: Kind = "real",
        max_elements: int | None = None,
    ) -> Case:
        """The call with tensors in place."""
        row = self if max_elements is None else self.shrunk(max_elements)
        return _build(row, instantiate(row.case), torch.device(device), kind)


def rows(
    op: Any, *, registry: Registry | None = None, manifest: Path | None = None
) -> tuple[Row, ...]:
    """Every dtype case of every row of an operator, `out` variants last."""
    bound = bound_of(op, registry=registry, manifest=manifest)
    operator = bound.operator
    found = [
        Row(bound, case)
        for case in row_cases(operator.signature, operator.plan)
        if all(name in TORCH_DTYPES for name in case.dtypes.values())
    ]
    if any(overload.name == "out" for overload in bound.header.overloads):
        found += [replace(row, out=True) for row in found]
    return tuple(found)


def cases(
    op: Any,
    *,
    device: torch.device | str = "cpu",
    max_elements: int | None = None,
    kind: Kind = "real",
    registry: Registry | None = None,
    manifest: Path | None = None,
) -> Iterator[Case]:
    """Every row and dtype case of an operator as a call with tensors in place.

    `op` is a class, its name, an operator's name with or without namespace, or a torch.ops object.
    `kind` is "real" (seeded random data, generated metadata), "fake" (a FakeTensorMode of each
    case; any device, also one that is not there) or "meta". With `max_elements` rows are shrunk.
    `registry` is where to look, by default the shipped one; `manifest` a folder to register first,
    in a namespace of its own. Raises CallError when there is no such operator.
    """
    for row in rows(op, registry=registry, manifest=manifest):
        yield row.tensors(device, kind, max_elements)


def bound_of(op: Any, *, registry: Registry | None = None, manifest: Path | None = None) -> Bound:
    """The registered operator that `op` names."""
    if isinstance(op, type) and issubclass(op, Op) and registry is None and manifest is None:
        return op.bound()
    if registry is None:
        registry = default() if manifest is None else _registered(Path(manifest).resolve())
    if isinstance(op, type):
        return registry.bound(op.__name__)
    text = op if isinstance(op, str) else _qualified(op)
    operator = text.rpartition("::")[2].partition(".")[0]
    for entry in registry.entries:
        if any(name.rpartition("::")[2].partition(".")[0] == operator for name in entry.operators):
            return registry.bound(entry.name)
    return registry.bound(text)


def _qualified(op: Any) -> str:
    name = getattr(op, "_qualified_op_name", None)
    return str(name if name is not None else op.name())


@functools.cache
def _registered(folder: Path) -> Registry:
    namespace = f"tileops_testing_{zlib.crc32(str(folder).encode()):08x}"
    return registry_of(folder, namespace)


# --- building -------------------------------------------------------------------------------------


def _build(row: Row, instance: Instance, device: torch.device, kind: Kind) -> Case:
    operator = row.bound.operator
    if kind == "meta":
        device = torch.device("meta")
    mode = FakeTensorMode() if kind == "fake" else None
    generated = generate(instance) if kind == "real" else {}
    signature = operator.signature
    tensors: dict[str, torch.Tensor] = {}
    metas = {name: meta for name, meta in instance.inputs.items() if meta is not None}
    if row.out:
        output = next(item for item in operator.outputs if item.buffer)
        spec = instance.outputs[output.name]
        if spec is not None:
            metas["out"] = TensorMeta(*spec)
    for name, meta in metas.items():
        declared = signature.tensor(name)
        place = torch.device("cpu") if declared is not None and declared.decl.on_cpu else device
        if name in generated:
            tensors[name] = contents(generated[name], place)
        else:
            tensors[name] = _tensor(row, name, meta, place, mode if kind == "fake" else None)
    params = {p.name: _param(operator, row.case, p.name) for p in operator.parameters}
    depend = getattr(row.bound.op_class, "dependent_inputs", None)
    if depend is not None and kind == "real":
        tensors |= depend(tensors, params)
    values = arguments_of(operator, row.case, tensors)
    for argument in operator.arguments:
        if argument.role is Role.DEVICE:
            values[argument.name] = device
    args, kwargs = split_arguments(operator, values)
    packet = row.bound.packet()
    params |= {t.name: tensors[t.name] for t in signature.construction if t.name in tensors}
    params |= {a.name: device for a in operator.arguments if a.role is Role.DEVICE}
    inputs = {a.name: values.get(a.name) for a in operator.arguments
              if a.role is Role.INPUT or (a.role is Role.OUT and row.out)}  # fmt: skip
    return Case(
        row.op,
        row.case.label,
        row.id,
        getattr(packet, row.overload),
        args,
        kwargs,
        params,
        inputs,
        instance,
        mode,
        free_axes(row.case, tensors),
    )


def _tensor(
    row: Row, name: str, meta: TensorMeta, device: torch.device, mode: FakeTensorMode | None
) -> torch.Tensor:
    dtype = TORCH_DTYPES[meta.dtype]
    if mode is not None:
        with mode:
            return torch.empty(meta.shape, dtype=dtype, device=device)
    if device.type == "meta":
        return torch.empty(meta.shape, dtype=dtype, device=device)
    seed = zlib.crc32(f"{row.op} {row.id} {name}".encode())
    tensor = random_tensor(meta.shape, dtype, device, seed)
    if name in getattr(row.bound.op_class, "divisors", ()) and not dtype.is_floating_point:
        tensor = tensor.masked_fill_(tensor == 0, 1)
    # A variance or a scale below zero would make NaNs of everything.
    spread = dtype.is_floating_point and any(word in name for word in _NOT_NEGATIVE)
    return tensor.to(torch.float32).abs_().to(dtype) if spread else tensor


def arguments_of(operator: Operator, case: RowCase, tensors: dict[str, Any]) -> dict[str, Any]:
    """Schema arguments by name; absent tensors are None."""
    values: dict[str, Any] = {}
    for argument in operator.arguments:
        if argument.role in (Role.INPUT, Role.OUT, Role.CONSTRUCTION_TENSOR):
            values[argument.name] = tensors.get(argument.name)
        elif argument.role is Role.PARAM:
            values[argument.name] = _argument(argument, case)
    return values


def _argument(argument: Argument, case: RowCase) -> Any:
    return _torch_value(argument, argument.part_of(case.params[argument.param]))


def _torch_value(argument: Argument, value: Any) -> Any:
    if argument.type.startswith("ScalarType") and isinstance(value, str):
        return TORCH_DTYPES[value]
    if "]" in argument.type and value is not None:
        return [value] if isinstance(value, int) else list(value)
    return value


def _param(operator: Operator, case: RowCase, name: str) -> Any:
    """A parameter as the class takes it."""
    value = case.params.get(name)
    for argument in operator.arguments:
        if argument.param == name and argument.type.startswith("ScalarType"):
            return TORCH_DTYPES.get(value, value) if isinstance(value, str) else value
    return tuple(value) if isinstance(value, list) else value


def split_arguments(
    operator: Operator, values: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional inputs up to the last that is there, and keywords that are not None."""
    positional = [a for a in operator.arguments if not a.keyword_only and a.name in values]
    while positional and values[positional[-1].name] is None:
        positional.pop()
    taken = {argument.name for argument in positional}
    args = tuple(values[argument.name] for argument in positional)
    return args, {k: v for k, v in values.items() if k not in taken and v is not None}


def free_axes(case: RowCase, tensors: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    """The axes whose sizes indices alone give; sizes of one, which may broadcast, are left out.

    An index that with a parameter gives the size of another axis is as fixed as that.
    """
    free = case.indices.keys() | case.branch.solved
    shapes = {name: case.branch.shapes[name] for name in tensors if name in case.branch.shapes}
    named = [case.branch.names_of(item.expr) for axes in shapes.values() for item in axes.items]
    free = free - set().union(*(names for names in named if not names <= free))
    return tuple(
        (name, at)
        for name, axes in shapes.items()
        for at in _free(case, axes, tensors[name].dim(), free)
        if tensors[name].shape[at] > 1
    )


def _free(case: RowCase, axes: Axes, rank: int, free: Set[str]) -> Iterator[int]:
    known = len(axes.items)
    at = 0
    for item in axes.items:
        names = case.branch.names_of(item.expr)
        single = isinstance(item, Axis)
        # A shape has at most one splice whose length its expression does not tell here.
        length = 1 if single else rank - (known - 1)
        if names and names <= free:
            kinds = [case.signature.indices[name] for name in names]
            if not single or all(isinstance(kind, DimKind) for kind in kinds):
                yield from range(at, at + length)
        at += length
