"""Plan -> the text of `infer`: straight-line checks that return device, output types and indices.

The planner decided the order; the emitters beside this file only spell it. Every name that is not
the manifest's begins with a prefix that no manifest name has. A failed check calls `reject` with
the local names, and the interpreter says the sentence. Where an entry has several overloads,
`overload` names the one that a call belongs to.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass

from tileops.codegen.body import Context, bare, free_prefix
from tileops.codegen.emit_dtypes import emit_combo, emit_dtype, emit_placement
from tileops.codegen.emit_outputs import emit_buffer, emits, overload_lines, spec
from tileops.codegen.emit_params import check_param, local_names, param_lines
from tileops.codegen.emit_shapes import (
    emit_axis,
    emit_rank,
    emit_splice,
    emit_unpacked,
    unpacked,
)
from tileops.codegen.lower import Lowering
from tileops.codegen.model import Argument, Role
from tileops.diagnostics.text import printable
from tileops.manifest.language.kinds import DTypeKind
from tileops.manifest.language.syntax import Name
from tileops.manifest.signature.effects import EffectBranch
from tileops.manifest.signature.model import Signature
from tileops.manifest.signature.reading import negated
from tileops.manifest.signature.steps import (
    AxisStep,
    ComboStep,
    DTypeStep,
    EmitStep,
    LetStep,
    Mode,
    ParamStep,
    PlacementStep,
    Plan,
    PresenceStep,
    RankStep,
    RuleStep,
    SpliceStep,
    Step,
)

#: Python's own names that generated text uses.
_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class InferText:
    """The module text, and the names of the index values that `infer` returns."""

    source: str
    index_names: tuple[str, ...]
    prefix: str


def infer_text(
    signature: Signature,
    plan: Plan,
    arguments: tuple[Argument, ...],
    branches: tuple[EffectBranch, ...],
    origin: str,
) -> InferText:
    """The text for one entry; `origin` names the entry's place in its first line."""
    ctx = context_of(signature, plan, arguments)
    emit_steps(ctx)
    emit_buffer(ctx)
    indices = tuple(name for name, kind in plan.indices if not isinstance(kind, DTypeKind))
    specs = "".join(f"{spec(ctx, step)}, " for step in emits(ctx)).rstrip()
    values = ", ".join(indices) + ("," if len(indices) == 1 else "")
    own = list(param_lines(ctx))
    lines = [
        *(f"{name} = None" for name in maybe_unbound(plan)),
        f"{ctx.device} = {device_text(ctx)}",
        *own,
        *ctx.body.lines,
        f"return {ctx.device}, ({specs}), ({values})",
    ]
    if ctx.low.raises:
        error = ctx.low.support("DomainError")
        lines = [
            "try:",
            *(f"    {line}" for line in lines),
            f"except {error}:",
            f"    {ctx.reject}",
        ]
    names = ", ".join(item.name for item in ctx.arguments)
    choice = overload_lines(ctx, branches, names, own)
    constants = [
        f"{name} = {ctx.low.support('dtype_set')}({dtypes!r})"
        for dtypes, name in ctx.low.sets.items()
    ]
    source = "\n".join(
        [
            f"# {signature.operator}, generated from {printable(origin)}",
            *constants,
            "",
            "",
            f"def infer({names}):",
            *(f"    {line}" for line in lines),
            *choice,
            "",
        ]
    )
    return InferText(source, indices, ctx.prefix)


def context_of(signature: Signature, plan: Plan, arguments: tuple[Argument, ...]) -> Context:
    """The state that the emitters of one entry share."""
    names = {argument.name: argument for argument in arguments}
    prefix = free_prefix(signature, names)
    hidden = frozenset(
        {*signature.kinds, *names, *(tensor.name for tensor in signature.tensors)} & _BUILTINS
    )
    low = Lowering(prefix, signature.kinds, local_names(signature, prefix), hidden)
    own = [item for item in arguments if item.role is not Role.TARGET]
    return Context(signature, plan, own, low, leaders(signature))


