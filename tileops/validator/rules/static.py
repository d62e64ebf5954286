"""Rules that need the manifest and nothing else."""

from __future__ import annotations

import re

from tileops.codegen.generate import generate_header
from tileops.codegen.operator_schema import Unschematic, left_out
from tileops.diagnostics import codes
from tileops.manifest.signature.check import check_entry
from tileops.manifest.signature.effects import effect_branches
from tileops.manifest.signature.plan import build_plan, discriminants_of
from tileops.manifest.workload.check import check_workloads
from tileops.validator.model import Phase, Rule, Subject

#: A mutable argument of a schema, and the name it has.
_WRITTEN = re.compile(r"Tensor\([a-z]!\)\s+(\w+)")


def signature(subject: Subject) -> None:
    """Expressions, kinds, families, presence, effects: everything about the declarations."""
    subject.signature = check_entry(subject.entry, subject.manifest.adts, subject.findings)


def plan(subject: Subject) -> None:
    """Every index is solved on every branch that uses it."""
    if subject.signature is not None:
        subject.plan = build_plan(subject.signature, subject.findings)


def schema(subject: Subject) -> None:
    """Every effect branch has an overload, and its schema writes and returns what it declares."""
    if subject.signature is None:
        return
    try:
        header = generate_header(subject.signature)
    except Unschematic as error:
        subject.report(codes.UNSCHEMATIC, str(error), field="signature")
        return
    for param in left_out(subject.signature):
        subject.report(
            codes.UNSCHEMATIC,
            f"{param.name} has type {param.type}, which no operator schema carries; only the class"
            " takes it",
            span=param.text.span,
            field=f"signature.params.{param.name}",
        )
    branches = effect_branches(subject.signature, discriminants_of(subject.signature))
    for branch, overload in zip(branches, header.overloads, strict=True):
        written = tuple(_WRITTEN.findall(overload.schema))
        declared = {*branch.written, *(("out",) if branch.out else ())}
        returned = overload.schema.rpartition("->")[2].count("Tensor")
        aliased = {
            tensor.name
            for tensor in subject.signature.outputs
            if tensor.decl.alias is not None and tensor.decl.alias.text in branch.written
        }
        if set(written) != declared or returned != len(branch.returns):
            subject.report(
                codes.BAD_EFFECT,
                f"overload {overload.name} must write {sorted(declared)} and return"
                f" {list(branch.returns)}, got {overload.schema}",
                field="signature",
            )
        if aliased & set(branch.returns):
            subject.report(
                codes.BAD_EFFECT,
                f"overload {overload.name} must not return an output that is an input, got"
                f" {', '.join(sorted(aliased & set(branch.returns)))}",
                field="signature",
            )


def workloads(subject: Subject) -> None:
    """Every row instantiates, meets its generators and predicates, and is inferred back."""
    if subject.signature is not None and subject.plan is not None:
        subject.instances = check_workloads(subject.signature, subject.plan, subject.findings)


def stages(subject: Subject) -> None:
    """Every op stage names an entry, and no composition reaches itself."""
    composition = subject.entry.composition
    for stage in () if composition is None else composition.stages:
        if stage.op is None:
            continue
        if subject.manifest.entry(stage.op.text) is None:
            subject.report(
                codes.BAD_STAGE,
                f"stage {stage.name} must name an entry of the manifest, got {stage.op}",
                span=stage.op.span,
                field="composition.stages",
            )
        elif subject.entry.op in _reached(subject, stage.op.text, set()):
            subject.report(
                codes.CYCLE,
                f"the composition must not reach itself, got a circle through {stage.op}",
                span=stage.op.span,
                field="composition.stages",
            )


def _reached(subject: Subject, op: str, seen: set[str]) -> set[str]:
    if op in seen:
        return seen
    seen.add(op)
    entry = subject.manifest.entry(op)
    if entry is not None and entry.composition is not None:
        for stage in entry.composition.stages:
            if stage.op is not None:
                _reached(subject, stage.op.text, seen)
    return seen


RULES = (
    Rule("signature", "declarations are in the language", Phase.STATIC, signature),
    Rule("plan", "an inference plan exists on every branch", Phase.STATIC, plan),
    Rule("schema", "operator schemas agree with the effects", Phase.STATIC, schema),
    Rule("workloads", "every row instantiates and is inferred back", Phase.STATIC, workloads),
    Rule("stages", "compositions name entries and end", Phase.STATIC, stages),
)
