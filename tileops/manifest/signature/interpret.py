"""A plan run over the facts of one call: the meaning of a signature.

In: a plan and what the caller passed (tensors as `TensorMeta`, parameters as manifest values). Out:
indices and output types, or `CallRejected` with one sentence, which `sentences` words. Generated
code makes the same checks in the same order, and asks this module for the sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tileops.manifest.language.evaluate import evaluate, evaluate_shape
from tileops.manifest.language.symbolic import DomainError
from tileops.manifest.language.syntax import Axes, Expr, Name
from tileops.manifest.signature.model import Role, Signature
from tileops.manifest.signature.parameters import check_param
from tileops.manifest.signature.sentences import CallRejected, Sentences, TensorMeta, show
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


class _Machine(Sentences):
    def __init__(self, signature: Signature, env: dict[str, Any]) -> None:
        super().__init__(signature, env)
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
        raise self.misplaced(step, wanted)

    def rule(self, step: RuleStep) -> None:
        try:
            if evaluate(step.condition, self.env) is True:
                return
        except DomainError as error:
            raise self.outside(step.subject, error) from None
        raise self.broken(step)

    def combo(self, step: ComboStep) -> None:
        have = tuple(self.env.get(name) for name in step.columns)
        columns = [at for at, value in enumerate(have) if value is not None]
        for row in step.rows:
            if all(row[at] == have[at] for at in columns):
                return
        raise self.no_row(step, have, columns)

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


__all__ = ["CallRejected", "CallTypes", "TensorMeta", "check_param", "interpret", "show"]