def leaders(signature: Signature) -> list[str]:
    """The inputs that may decide the call device: up to the first required one."""
    result = []
    for tensor in signature.inputs:
        if tensor.decl.on_cpu:
            continue
        result.append(tensor.name)
        if tensor.presence is None:
            break
    return result


def device_text(ctx: Context) -> str:
    """The call device; None where neither an input nor an argument decides it."""
    if not ctx.leader:
        return _device_without_inputs(ctx)
    last = ctx.leader[-1]
    text = f"{last}.device"
    if ctx.presence_guard(last) is not None:
        text = f"(None if {last} is None else {text})"
    for name in reversed(ctx.leader[:-1]):
        text = f"({name}.device if {name} is not None else {text})"
    return bare(text)


def _device_without_inputs(ctx: Context) -> str:
    """The device argument where it is given, else that of the construction-time tensors."""
    text = "None"
    for tensor in reversed(ctx.signature.construction):
        if tensor.presence is None:
            text = f"{tensor.name}.device"
        else:
            text = f"({tensor.name}.device if {tensor.name} is not None else {text})"
    if any(item.role is Role.DEVICE for item in ctx.arguments):
        text = "device" if text == "None" else f"(device if device is not None else {text})"
    return bare(text)


def maybe_unbound(plan: Plan) -> list[str]:
    """Names that some branch leaves unbound and that later text reads."""
    always: set[str] = set()
    some: dict[str, None] = {}
    for step in plan.steps:
        name = _bound(step)
        if name is None:
            continue
        certain = getattr(step, "mode", Mode.BIND) is Mode.BIND
        if getattr(step, "guard", None) is None and certain:
            always.add(name)
        else:
            some[name] = None
    return [name for name in some if name not in always]


def _bound(step: Step) -> str | None:
    match step:
        case AxisStep(index=index) | SpliceStep(index=index):
            return index
        case DTypeStep(expr=Name(id=name), names=names) if names:
            return name
        case LetStep(name=name):
            return name
        case _:
            return None


def emit_steps(ctx: Context) -> None:
    """Every step in order; the axes of one tensor are taken together."""
    steps = ctx.plan.steps
    at = 0
    while at < len(steps):
        run = unpacked(steps, at)
        if len(run) > 1 and _whole(ctx, run):
            emit_unpacked(ctx, run)
            at += len(run)
        else:
            emit_step(ctx, steps[at])
            at += 1


def _whole(ctx: Context, run: list[AxisStep]) -> bool:
    """Whether a run of axes is all that the tensor has under its guard."""
    return any(
        isinstance(step, RankStep)
        and step.tensor == run[0].tensor
        and step.guard in (None, run[0].guard, ctx.presence_guard(step.tensor))
        and step.open is None
        and not step.splices
        and step.count == len(run)
        for step in ctx.plan.steps
    )


def emit_step(ctx: Context, step: Step) -> None:
    match step:
        case ParamStep(param=name):
            check_param(ctx, name)
        case PresenceStep(tensor=tensor, condition=condition):
            if condition is not None:
                ctx.fail_if(f"({tensor} is not None) is not {ctx.low.expr(condition)}")
        case RuleStep():
            emit_rule(ctx, step)
        case RankStep():
            emit_rank(ctx, step)
        case DTypeStep():
            emit_dtype(ctx, step)
        case PlacementStep():
            emit_placement(ctx, step)
        case AxisStep():
            emit_axis(ctx, step)
        case SpliceStep():
            emit_splice(ctx, step)
        case LetStep(name=name, expr=expr, guard=guard):
            ctx.add(f"{name} = {bare(ctx.low.expr(expr))}", guard)
        case ComboStep():
            emit_combo(ctx, step)
        case EmitStep():
            pass


def emit_rule(ctx: Context, step: RuleStep) -> None:
    """A condition of the signature; `implied` ones follow from the checks of sizes."""
    if step.implied:
        return
    if ctx.low.is_static(step.condition):
        ctx.fail_if(bare(ctx.low.expr(negated(step.condition))), step.guard)
    else:
        ctx.require(ctx.low.expr(step.condition), step.guard)
