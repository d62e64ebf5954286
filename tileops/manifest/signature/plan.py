"""Signature -> inference plan: in which order a call's facts determine its indices.

In: a checked signature. Out: a `Plan`, or None with findings. Discriminants are grouped by
dependency (`groups`), and each group is planned over its own points (`schedule`); what no
discriminant touches is planned once. The result does not depend on the order of declarations.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings
from tileops.manifest.language.syntax import Present, names_in
from tileops.manifest.signature.alternatives import alternatives, folded
from tileops.manifest.signature.groups import Grouping
from tileops.manifest.signature.items import Item, LetItem, RuleItem, TensorItem
from tileops.manifest.signature.model import Let, Role, Signature
from tileops.manifest.signature.obligations import obligations
from tileops.manifest.signature.points import Discriminants
from tileops.manifest.signature.reading import conditions_first
from tileops.manifest.signature.schedule import schedule
from tileops.manifest.signature.steps import (
    ComboStep,
    EmitStep,
    ParamStep,
    Plan,
    PresenceStep,
    RuleStep,
    Step,
)


def discriminants_of(signature: Signature) -> Discriminants:
    """The discriminants of a checked signature."""
    presences = {
        tensor.name: tensor.presence for tensor in signature.tensors if tensor.presence is not None
    }
    if signature.buffer is not None:
        presences["out"] = Present("out")
    return Discriminants(
        {param.name: param.kind for param in signature.params},
        presences,
        {let.name: let.expr for let in signature.lets},
        signature.adts,
    )


def build_plan(signature: Signature, findings: Findings) -> Plan | None:
    """The plan of a signature, or None when an index has no solution."""
    return _Planner(signature, discriminants_of(signature), findings).plan()


class _Planner:
    def __init__(
        self, signature: Signature, discriminants: Discriminants, findings: Findings
    ) -> None:
        self.signature = signature
        self.discriminants = discriminants
        self.findings = findings
        self.domains = [rule for rule in signature.rules if rule.domain]

    def plan(self) -> Plan | None:
        before = self.findings.errors
        items = list(self.items())
        groups = Grouping(self.signature, self.discriminants, self.findings).groups(items)
        if self.findings.errors > before:
            return None
        steps: list[Step] = [*self.param_steps(), *self.presence_steps(), *self.domain_steps()]
        bound: frozenset[str] = frozenset()
        early: frozenset[str] = frozenset()
        rules: list[Step] = []
        core = groups[0]
        every: set[str] = set()
        for group in groups:
            result = schedule(
                self.signature, self.discriminants, group, bound, self.findings, early
            )
            steps += result.steps
            rules += result.rules
            every |= result.bound
            if group is core:
                bound = result.bound
                early = result.early
        if self.findings.errors > before:
            return None
        if not self.combos_hold(every):
            return None
        steps += self.combo_steps()
        steps += sorted(rules, key=lambda step: (not step.construction, str(step)))
        steps += self.emit_steps()
        steps = sorted(steps, key=lambda step: not step.construction)
        kinds = self.signature.kinds
        names = sorted({*_bound_names(steps)})
        return Plan(tuple(steps), tuple((name, kinds[name]) for name in names))

    def combos_hold(self, bound: set[str]) -> bool:
        """Whether every column of dtype_combos has a value on every branch."""
        good = True
        for name, _ in self.signature.entry.combos[0].items if self.signature.combos else ():
            if name.text in self.signature.indices and name.text not in bound:
                good = False
                self.findings.add(
                    codes.BAD_COMBO,
                    name.span,
                    f"{name} must be relevant on every branch to be a column, got branches"
                    " without a tensor of that dtype",
                    op=self.signature.op,
                    field="signature.dtype_combos",
                )
        return good

    # --- items --------------------------------------------------------------------------------

    def items(self) -> Iterator[Item]:
        for tensor in (*self.signature.construction, *self.signature.inputs):
            shapes = [
                item
                for shape in alternatives(tensor.shape, self.signature)
                for item in folded(shape, self.discriminants)
            ]
            yield TensorItem(tensor, tuple((item.guard, item.axes) for item in shapes))
        for let in sorted(self.signature.lets, key=lambda let: let.name):
            yield LetItem(self.ordered(let))
        for rule in sorted(self.signature.rules, key=lambda rule: str(rule.expr)):
            if not rule.domain:
                expr = conditions_first(rule.expr, self.discriminants)
                yield RuleItem(expr, "refinement", rule.text, None, str(rule.expr))
        yield from obligations(self.signature, self.discriminants, alternatives)
        for tensor in self.signature.outputs:
            written = alternatives(tensor.shape, self.signature)
            yield TensorItem(tensor, tuple((item.guard, item.axes) for item in written))

    def ordered(self, let: Let) -> Let:
        return Let(let.name, conditions_first(let.expr, self.discriminants), let.kind, let.text)

    # --- steps around the schedule ------------------------------------------------------------

    def param_steps(self) -> Iterator[Step]:
        for param in self.signature.params:
            yield ParamStep(param.name)

    def presence_steps(self) -> Iterator[Step]:
        for tensor in (*self.signature.construction, *self.signature.inputs):
            construction = tensor.role is Role.CONSTRUCTION
            if tensor.presence is None:
                yield PresenceStep(tensor.name, None, construction)
            elif not tensor.own_presence:
                yield PresenceStep(tensor.name, tensor.presence, construction)

    def domain_steps(self) -> Iterator[Step]:
        construction = self.construction_names()
        for rule in sorted(self.domains, key=lambda rule: str(rule.expr)):
            early = all(name in construction for name in names_in(rule.expr))
            yield RuleStep(
                conditions_first(rule.expr, self.discriminants),
                "domain restriction",
                rule.text,
                None,
                early,
                subject=str(rule.expr),
            )

    def construction_names(self) -> frozenset[str]:
        return frozenset(
            (
                *(param.name for param in self.signature.params),
                *(tensor.name for tensor in self.signature.construction),
            )
        )

    def combo_steps(self) -> Iterator[Step]:
        if self.signature.combos:
            columns = tuple(name for name, _ in self.signature.combos[0])
            rows = tuple(
                sorted(tuple(value for _, value in combo) for combo in self.signature.combos)
            )
            params = {param.name for param in self.signature.params}
            yield ComboStep(columns, rows, all(name in params for name in columns))

    def emit_steps(self) -> Iterator[Step]:
        for tensor in self.signature.outputs:
            shapes = alternatives(tensor.shape, self.signature)
            yield EmitStep(
                tensor.name,
                tuple((item.guard, item.axes) for item in shapes),
                tensor.dtype,
                tensor.presence,
                tensor.decl.contiguous,
            )


def _bound_names(steps: list[Step]) -> Iterator[str]:
    for step in steps:
        match step:
            case _ if hasattr(step, "index") and step.index is not None:
                yield step.index
            case _ if hasattr(step, "name"):
                yield step.name
