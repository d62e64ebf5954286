"""Rules that need the manifest and nothing else."""

from __future__ import annotations

from tileops.diagnostics import codes
from tileops.manifest.signature.check import check_entry
from tileops.manifest.signature.plan import build_plan
from tileops.manifest.workload.check import check_workloads
from tileops.validator.model import Phase, Rule, Subject


def signature(subject: Subject) -> None:
    """Expressions, kinds, families, presence, effects: everything about the declarations."""
    subject.signature = check_entry(subject.entry, subject.manifest.adts, subject.findings)


def plan(subject: Subject) -> None:
    """Every index is solved on every branch that uses it."""
    if subject.signature is not None:
        subject.plan = build_plan(subject.signature, subject.findings)


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
    Rule("workloads", "every row instantiates and is inferred back", Phase.STATIC, workloads),
    Rule("stages", "compositions name entries and end", Phase.STATIC, stages),
)
