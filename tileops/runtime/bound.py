"""One registered operator: its header at once, everything else on first use.

In: a header and where to find operator, generated functions and class. Out: the facts that
adapters, dispatch, autograd and the class share. Nothing here is built while a package is imported.
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from tileops.codegen.model import Header, Operator, OverloadHeader, Role
from tileops.runtime.errors import CallError

if TYPE_CHECKING:
    from tileops.manifest.workload.branch import Workload

# The values of torch's ScalarType, which is how a parsed schema shows the default of a dtype.
_SCALAR_TYPES = {
    0: torch.uint8, 1: torch.int8, 2: torch.int16, 3: torch.int32, 4: torch.int64,
    5: torch.float16, 6: torch.float32, 7: torch.float64, 9: torch.complex64,
    10: torch.complex128, 11: torch.bool, 15: torch.bfloat16, 23: torch.float8_e5m2,
    24: torch.float8_e4m3fn, 25: torch.float8_e5m2fnuz, 26: torch.float8_e4m3fnuz,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SchemaArgument:
    """One argument of one overload; `default` counts only where `required` is False."""

    name: str
    role: Role
    type: str
    keyword_only: bool
    required: bool
    default: Any

    @property
    def is_tensor(self) -> bool:
        """Whether the argument carries a tensor or None."""
        return self.type in ("Tensor", "Tensor?")


@dataclass(frozen=True, slots=True)
class Keyword:
    """One keyword of an implementation: the argument at a position, or made of several."""

    name: str
    positions: tuple[int, ...]
    gather: Callable[..., Any] | None = None

    def of(self, args: Sequence[Any]) -> Any:
        """The value, given all arguments in schema order."""
        if self.gather is None:
            return args[self.positions[0]]
        return self.gather(*(args[position] for position in self.positions))


@dataclass(frozen=True, slots=True)
class Split:
    """Which arguments an implementation gets: positions of those in order, and those by keyword."""

    positional: tuple[int, ...]
    keywords: tuple[Keyword, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """What the generated functions of one overload are spelled from.

    `bound_outputs` gives per output the argument that it is, or "" where the overload returns it or
    where it is absent; `returned` the positions of the outputs that the overload returns;
    `unbound` the written inputs that no output is; `infinite` the defaults that no schema carries;
    `spread` the parameters that several arguments carry, or none; `on_device` whether a
    construction-time tensor follows the call device, `leaders` the inputs that give it.
    """

    overload: OverloadHeader
    arguments: tuple[SchemaArgument, ...]
    inferred: tuple[str, ...]
    returned: tuple[int, ...]
    bound_outputs: tuple[str, ...]
    unbound: tuple[str, ...]
    infinite: Mapping[str, float]
    spread: Mapping[str, tuple[tuple[str, ...], Callable[..., Any]]]
    on_device: Mapping[str, bool]
    leaders: tuple[str, ...]

    @property
    def tensors(self) -> tuple[str, ...]:
        """Every argument that carries a tensor."""
        return tuple(a.name for a in self.arguments if a.is_tensor)

    def split(self) -> Split:
        """How reference and launchers are called: inputs in manifest order, all else by keyword.

        An output buffer is left out, since a launcher gets it as the output that it is, and so is
        the target.
        """
        positional: list[int] = []
        keywords: list[Keyword] = []
        places = {argument.name: at for at, argument in enumerate(self.arguments)}
        parts = {name for names, _ in self.spread.values() for name in names}
        for position, argument in enumerate(self.arguments):
            buffer = argument.name == "out" and "out" in self.bound_outputs
            if buffer or argument.role in (Role.OUT, Role.TARGET):
                continue
            if argument.role is Role.INPUT and not argument.keyword_only:
                positional.append(position)
            elif argument.name not in parts:
                keywords.append(Keyword(argument.name, (position,)))
        for name, (names, gather) in self.spread.items():
            keywords.append(Keyword(name, tuple(places[part] for part in names), gather))
        return Split(tuple(positional), tuple(keywords))

    def keyword_tensors(self) -> tuple[str, ...]:
        """The tensors that launchers get by keyword, present or not, in the order of the split."""
        at = [k.positions[0] for k in self.split().keywords if k.gather is None]
        return tuple(self.arguments[i].name for i in at if self.arguments[i].is_tensor)

    @property
    def held(self) -> tuple[str, ...]:
        """The construction-time tensors."""
        return tuple(a.name for a in self.arguments if a.role is Role.CONSTRUCTION_TENSOR)

    @property
    def decided(self) -> bool:
        """Whether an input always gives the call device."""
        return any(a.type == "Tensor" and a.name in self.leaders for a in self.arguments)

    @property
    def placed(self) -> bool:
        """Whether no argument may give the call device, so that the reference is told it."""
        return not self.decided and not self.device

    @property
    def device(self) -> str:
        """The device parameter of an operator without tensor inputs, or ""."""
        return next((a.name for a in self.arguments if a.role is Role.DEVICE), "")


class Bound:
    """An operator of a registry, with its parts built on first use under one lock."""

    def __init__(
        self,
        header: Header,
        namespace: str,
        load: Callable[[], Operator],
        compile_operator: Callable[[Operator], Mapping[str, Any]] | None,
        find_class: Callable[[], type | None],
    ) -> None:
        self.header = header
        self.namespace = namespace
        self._load = load
        self._compile = compile_operator
        self._find_class = find_class
        self._lock = threading.RLock()
        self._operator: Operator | None = None
        self._functions: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        return f"<operator {self.namespace}::{self.header.operator}>"

    @property
    def operator(self) -> Operator:
        """Arguments, outputs and generated text."""
        if self._operator is None:
            with self._lock:
                if self._operator is None:
                    self._operator = self._load()
        return self._operator

    @property
    def functions(self) -> Mapping[str, Any]:
        """The generated functions: "infer", and "construct" and "overload" where there are any."""
        if self._functions is None:
            with self._lock:
                if self._functions is None:
                    compile_operator = self._compile or _default_compiler()
                    self._functions = compile_operator(self.operator)
        return self._functions

    @functools.cached_property
    def branch(self) -> Callable[..., str] | None:
        """The function of `infer`'s arguments that names the overload of a call.

        None where the arguments alone tell: one overload, or `default` beside `out`.
        """
        if {item.name for item in self.header.overloads} <= {"default", "out"}:
            return None
        written = self.functions.get("overload")
        if written is not None:
            return written  # type: ignore[no-any-return]
        from tileops.runtime import branches

        return branches.selector(self.operator)

    @functools.cached_property
    def workload(self) -> Workload:
        """The entry with its metadata tensors and cost model read."""
        from tileops.diagnostics.model import Findings
        from tileops.manifest.workload.check import read_workload

        return read_workload(self.operator.signature, self.operator.plan, Findings())

    @property
    def op_class(self) -> type | None:
        """The Python class of the entry, or None when it has no code."""
        return self._find_class()

    def packet(self) -> Any:
        """torch.ops.<namespace>.<operator>."""
        return getattr(getattr(torch.ops, self.namespace), self.header.operator)

    def layout(self, overload: OverloadHeader, schema: str) -> Layout:
        """Reads one overload's arguments from its schema and the operator."""
        # Needs the manifest language, which an import does without.
        from tileops.runtime import spread

        known = {a.name: a for a in self.operator.arguments}
        parsed = torch._C.parse_schema(f"{self.namespace}::{schema}")
        arguments = []
        for item in parsed.arguments:
            argument = known[item.name]
            default = item.default_value
            if argument.type.startswith("ScalarType") and default is not None:
                default = _SCALAR_TYPES[default]
            arguments.append(
                SchemaArgument(
                    name=item.name,
                    role=argument.role,
                    type="Tensor" if item.name in overload.written else argument.type,
                    keyword_only=item.kwarg_only,
                    required=not item.has_default_value(),
                    default=default,
                )
            )
        names = {a.name for a in arguments}
        inferred = tuple(
            a.name if a.name in names else ""
            for a in self.operator.arguments
            if a.role is not Role.TARGET
        )
        return Layout(
            overload,
            tuple(arguments),
            inferred,
            *self._effects(overload),
            self._infinite(),
            spread.gatherers(self.operator),
            self._on_device(),
            self._leaders(),
        )

    def _on_device(self) -> dict[str, bool]:
        signature = self.operator.signature
        tensors = () if signature is None else signature.construction
        return {tensor.name: not tensor.decl.on_cpu for tensor in tensors}

    def _leaders(self) -> tuple[str, ...]:
        signature = self.operator.signature
        tensors = () if signature is None else signature.inputs
        elsewhere = {tensor.name for tensor in tensors if tensor.decl.on_cpu}
        return tuple(
            a.name
            for a in self.operator.arguments
            if a.role is Role.INPUT and a.name not in elsewhere
        )

    def _infinite(self) -> dict[str, float]:
        """The defaults that a schema cannot carry, by argument: its `None` stands for them."""
        found = {}
        for parameter in self.operator.parameters:
            text = (parameter.default or "").replace("'", '"')
            if text.startswith('float("'):
                found[parameter.name] = float(text.removeprefix('float("').removesuffix('")'))
        return found

    def _effects(
        self, overload: OverloadHeader
    ) -> tuple[tuple[int, ...], tuple[str, ...], tuple[str, ...]]:
        out = next((a.name for a in self.operator.arguments if a.role is Role.OUT), "out")
        returned: list[int] = []
        bound: list[str] = []
        for position, output in enumerate(self.operator.outputs):
            target = ""
            if output.name in overload.returns:
                returned.append(position)
            elif output.buffer and out in overload.written:
                target = out
            elif output.alias in overload.written:
                target = output.alias
            bound.append(target)
        unbound = tuple(name for name in overload.written if name not in bound)
        return tuple(returned), tuple(bound), unbound

    def implementation(self, composite: bool = False) -> type:
        """The class, for its implementations; CallError when the entry is spec-only."""
        found = self.op_class
        if found is None or (not composite and getattr(found, "reference", None) is None):
            raise CallError(
                f"{self.header.operator}: {self.header.op} is spec-only: it is declared, has a "
                "schema and a fake, but no implementation"
            )
        return found


def _default_compiler() -> Callable[[Operator], Mapping[str, Any]]:
    module = importlib.import_module("tileops.runtime.compile")
    return module.compile_operator  # type: ignore[no-any-return]
