"""A plan run over the facts of one call: the meaning of a signature, and every sentence it says.

In: a plan and what the caller passed (tensors as `TensorMeta`, parameters as manifest values). Out:
indices and output types, or `CallRejected` with one sentence: subject, must, got, what is known.
Generated code makes the same checks in the same order, and asks this module for the sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tileops.manifest.language.evaluate import evaluate, evaluate_shape
from tileops.manifest.language.symbolic import DomainError
from tileops.manifest.language.syntax import Axes, Expr, Literal, Name, names_in
from tileops.manifest.language.types import WordType, alternatives
from tileops.manifest.signature.model import Param, Role, Signature
from tileops.manifest.signature.steps import (
    AxisStep,
    ComboStep,
    DTypeStep,
    EmitStep,
    LetStep,
    ParamStep,
    Place,
    PlacementStep,
    Plan,
    PresenceStep,
    RankStep,
    RuleStep,
    SpliceStep,
    Step,
)
from tileops.manifest.values import adt_value, convert


@dataclass(frozen=True, slots=True)
class TensorMeta:
    """What a plan sees of a tensor: sizes, dtype name, device, and whether it is contiguous."""

    shape: tuple[int, ...]
    dtype: str
    device: str = "cpu"
    contiguous: bool = True


class CallRejected(ValueError):
    """A call that the signature refuses, in one sentence; `step` is the one that refused it."""

    step: Step | None = None


@dataclass(slots=True)
class CallTypes:
    """What a call determines: index values, and per output its sizes and dtype (None: absent).

    `device` is None where no call-time tensor decides it.
    """

    indices: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, tuple[tuple[int, ...], str] | None] = field(default_factory=dict)
    device: str | None = None


def interpret(
    signature: Signature,
    plan: Plan,
    arguments: Mapping[str, Any],
    *,
    construction_only: bool = False,
) -> CallTypes:
    """Runs the plan. `arguments` holds every parameter, and a `TensorMeta` or None per tensor.

    Raises `CallRejected`.
    """
    machine = _Machine(signature, dict(arguments))
    for step in plan.steps:
        if construction_only and not step.construction:
            continue
        try:
            machine.run(step)
        except CallRejected as error:
            error.step = step
            raise
    if not construction_only:
        machine.check_buffer()
    names = {name for name, _ in plan.indices}
    machine.result.indices = {name: value for name, value in machine.env.items() if name in names}
    machine.result.device = machine.device
    return machine.result


class _Machine:
    def __init__(self, signature: Signature, env: dict[str, Any]) -> None:
        self.signature = signature
        self.env = env
        self.result = CallTypes()
        self.leader = next(
            (
                tensor.name
                for tensor in signature.inputs
                if not tensor.decl.on_cpu and env.get(tensor.name) is not None
            ),
            None,
        )
        self.device: str | None = None if self.leader is None else env[self.leader].device

    # --- sentences ----------------------------------------------------------------------------

    def reject(self, sentence: str, known: str = "") -> CallRejected:
        ending = f" ({known})" if known else ""
        return CallRejected(f"{self.signature.operator}: {sentence}{ending}")

    def outside(self, what: str, error: DomainError) -> CallRejected:
        return self.reject(f"{what}: {error}", self.values(names_in_text(what, self.env)))

    def shapes(self) -> str:
        parts = [
            f"{name}: {list(value.shape)}"
            for name, value in self.env.items()
            if isinstance(value, TensorMeta)
        ]
        return ", ".join(parts[:6])

    def values(self, names: list[str]) -> str:
        parts = [
            f"{name}={show(self.env[name])}"
            for name in names
            if name in self.env and not isinstance(self.env[name], TensorMeta)
        ]
        return ", ".join(parts)

    def shown(self, expr: Expr, value: Any) -> str:
        """An expected value as `expression = value`, or just the value of a literal."""
        return show(value) if isinstance(expr, Literal) else f"{expr} = {show(value)}"

    # --- steps --------------------------------------------------------------------------------

    def holds(self, guard: Expr | None) -> bool:
        return guard is None or evaluate(guard, self.env) is True

    def run(self, step: Step) -> None:
        match step:
            case ParamStep(param=name):
                self.param(name)
            case PresenceStep():
                self.presence(step)
            case ComboStep():
                self.combo(step)
            case EmitStep():
                self.emit(step)
            case _ if not self.holds(step.guard):
                if isinstance(step, LetStep):
                    self.env.setdefault(step.name, None)
            case RuleStep():
                self.rule(step)
            case RankStep():
                self.rank(step)
            case DTypeStep():
                self.dtype(step)
            case PlacementStep():
                self.placement(step)
            case AxisStep():
                self.axis(step)
            case SpliceStep():
                self.splice(step)
            case LetStep(name=name, expr=expr):
                try:
                    self.env[name] = evaluate(expr, self.env)
                except DomainError as error:
                    raise self.outside(f"let {name} = {expr}", error) from None

    def param(self, name: str) -> None:
        param = self.signature.param(name)
        assert param is not None
        if name not in self.env:
            raise self.reject(f"{name} must be given, it has no default")
        message = check_param(param, self.env[name], self.signature)
        if message is not None:
            raise self.reject(f"{name} {message}")

    def presence(self, step: PresenceStep) -> None:
        passed = self.env.get(step.tensor) is not None
        if step.condition is None:
            if not passed:
                raise self.reject(f"{step.tensor} must be passed, got None")
            return
        wanted = evaluate(step.condition, self.env) is True
        if passed is wanted:
            return
        names = sorted(name for name in names_in(step.condition) if name in self.env)
        known = ", ".join(
            f"{name} is {'passed' if self.env[name] is not None else 'absent'}"
            if isinstance(self.env[name], TensorMeta) or self.signature.tensor(name)
            else f"{name}={show(self.env[name])}"
            for name in names
        )
        must = "be passed" if wanted else "be absent"
        when = "because" if wanted else "unless"
        got = "None" if wanted else "a tensor"
        raise self.reject(f"{step.tensor} must {must} {when} {step.condition}, got {got}", known)

    def rule(self, step: RuleStep) -> None:
        try:
            if evaluate(step.condition, self.env) is True:
                return
        except DomainError as error:
            raise self.outside(step.subject, error) from None
        if step.kind == "obligation":
            source = step.subject.rpartition(" of ")[0]
            values = self.values(sorted(names_in(step.condition)))
            raise self.reject(f"{step.subject} must not be negative, got {values or source}")
        names = sorted(names_in(step.condition))
        lets = {let.name: let for let in self.signature.lets}
        inner = sorted({n for name in names if name in lets for n in names_in(lets[name].expr)})
        absent = [
            name
            for name in names
            if self.signature.tensor(name) is not None and self.env.get(name) is None
        ]
        got = ", ".join(filter(None, (self.values(names), *(f"{name} absent" for name in absent))))
        known = self.values([name for name in inner if name not in names])
        raise self.reject(f"{step.subject} must hold, got {got}", known)

    def combo(self, step: ComboStep) -> None:
        have = tuple(self.env.get(name) for name in step.columns)
        columns = [at for at, value in enumerate(have) if value is not None]
        for row in step.rows:
            if all(row[at] == have[at] for at in columns):
                return
        names = ", ".join(step.columns[at] for at in columns)
        rows = " or ".join(
            f"({', '.join(row[at] for at in columns)})" for row in dict.fromkeys(step.rows)
        )
        raise self.reject(
            f"({names}) must be {rows}, got ({', '.join(str(have[at]) for at in columns)})"
        )

    def rank(self, step: RankStep) -> None:
        tensor = self.env[step.tensor]
        declared = self.signature.tensor(step.tensor)
        try:
            least = step.count + sum(len(evaluate(item, self.env)) for item in step.splices)
        except DomainError as error:
            spliced = " and ".join(map(str, step.splices))
            raise self.outside(f"{step.tensor} axes {spliced}", error) from None
        open_ = step.open is not None and self.env.get(step.open) is None
        if step.open is not None and not open_:
            least += len(self.env[step.open])
        rank = len(tensor.shape)
        if rank == least or (open_ and rank > least):
            return
        axes = "at least " if open_ else ""
        plural = "axis" if least == 1 else "axes"
        term = "" if declared is None else f", {declared.shape}"
        raise self.reject(
            f"{step.tensor} must have {axes}{least} {plural}{term}, got {rank}", self.shapes()
        )

    def dtype(self, step: DTypeStep) -> None:
        dtype = self.env[step.tensor].dtype
        if step.names and isinstance(step.expr, Name) and self.env.get(step.expr.id) is None:
            if dtype not in step.names:
                raise self.reject(
                    f"{step.tensor} dtype must be {' or '.join(step.names)}, got {dtype}"
                )
            self.env[step.expr.id] = dtype
            return
        try:
            wanted = evaluate(step.expr, self.env)
        except DomainError as error:
            raise self.outside(f"dtype of {step.tensor} {step.expr}", error) from None
        if dtype != wanted:
            raise self.reject(
                f"{step.tensor} dtype must be {self.shown(step.expr, wanted)}, got {dtype}"
            )

    def placement(self, step: PlacementStep) -> None:
        tensor = self.env[step.tensor]
        declared = self.signature.tensor(step.tensor)
        if step.on_cpu and tensor.device != "cpu":
            raise self.reject(f"{step.tensor} must be on cpu, got {tensor.device}")
        call_time = declared is not None and declared.role is Role.INPUT
        if call_time and not step.on_cpu and tensor.device != self.device:
            raise self.reject(
                f"{step.tensor} must be on {self.device} as {self.leader} is, got {tensor.device}"
            )
        if step.contiguous and not tensor.contiguous:
            raise self.reject(
                f"{step.tensor} must be contiguous, got a tensor with gaps or permuted axes",
                f"{step.tensor}: {list(tensor.shape)}",
            )

    def axis(self, step: AxisStep) -> None:
        tensor = self.env[step.tensor]
        at = self.position(step.place, len(tensor.shape))
        size = tensor.shape[at]
        try:
            if step.index is not None and self.env.get(step.index) is None:
                self.solve(step, at, size)
                return
            wanted = evaluate(step.expr, self.env)
        except DomainError as error:
            raise self.outside(f"{step.tensor} axis {at} {step.expr}", error) from None
        if size != wanted:
            raise self.reject(
                f"{step.tensor} axis {at} must be {self.shown(step.expr, wanted)}, got {size}",
                self.shapes(),
            )

    def solve(self, step: AxisStep, at: int, size: int) -> None:
        assert step.index is not None
        offset = 0 if step.offset is None else evaluate(step.offset, self.env)
        value, rest = divmod(size - offset, step.scale)
        if rest:
            raise self.reject(
                f"{step.tensor} axis {at} must be {step.expr}, got {size}, which no integer"
                f" {step.index} gives",
                self.shapes(),
            )
        if value < 0:
            raise self.reject(
                f"{step.tensor} axis {at} must be {step.expr}, got {size}, which a negative"
                f" {step.index} = {value} gives",
                self.shapes(),
            )
        self.env[step.index] = value

    def splice(self, step: SpliceStep) -> None:
        tensor = self.env[step.tensor]
        rank = len(tensor.shape)
        if step.index is not None and self.env.get(step.index) is None:
            assert step.before is not None and step.after is not None
            start = self.position(step.before, rank)
            self.env[step.index] = tuple(tensor.shape[start : self.position(step.after, rank) + 1])
            return
        try:
            wanted = tuple(evaluate(step.expr, self.env))
        except DomainError as error:
            raise self.outside(f"{step.tensor} axes {step.expr}", error) from None
        if step.before is not None:
            start = self.position(step.before, rank)
        else:
            assert step.after is not None
            start = self.position(step.after, rank) + 1 - len(wanted)
        sizes = tensor.shape[start : start + len(wanted)]
        for offset, (size, expected) in enumerate(zip(sizes, wanted, strict=True)):
            if size != expected:
                raise self.reject(
                    f"{step.tensor} axis {start + offset} must be {step.expr}[{offset}] ="
                    f" {expected}, got {size}",
                    self.shapes(),
                )

    def position(self, place: Place, rank: int) -> int:
        count = place.count + sum(len(evaluate(item, self.env)) for item in place.splices)
        return rank - 1 - count if place.back else count

    def emit(self, step: EmitStep) -> None:
        if not self.holds(step.guard):
            self.result.outputs[step.output] = None
            return
        axes = self.chosen(step.shapes)
        try:
            shape = evaluate_shape(axes, self.env)
            dtype = evaluate(step.dtype, self.env)
        except DomainError as error:
            raise self.outside(f"{step.output} {axes}", error) from None
        self.result.outputs[step.output] = (shape, dtype)

    def chosen(self, shapes: tuple[tuple[Expr | None, Axes], ...]) -> Axes:
        return next(axes for guard, axes in shapes if self.holds(guard))

    def check_buffer(self) -> None:
        buffer, out = self.signature.buffer, self.env.get("out")
        if buffer is None or out is None:
            return
        spec = self.result.outputs[buffer.name]
        if spec is None:
            raise self.reject(
                f"out must be absent, {buffer.name} is None in this call, got a tensor"
            )
        shape, dtype = spec
        if out.shape != shape:
            raise self.reject(
                f"out must have the shape {list(shape)} of {buffer.name}, got {list(out.shape)}"
            )
        if out.dtype != dtype:
            raise self.reject(f"out dtype must be {dtype} as {buffer.name} has, got {out.dtype}")
        if self.device is not None and out.device != self.device:
            raise self.reject(f"out must be on {self.device} as {self.leader} is, got {out.device}")
        if buffer.decl.contiguous and not out.contiguous:
            raise self.reject("out must be contiguous, got a tensor with gaps or permuted axes")


def names_in_text(text: str, env: Mapping[str, Any]) -> list[str]:
    words = set(text.replace("(", " ").replace(")", " ").replace(",", " ").split())
    return sorted(name for name in words if name in env)


def show(value: Any) -> str:
    """A value as a sentence writes it."""
    if isinstance(value, tuple):
        return str(list(value))
    return repr(value) if isinstance(value, str) and not value.isidentifier() else str(value)


_OBJECTS = frozenset({"int", "bool", "float", "complex", "Number", "str", "dict", "None"})


def check_param(param: Param, value: Any, signature: Signature) -> str | None:
    """What is wrong with a parameter's value, as "must ..., got ...", or None."""
    for member in alternatives(param.type):
        if isinstance(member, WordType) and member.word not in _OBJECTS | {"torch.dtype"}:
            return None
    adt = getattr(param.kind, "name", "")
    try:
        plain = value is None or isinstance(value, str | int | float | list | tuple)
        if adt in signature.adts and not plain:
            adt_value(value, signature.adts[adt])
            return None
        convert(value, param.type, signature.adts)
    except ValueError as error:
        return str(error)
    return None


__all__ = [
    "CallRejected",
    "CallTypes",
    "TensorMeta",
    "check_param",
    "interpret",
    "show",
]
