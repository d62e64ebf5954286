"""Ranks, axes and runs of axes in a generated function."""

from __future__ import annotations

from collections.abc import Sequence

from tileops.codegen.body import Context, indented
from tileops.manifest.language.syntax import Expr, Literal
from tileops.manifest.signature.steps import AxisStep, Mode, Place, RankStep, SpliceStep, Step


def count(ctx: Context, number: int, splices: tuple[Expr, ...]) -> str:
    """A number of axes: a constant and the lengths of splices."""
    parts = [f"{ctx.low.builtin('len')}({ctx.low.expr(item)})" for item in splices]
    if number or not parts:
        parts.append(str(number))
    return " + ".join(parts)


def emit_rank(ctx: Context, step: RankStep) -> None:
    """The number of axes; the first mention of a tensor takes its shape."""
    shape = ctx.shape_of(step.tensor)
    if step.tensor not in ctx.shaped:
        ctx.shaped.add(step.tensor)
        # Slices of a plain tuple cost a third of those of a torch.Size.
        sizes = f"{step.tensor}.shape"
        sizes = f"(*{sizes},)" if _sliced(ctx, step.tensor) else sizes
        ctx.add(f"{shape} = {sizes}", ctx.presence_guard(step.tensor))
    length = f"{ctx.low.builtin('len')}({shape})"
    least = count(ctx, step.count, step.splices)
    if step.open is None:
        ctx.fail_if(f"{length} != {least}", step.guard)
    elif step.mode is Mode.BIND:
        if least != "0":
            ctx.fail_if(f"{length} < {least}", step.guard)
    else:
        known = f"{length} != {least} + {ctx.low.builtin('len')}({step.open})"
        ctx.fail_if(f"{length} < {least} if {step.open} is None else {known}", step.guard)


def _sliced(ctx: Context, tensor: str) -> bool:
    return any(
        isinstance(step, SpliceStep) and step.tensor == tensor and not step.alone
        for step in ctx.plan.steps
    )


def unpacked(steps: Sequence[Step], at: int) -> list[AxisStep]:
    """The axis steps from `at` on that take every axis of one tensor, in order."""
    first = steps[at]
    run: list[AxisStep] = []
    for step in steps[at:]:
        if not isinstance(step, AxisStep) or not isinstance(first, AxisStep):
            break
        same = step.tensor == first.tensor and step.guard == first.guard
        if not same or step.place != Place(len(run), (), False):
            break
        run.append(step)
    return run


def emit_unpacked(ctx: Context, run: list[AxisStep]) -> None:
    """All axes of a tensor at once, then what is to be checked of them."""
    targets = []
    rest: list[tuple[AxisStep, str]] = []
    for at, step in enumerate(run):
        if step.index is not None and step.mode is Mode.BIND and _plain(step):
            targets.append(step.index)
        else:
            name = f"{ctx.prefix}{at}"
            targets.append(name)
            rest.append((step, name))
    left = ", ".join(targets) + ("," if len(targets) == 1 else "")
    ctx.add(f"{left} = {ctx.shape_of(run[0].tensor)}", run[0].guard)
    for step, name in rest:
        emit_axis(ctx, step, name)


def _plain(step: AxisStep) -> bool:
    return step.scale == 1 and step.offset is None


def emit_axis(ctx: Context, step: AxisStep, size: str = "") -> None:
    """One axis, solved or compared; `size` spells it where it was unpacked."""
    size = size or f"{ctx.shape_of(step.tensor)}[{index(ctx, step.place)}]"
    if step.index is None:
        ctx.require(f"({size} == {ctx.low.expr(step.expr)})", step.guard)
        return
    lines = _solution(ctx, step, size)
    if step.mode is Mode.EITHER:
        solve = indented("\n".join(lines))
        check = indented(ctx.demand(f"({size} == {ctx.low.expr(step.expr)})"))
        ctx.add(f"if {step.index} is None:\n{solve}\nelse:\n{check}", step.guard)
        return
    for line in lines:
        ctx.add(line, step.guard)


def _solution(ctx: Context, step: AxisStep, size: str) -> list[str]:
    if _plain(step):
        return [f"{step.index} = {size}"]
    rest = size
    if step.offset is not None:
        rest = f"({size} - {ctx.low.expr(step.offset)})"
    lines = []
    if step.scale != 1:
        lines.append(ctx.demand(f"{rest} % {step.scale} == 0"))
        rest = f"{rest} // {step.scale}"
    lines.append(f"{step.index} = {rest[1:-1] if step.scale == 1 else rest}")
    if not _never_negative(step):
        lines.append(ctx.demand(f"{step.index} >= 0"))
    return lines


def _never_negative(step: AxisStep) -> bool:
    return step.offset is None or (
        isinstance(step.offset, Literal)
        and isinstance(step.offset.value, int)
        and step.offset.value <= 0
    )


def index(ctx: Context, place: Place) -> str:
    """The subscript of an axis."""
    if not place.back:
        return count(ctx, place.count, place.splices)
    lengths = "".join(
        f" - {ctx.low.builtin('len')}({ctx.low.expr(item)})" for item in place.splices
    )
    return f"-{place.count + 1}{lengths}"


def emit_splice(ctx: Context, step: SpliceStep) -> None:
    """A run of axes, bound or compared."""
    run = _run_of(ctx, step)
    check = f"{ctx.low.support('same_sequence')}({run}, {ctx.low.expr(step.expr)})"
    if step.mode is Mode.CHECK:
        ctx.require(check, step.guard)
    elif step.mode is Mode.BIND:
        ctx.add(f"{step.index} = {run}", step.guard)
    else:
        ctx.add(
            f"if {step.index} is None:\n    {step.index} = {run}\n"
            f"else:\n{indented(ctx.demand(check))}",
            step.guard,
        )


def _run_of(ctx: Context, step: SpliceStep) -> str:
    shape = ctx.shape_of(step.tensor)
    if step.alone:
        return shape
    length = ctx.low.builtin("len")
    run = f"{length}({ctx.low.expr(step.expr)})"
    start = "" if step.before is None else _start(ctx, step.before)
    if step.after is None:
        stop = f"{start} + {run}" if start else run
    else:
        stop = _stop(ctx, step.after, shape)
    if step.before is None:
        start = f"{stop or f'{length}({shape})'} - {run}"
    return shape if not start and not stop else f"{shape}[{start}:{stop}]"


def _start(ctx: Context, place: Place) -> str:
    return index(ctx, place) if place.count or place.splices else ""


def _stop(ctx: Context, place: Place, shape: str) -> str:
    """The end of a slice whose last axis stands at `place`, counted from the back."""
    if not place.splices:
        return f"-{place.count}" if place.count else ""
    length = ctx.low.builtin("len")
    return f"{length}({shape}) - ({count(ctx, place.count, place.splices)})"
