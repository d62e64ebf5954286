"""What a generated function returns: output types, the preconditions of `out`, overload names."""

from __future__ import annotations

from tileops.codegen.body import Context, bare
from tileops.codegen.emit_dtypes import torch_dtype
from tileops.manifest.language.syntax import Axes, Expr
from tileops.manifest.signature.effects import EffectBranch, condition_of
from tileops.manifest.signature.steps import EmitStep


def emits(ctx: Context) -> list[EmitStep]:
    return [step for step in ctx.plan.steps if isinstance(step, EmitStep)]


def spec(ctx: Context, step: EmitStep) -> str:
    """The shape and dtype of one output, or None where it is absent."""
    text = f"({_shapes(ctx, step.shapes)}, {torch_dtype(ctx, step.dtype)})"
    guard = ctx.guard(step.guard)
    return text if guard is None else f"({text} if {guard} else None)"


def _shapes(ctx: Context, shapes: tuple[tuple[Expr | None, Axes], ...]) -> str:
    text = _shape(ctx, shapes[-1][1])
    for guard, axes in reversed(shapes[:-1]):
        condition = "True" if guard is None else bare(ctx.low.expr(guard))
        text = f"({_shape(ctx, axes)} if {condition} else {text})"
    return text


def _shape(ctx: Context, axes: Axes) -> str:
    """An output's sizes; those of an input with the same term are taken as they are."""
    for tensor in ctx.signature.inputs:
        if tensor.presence is None and tensor.shape == axes:
            return ctx.shape_of(tensor.name)
    return ctx.low.shape(axes)


def emit_buffer(ctx: Context) -> None:
    """The preconditions of `out`."""
    buffer = ctx.signature.buffer
    if buffer is None:
        return
    step = next(item for item in emits(ctx) if item.output == buffer.name)
    local = f"{ctx.prefix}out_spec"
    same = f"{ctx.low.support('same_sequence')}(out.shape, {local}[0])"
    wrong = f"{local} is None or out.dtype != {local}[1] or out.device != {ctx.device}"
    lines = [
        f"{local} = {spec(ctx, step)}",
        f"if {wrong}:\n    {ctx.reject}",
        ctx.demand(same),
    ]
    if buffer.decl.contiguous:
        lines.append(f"if not {ctx.low.support('is_contiguous')}(out):\n    {ctx.reject}")
    inner = "\n".join(lines).replace("\n", "\n    ")
    ctx.add(f"if out is not None:\n    {inner}")


def overload_lines(
    ctx: Context, branches: tuple[EffectBranch, ...], arguments: str, own: list[str]
) -> list[str]:
    """A function that names the overload a call belongs to; nothing for a single overload."""
    if len(branches) < 2:
        return []
    signature = ctx.signature
    conditions = {tensor.name: condition_of(tensor) for tensor in signature.inputs}
    nullable = {tensor.name: tensor.presence for tensor in signature.outputs}
    split = _split(branches)
    lines = []
    for branch in branches[1:]:
        parts = []
        for name, condition in conditions.items():
            if not isinstance(condition, bool):
                text = ctx.low.expr(condition)
                parts.append(text if name in branch.written else f"not {text}")
        if signature.buffer is not None:
            parts.append(f"out is {'not ' if branch.out else ''}None")
        for name in split.get((branch.written, branch.out), ()):
            presence = nullable[name]
            if presence is not None:
                text = ctx.low.expr(presence)
                parts.append(text if name in branch.returns else f"not {text}")
        lines += [f"if {' and '.join(parts)}:", f"    return {branch.name!r}"]
    return [
        "",
        "",
        f"def overload({arguments}):",
        *(f"    {line}" for line in (*own, *lines)),
        f"    return {branches[0].name!r}",
    ]


def _split(
    branches: tuple[EffectBranch, ...],
) -> dict[tuple[tuple[str, ...], bool], tuple[str, ...]]:
    """The outputs whose presence tells apart branches that write the same tensors."""
    groups: dict[tuple[tuple[str, ...], bool], list[tuple[str, ...]]] = {}
    for branch in branches:
        groups.setdefault((branch.written, branch.out), []).append(branch.returns)
    return {
        key: tuple(dict.fromkeys(name for returns in several for name in returns))
        for key, several in groups.items()
        if len(several) > 1
    }
