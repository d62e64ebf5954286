"""Effects: what an operator's schemas say against the declarations and the cost model.

Reads and writes are counted here from the text of the schemas and the declared effects, and not by
the code that prices a call, so that neither can be wrong alone.
"""

from __future__ import annotations

import re

from tileops.codegen.generate import generate_header
from tileops.codegen.model import OverloadHeader
from tileops.codegen.operator_schema import left_out
from tileops.codegen.schema_types import Unschematic
from tileops.diagnostics import codes
from tileops.manifest.roofline import traffic
from tileops.manifest.signature.effects import (
    MAX_POINTS,
    EffectBranch,
    accepted_points,
    condition_of,
    count_points,
    effect_branches,
    effect_conditions,
)
from tileops.manifest.signature.model import Role, Signature, Tensor
from tileops.manifest.signature.plan import discriminants_of
from tileops.manifest.signature.points import Discriminants, Point
from tileops.validator.model import Phase, Rule, Subject

#: A tensor argument of a schema: whether it is annotated as written, and its name.
_ARGUMENT = re.compile(r"\bTensor(\([a-z]!\))?\??\s+(\w+)")


def schema(subject: Subject) -> None:
    """Every effect branch has an overload, and its schema writes and returns what it declares."""
    if subject.signature is None:
        return
    try:
        header = generate_header(subject.signature)
    except Unschematic as error:
        subject.report(codes.UNSCHEMATIC, f"{subject.entry.op} should have a schema: {error}")
        return
    for param in left_out(subject.signature):
        subject.report(
            codes.UNSCHEMATIC,
            f"{param.name} should have a type that an operator schema carries, got {param.type}:"
            " only the class takes it",
            span=param.text.span,
            field=f"signature.params.{param.name}",
        )
    branches = effect_branches(subject.signature, discriminants_of(subject.signature))
    pairs = list(zip(branches, header.overloads, strict=True))
    for branch, overload in pairs:
        _overload(subject, subject.signature, branch, overload)
    _traffic(subject, subject.signature, pairs)


def _written(overload: OverloadHeader) -> set[str]:
    return {name for mark, name in _ARGUMENT.findall(overload.schema) if mark}


def _overload(
    subject: Subject, signature: Signature, branch: EffectBranch, overload: OverloadHeader
) -> None:
    declared = {*branch.written, *(("out",) if branch.out else ())}
    returned = overload.schema.rpartition("->")[2].count("Tensor")
    if _written(overload) != declared or returned != len(branch.returns):
        subject.report(
            codes.BAD_EFFECT,
            f"overload {overload.name} must write {sorted(declared)} and return"
            f" {list(branch.returns)}, got {overload.schema}",
            field="signature",
        )
    aliased = {
        tensor.name
        for tensor in signature.outputs
        if tensor.decl.alias is not None and tensor.decl.alias.text in branch.written
    }
    if aliased & set(branch.returns):
        subject.report(
            codes.BAD_EFFECT,
            f"overload {overload.name} must not return an output that is an input, got"
            f" {', '.join(sorted(aliased & set(branch.returns)))}",
            field="signature",
        )


# --- reads and writes -----------------------------------------------------------------------------

_Pairs = list[tuple[EffectBranch, OverloadHeader]]


def _traffic(subject: Subject, signature: Signature, pairs: _Pairs) -> None:
    """Every tensor is read and written as often as the cost model counts, on every branch."""
    discriminants = discriminants_of(signature)
    effects = effect_conditions(signature)
    for tensor in signature.tensors:
        own = [] if tensor.presence is None else [tensor.presence]
        if count_points(signature, discriminants, [*effects, *own]) > MAX_POINTS:
            own = []  # Its effects are those of each point at which it is present.
        for point in accepted_points(signature, discriminants, [*effects, *own]):
            present = [] if tensor.presence is None else [tensor.presence]
            if all(discriminants.truth(item, point) is not False for item in present):
                fault = _miscounted(signature, discriminants, tensor, point, pairs)
                if fault:
                    subject.report(
                        codes.BAD_EFFECT,
                        f"{tensor.name} {fault}",
                        span=tensor.decl.name.span,
                        field=f"signature.{tensor.role.value}.{tensor.name}",
                    )
                    break


def _miscounted(
    signature: Signature,
    discriminants: Discriminants,
    tensor: Tensor,
    point: Point,
    pairs: _Pairs,
) -> str:
    """How the cost model of a call at the point disagrees with its overload, or nothing."""
    priced = traffic(signature, discriminants, point).get(tensor.name)
    for out in (False, True) if signature.buffer is not None else (False,):
        found = [
            pair
            for pair in pairs
            if pair[0].out is out and _serves(signature, discriminants, pair[0], point)
        ]
        if len(found) != 1:
            return f"must be served by one overload on every branch, got {len(found)}"
        counted = _counted(signature, tensor, *found[0])
        if counted != priced:
            return (
                f"must be counted as overload {found[0][1].name} has it,"
                f" {counted[0]} reads and {counted[1]} writes, got {priced}"
            )
    return ""


def _serves(
    signature: Signature, discriminants: Discriminants, branch: EffectBranch, point: Point
) -> bool:
    """Whether a call at the point takes the branch: these are written and these returned."""
    for tensor in signature.inputs:
        condition = condition_of(tensor)
        if not isinstance(condition, bool):
            condition = discriminants.truth(condition, point) is True
        if condition is not (tensor.name in branch.written):
            return False
    for tensor in signature.outputs:
        if tensor.presence is None or tensor.name in branch.nullable:
            continue
        alias = tensor.decl.alias
        elsewhere = (branch.out and tensor is signature.buffer) or (
            alias is not None and alias.text in branch.written
        )
        present = discriminants.truth(tensor.presence, point) is True
        if not elsewhere and present is not (tensor.name in branch.returns):
            return False
    return True


def _counted(
    signature: Signature, tensor: Tensor, branch: EffectBranch, overload: OverloadHeader
) -> tuple[int, int]:
    """Reads and writes of a present tensor, by the schema of the overload that serves the call."""
    written = _written(overload)
    if tensor.role is not Role.OUTPUT:
        writes = tensor.name in written
        return int(not (writes and tensor.decl.write_only)), int(writes)
    buffer = "out" in written and tensor is signature.buffer
    return 0, int(buffer or tensor.name in overload.returns)


RULES = (Rule("schema", "schemas, effects and cost model agree", Phase.STATIC, schema),)
