"""Dtypes, devices and layouts in a generated function."""

from __future__ import annotations

from tileops.codegen.body import Context
from tileops.manifest.language.kinds import MaybeKind
from tileops.manifest.language.syntax import Expr, Literal, Name, names_in
from tileops.manifest.signature.model import Role
from tileops.manifest.signature.steps import (
    AxisStep,
    ComboStep,
    DTypeStep,
    EmitStep,
    LetStep,
    Mode,
    PlacementStep,
    RuleStep,
    SpliceStep,
)


def emit_dtype(ctx: Context, step: DTypeStep) -> None:
    """Binds a DType index, or compares a tensor's dtype."""
    own, expr = f"{step.tensor}.dtype", step.expr
    if step.names:
        assert isinstance(expr, Name)
        _bind(ctx, step, expr.id, own)
    elif isinstance(expr, Literal) or (isinstance(expr, Name) and expr.id in ctx.dtype_of):
        ctx.fail_if(f"{own} != {torch_dtype(ctx, expr)}", step.guard)
    else:
        names = ctx.low.support("dtype_names")
        ctx.fail_if(f"{names}.get({own}) != {ctx.low.expr(expr)}", step.guard)


def _bind(ctx: Context, step: DTypeStep, index: str, own: str) -> None:
    known = ctx.low.dtype_set(step.names)
    names = ctx.low.support("dtype_names")
    if step.mode is Mode.EITHER:
        ctx.add(
            f"if {index} is None:\n"
            f"    if {own} not in {known}:\n        {ctx.reject}\n"
            f"    {index} = {names}[{own}]\n"
            f"elif {names}.get({own}) != {index}:\n    {ctx.reject}",
            step.guard,
        )
        return
    if step.guard is not None or _binds(ctx, index) > 1:
        ctx.fail_if(f"{own} not in {known}", step.guard)
        ctx.add(f"{index} = {names}[{own}]", step.guard)
        return
    local = f"{ctx.prefix}{step.tensor}_dtype"
    ctx.add(f"{local} = {own}")
    ctx.fail_if(f"{local} not in {known}")
    ctx.dtype_of[index] = local
    ctx.low.dtypes[index] = (local, step.names)
    if read_by_name(ctx, index):
        ctx.add(f"{index} = {names}[{local}]")


def _binds(ctx: Context, index: str) -> int:
    return sum(
        isinstance(step, DTypeStep) and step.expr == Name(index) and bool(step.names)
        for step in ctx.plan.steps
    )


def read_by_name(ctx: Context, index: str) -> bool:
    """Whether an expression needs the name of a dtype, and not only the torch dtype."""
    for step in ctx.plan.steps:
        exprs: tuple[Expr, ...] = ()
        match step:
            case RuleStep(condition=expr) | LetStep(expr=expr):
                exprs = (expr,)
            case AxisStep(expr=expr, offset=offset):
                exprs = (expr,) if offset is None else (expr, offset)
            case SpliceStep(expr=expr):
                exprs = (expr,)
            case DTypeStep(expr=expr) if expr != Name(index):
                exprs = (expr,)
            case EmitStep(dtype=expr, shapes=shapes):
                inner = tuple(item.expr for _, axes in shapes for item in axes.items)
                exprs = inner if expr == Name(index) else (expr, *inner)
            case ComboStep(columns=columns) if index in columns:
                return True
        if any(_by_name(ctx, expr, index) for expr in exprs):
            return True
    return False


def _by_name(ctx: Context, expr: Expr, index: str) -> bool:
    return index in names_in(expr) and index in ctx.low.named(expr)


def torch_dtype(ctx: Context, expr: Expr) -> str:
    """The torch dtype that a dtype expression stands for."""
    if isinstance(expr, Name) and expr.id in ctx.dtype_of:
        return ctx.dtype_of[expr.id]
    return f"{ctx.low.support('dtypes')}[{ctx.low.expr(expr)}]"


def emit_placement(ctx: Context, step: PlacementStep) -> None:
    """The device of a tensor, and its layout where that is declared."""
    declared = ctx.signature.tensor(step.tensor)
    call_time = declared is not None and declared.role is Role.INPUT
    if step.on_cpu:
        ctx.fail_if(f"{step.tensor}.device.type != 'cpu'", step.guard)
    elif call_time and ctx.leader[0] != step.tensor:
        ctx.fail_if(f"{step.tensor}.device != {ctx.device}", step.guard)
    if step.contiguous:
        check = ctx.low.support("is_contiguous")
        ctx.fail_if(f"not {check}({step.tensor})", step.guard)


def emit_combo(ctx: Context, step: ComboStep) -> None:
    """The dtypes of a call are a row of dtype_combos."""
    optional = any(isinstance(ctx.signature.kinds[name], MaybeKind) for name in step.columns)
    values = ", ".join(map(ctx.low.name, step.columns))
    values += "," if len(step.columns) == 1 else ""
    if optional:
        match = ctx.low.support("in_combos")
        ctx.fail_if(f"not {match}(({values}), {step.rows!r})")
    else:
        ctx.fail_if(f"({values}) not in {step.rows!r}")
