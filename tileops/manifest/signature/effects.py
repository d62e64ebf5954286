"""Effects: what an operator writes, and the branches that its overloads follow (table 9).

In: a checked signature and its discriminants. Out: findings about illegal declarations, and one
`EffectBranch` per set of tensors that some accepted call writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tileops.diagnostics import codes
from tileops.manifest.language.syntax import Expr, names_in
from tileops.manifest.signature.model import Signature, Tensor
from tileops.manifest.signature.points import Discriminants, Point, Variable, all_points

if TYPE_CHECKING:
    from tileops.manifest.signature.check import Checker


#: Combinations of what effects read, and overloads that an operator may have.
MAX_POINTS = 4096
MAX_BRANCHES = 128


@dataclass(frozen=True, slots=True)
class EffectBranch:
    """One overload: what it writes, whether it takes `out`, what it returns.

    `nullable` are the returned outputs that may be None; only a branch that writes nothing has any.
    """

    name: str
    written: tuple[str, ...]
    out: bool
    returns: tuple[str, ...]
    nullable: frozenset[str]


def condition_of(tensor: Tensor) -> Expr | bool:
    """When the operator writes an input: never, always, or under a condition."""
    if tensor.written is True and tensor.presence is not None:
        return tensor.presence
    return tensor.written


def check_effects(checker: Checker, signature: Signature, discriminants: Discriminants) -> None:
    """Reports effect declarations that exclude each other or name the wrong thing."""
    writable = {tensor.name: tensor for tensor in signature.inputs if tensor.written is not False}
    for tensor in signature.inputs:
        path = f"signature.inputs.{tensor.name}"
        span = tensor.decl.name.span
        if tensor.decl.write_only and tensor.written is not True:
            checker.report(
                codes.BAD_EFFECT,
                span,
                path,
                f"{tensor.name} must be mutated: true to be write_only",
            )
        if tensor.decl.write_only and tensor.presence is not None:
            checker.report(
                codes.BAD_EFFECT, span, path, f"{tensor.name} must be required to be write_only"
            )
        condition = tensor.written
        if not isinstance(condition, bool) and (
            not discriminants.reads(condition)[1] or names_in(condition) & checker.lets.keys()
        ):
            mutated = tensor.decl.mutated
            checker.report(
                codes.BAD_EFFECT,
                span if isinstance(mutated, bool) else mutated.span,
                f"{path}.mutated",
                f"mutated of {tensor.name} must read discriminants only, got {condition}",
            )
    buffers = [tensor for tensor in signature.outputs if tensor.decl.buffer is not None]
    for tensor in signature.outputs:
        _check_output(checker, tensor, signature, writable)
    for tensor in buffers[1:]:
        assert tensor.decl.buffer is not None
        checker.report(
            codes.BAD_EFFECT,
            tensor.decl.buffer.span,
            f"signature.outputs.{tensor.name}.buffer",
            f"{tensor.name} must not be a second buffer, {buffers[0].name} is one already",
        )
    _check_number(checker, signature, discriminants)
    written = any(decl.mutated is not False for decl in checker.entry.inputs)
    lost = any(path.startswith("signature") for path in checker.entry.unreadable)
    if checker.entry.inputs and not written and not checker.entry.outputs and not lost:
        checker.report(
            codes.BAD_EFFECT,
            checker.entry.name.span,
            "signature.outputs",
            f"{checker.entry.op} must return or write a tensor",
        )


def _check_number(checker: Checker, signature: Signature, discriminants: Discriminants) -> None:
    """Reports effects with more combinations than there can be overloads."""
    conditions = effect_conditions(signature)
    count = count_points(signature, discriminants, conditions)
    what, most = "combinations", MAX_POINTS
    if count <= MAX_POINTS:
        what, most = "overloads", MAX_BRANCHES
        count = len(effect_branches(signature, discriminants))
    if count > most:
        checker.report(
            codes.TOO_MANY_POINTS,
            checker.entry.name.span,
            "signature",
            f"what {checker.entry.op} writes and returns must have at most {most} {what},"
            f" got {count}",
        )


def _check_output(
    checker: Checker, tensor: Tensor, signature: Signature, writable: dict[str, Tensor]
) -> None:
    path = f"signature.outputs.{tensor.name}"
    buffer, alias = tensor.decl.buffer, tensor.decl.alias
    if buffer is not None and buffer.text != "out":
        checker.report(
            codes.BAD_EFFECT, buffer.span, f"{path}.buffer", f"buffer must be out, got {buffer}"
        )
    if alias is not None:
        if buffer is not None:
            checker.report(
                codes.BAD_EFFECT,
                alias.span,
                f"{path}.alias",
                f"{tensor.name} must not be a buffer too",
            )
        declared = {decl.name.text for decl in checker.entry.inputs} | checker.lost
        if alias.text in declared - {item.name for item in signature.inputs}:
            return  # An input that could not be read, which was reported.
        if alias.text not in writable:
            known = ", ".join(sorted(writable)) or "none"
            checker.report(
                codes.BAD_EFFECT,
                alias.span,
                f"{path}.alias",
                f"alias must name an input that can be written ({known}), got {alias}",
            )
            return
        _check_same_type(checker, tensor, writable[alias.text], path)


def _check_same_type(checker: Checker, output: Tensor, source: Tensor, path: str) -> None:
    """An output that is an input has its type, written with the same terms."""
    assert output.decl.alias is not None
    pairs = (("dtype", output.dtype, source.dtype), ("shape", output.shape, source.shape))
    for what, have, wanted in pairs:
        if have != wanted:
            checker.report(
                codes.BAD_EFFECT,
                output.decl.alias.span,
                f"{path}.alias",
                f"{output.name} must have the {what} {wanted} of {source.name}, got {have}",
            )


def effect_conditions(signature: Signature) -> list[Expr]:
    """What decides which tensors a call writes and returns."""
    conditions = (condition_of(tensor) for tensor in signature.inputs)
    return [
        *(item for item in conditions if not isinstance(item, bool)),
        *(tensor.presence for tensor in signature.outputs if tensor.presence is not None),
    ]


def effect_branches(signature: Signature, discriminants: Discriminants) -> tuple[EffectBranch, ...]:
    """The overloads of the operator, `default` first."""
    conditions = {tensor.name: condition_of(tensor) for tensor in signature.inputs}
    always = tuple(name for name, condition in conditions.items() if condition is True)
    open_ = {name: item for name, item in conditions.items() if not isinstance(item, bool)}
    points = accepted_points(signature, discriminants, effect_conditions(signature))
    sets: dict[tuple[str, ...], list[Point]] = {(): []}
    for point in points:
        written = tuple(name for name, item in open_.items() if discriminants.truth(item, point))
        sets.setdefault(written, []).append(point)
    branches: list[EffectBranch] = []
    for conditional, where in sets.items():
        written = tuple(name for name in conditions if name in always or name in conditional)
        for out in (False, True) if signature.buffer is not None else (False,):
            branches += _overloads(signature, discriminants, conditional, written, out, where)
    return tuple(sorted(branches, key=lambda branch: (branch.name != "default",)))


def accepted_points(
    signature: Signature, discriminants: Discriminants, conditions: list[Expr]
) -> list[dict[str, object]]:
    """The points over the variables that effects read, less those that no call has."""
    variables, domains = _variables(signature, discriminants, conditions)
    return [
        point
        for point in all_points(variables)
        if all(discriminants.truth(expr, point) is not False for expr in domains)
    ]


def count_points(signature: Signature, discriminants: Discriminants, conditions: list[Expr]) -> int:
    """How many points `accepted_points` looks at."""
    variables, _ = _variables(signature, discriminants, conditions)
    return prod(len(variable.values) for variable in variables)


def _variables(
    signature: Signature, discriminants: Discriminants, conditions: list[Expr]
) -> tuple[tuple[Variable, ...], list[Expr]]:
    """What conditions read and what shares a restriction with it, and the restrictions."""
    names: set[str] = set()
    for condition in conditions:
        names |= discriminants.reads(condition)[0]
    domains = [rule.expr for rule in signature.rules if rule.domain]
    # A restriction that shares a variable may rule a combination out.
    grown = True
    while grown:
        grown = False
        for expr in domains:
            reads = discriminants.reads(expr)[0]
            if reads & names and not reads <= names:
                names |= reads
                grown = True
    return tuple(discriminants.variables[name] for name in sorted(names)), domains


def _overloads(
    signature: Signature,
    discriminants: Discriminants,
    conditional: tuple[str, ...],
    written: tuple[str, ...],
    out: bool,
    points: list[Point],
) -> list[EffectBranch]:
    buffer = signature.buffer
    candidates = [
        tensor
        for tensor in signature.outputs
        if not (out and tensor is buffer)
        and not (tensor.decl.alias is not None and tensor.decl.alias.text in written)
    ]
    name = "_".join(
        (*(("writes", *conditional) if conditional else ()), *(("out",) if out else ()))
    )
    name = name or "default"
    optional = frozenset(tensor.name for tensor in candidates if tensor.presence is not None)
    if not written and not out:
        returns = tuple(tensor.name for tensor in candidates)
        return [EffectBranch(name, (), False, returns, optional)]
    branches: dict[tuple[str, ...], EffectBranch] = {}
    for point in points or [{}]:
        returns = tuple(
            tensor.name
            for tensor in candidates
            if tensor.presence is None or discriminants.truth(tensor.presence, point)
        )
        absent = [tensor.name for tensor in candidates if tensor.name not in returns]
        suffix = f"_without_{'_'.join(absent)}" if absent else ""
        branches.setdefault(
            returns, EffectBranch(f"{name}{suffix}", written, out, returns, frozenset())
        )
    if len(branches) == 1:
        ((returns, only),) = branches.items()
        return [EffectBranch(name, only.written, out, returns, frozenset())]
    return list(branches.values())
