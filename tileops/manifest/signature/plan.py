"""Signature -> inference plan: in which order a call's facts determine its indices.

In: a checked signature. Out: a `Plan`, or None with findings. Discriminants are grouped by
dependency, and each group is planned over its own points (`schedule`); what no discriminant
touches is planned once. The result does not depend on the order of declarations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings
from tileops.manifest.language.rewrite import fold, replace_names
from tileops.manifest.language.syntax import (
    Apply,
    Axes,
    Conditional,
    Expr,
    Present,
    ShapeTerm,
    names_in,
    walk,
)
from tileops.manifest.signature.families import (
    conjunction,
    matches,
    pattern_conditions,
)
from tileops.manifest.signature.items import Group, Item, LetItem, RuleItem, TensorItem
from tileops.manifest.signature.model import Let, Role, Signature, Tensor, substitute_shape
from tileops.manifest.signature.obligations import obligations
from tileops.manifest.signature.points import Discriminants, Variable, all_points
from tileops.manifest.signature.reading import both, conditions_first, negated
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

#: Combinations in one group above which an advisory is given, and above which it is an error.
MANY_POINTS = 256
MAX_POINTS = 65536


@dataclass(frozen=True, slots=True)
class Alternative:
    """One written-out shape of a tensor and the guard that selects it (None: always)."""

    guard: Expr | None
    axes: Axes


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


def alternatives(term: ShapeTerm, signature: Signature) -> tuple[Alternative, ...]:
    """Every written-out shape that a term stands for, type families expanded."""
    return tuple(sorted(_expand(term, signature, None), key=lambda item: str(item.guard)))


def _expand(term: ShapeTerm, signature: Signature, guard: Expr | None) -> Iterator[Alternative]:
    if isinstance(term, Axes):
        yield Alternative(guard, term)
        return
    assert isinstance(term, Apply)
    family = signature.families[term.family]
    values = {name: arg for (name, _), arg in zip(family.formals, term.args, strict=True)}
    for case in family.cases:
        conditions = [
            (replace_names(condition, values), truth)
            for pattern, expr in zip(case.patterns, family.match, strict=True)
            for condition, truth in pattern_conditions(pattern, expr)
        ]
        inner = guard
        for condition in conjunction(conditions):
            inner = both(inner, condition)
        yield from _expand(substitute_shape(case.shape, values), signature, inner)


def _folded(shape: Alternative, discriminants: Discriminants) -> Iterator[Alternative]:
    """The shape at either side of each discriminant condition in its axes.

    An axis such as `2 * N if present(w) else N` is affine only once its condition is decided.
    """
    tests = (
        node.test
        for item in shape.axes.items
        for node in walk(item.expr)
        if isinstance(node, Conditional) and discriminants.reads(node.test)[1]
    )
    test = next(tests, None)
    if test is None:
        yield shape
        return
    for decided in (True, False):
        items = tuple(
            type(item)(fold(item.expr, partial(_decide, test, decided)))
            for item in shape.axes.items
        )
        guard = both(shape.guard, test if decided else negated(test))
        yield from _folded(Alternative(guard, Axes(items, shape.axes.at)), discriminants)


def _decide(test: Expr, truth: bool, node: Expr) -> bool | None:
    return truth if node == test else None


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
        groups = self.groups(items)
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
                for item in _folded(shape, self.discriminants)
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

    # --- groups -------------------------------------------------------------------------------

    def groups(self, items: list[Item]) -> list[Group]:
        """Items by the discriminants they depend on; the first group depends on none."""
        reads = [item.variables(self.discriminants) for item in items]
        free = [at for at, names in enumerate(reads) if not names]
        core = Group((), ({},), tuple(items[at] for at in free))
        probe = schedule(self.signature, self.discriminants, core, frozenset(), None)
        solved = probe.bound
        late = {id(item) for item in probe.waiting}
        rest = [at for at in range(len(items)) if reads[at] or id(items[at]) in late]
        core = Group((), ({},), tuple(items[at] for at in free if id(items[at]) not in late))
        groups = [core]
        for members in self.components(items, reads, rest, solved):
            names = sorted(frozenset().union(*(reads[at] for at in members)))
            names = sorted(self.with_domains(frozenset(names)))
            variables = tuple(self.discriminants.variables[name] for name in names)
            count = _count(variables)
            if count > MANY_POINTS:
                self.too_many(variables, count)
                if count > MAX_POINTS:
                    continue
            points = tuple(
                point
                for point in all_points(variables)
                if all(
                    self.discriminants.truth(rule.expr, point) is not False for rule in self.domains
                )
            )
            group = Group(variables, points, tuple(items[at] for at in members))
            self.check_coverage(group)
            groups.append(group)
        return groups

    def with_domains(self, names: frozenset[str]) -> frozenset[str]:
        """The variables, and those that a domain restriction ties to them."""
        grown = True
        while grown:
            grown = False
            for rule in self.domains:
                reads = self.discriminants.reads(rule.expr)[0]
                if reads & names and not reads <= names:
                    names |= reads
                    grown = True
        return names

    def components(
        self,
        items: list[Item],
        reads: list[frozenset[str]],
        rest: list[int],
        solved: frozenset[str],
    ) -> list[list[int]]:
        """The remaining items, joined where they share a discriminant or an unsolved index."""
        groups: list[tuple[set[str], list[int]]] = []
        known = self.signature.kinds.keys() - {param.name for param in self.signature.params}
        for at in rest:
            links = {f"?{name}" for name in self.with_domains(reads[at])}
            links |= (items[at].names() & known) - solved
            links |= {f"={name}" for name in items[at].defines()}
            links |= {f"={name}" for name in links & known}
            members = [at]
            kept = []
            for other_links, other in groups:
                if other_links & links:
                    links |= other_links
                    members = other + members
                else:
                    kept.append((other_links, other))
            groups = [*kept, (links, sorted(members))]
        return sorted((members for _, members in groups), key=lambda members: members[0])

    def too_many(self, variables: tuple[Variable, ...], count: int) -> None:
        names = ", ".join(variable.name for variable in variables)
        code = codes.TOO_MANY_POINTS if count > MAX_POINTS else codes.MANY_POINTS
        limit = MAX_POINTS if count > MAX_POINTS else MANY_POINTS
        self.findings.add(
            code,
            self.signature.entry.name.span,
            f"the discriminants {names} must have at most {limit} combinations, got {count}",
            op=self.signature.op,
            field="signature",
        )

    def check_coverage(self, group: Group) -> None:
        """Every family applied has a case at every accepted point where its tensor is there."""
        seen: set[tuple[str, str]] = set()
        for item in group.items:
            if not isinstance(item, TensorItem):
                continue
            for point in group.points:
                presence = item.tensor.presence
                if presence is not None and not self.discriminants.truth(presence, point):
                    continue
                self.cover(item.tensor.shape, item.tensor, point, seen)

    def cover(
        self, term: ShapeTerm, tensor: Tensor, point: dict[str, object], seen: set[tuple[str, str]]
    ) -> None:
        if isinstance(term, Axes):
            return
        family = self.signature.families[term.family]
        values = {name: arg for (name, _), arg in zip(family.formals, term.args, strict=True)}
        matched = tuple(
            self.discriminants.value(replace_names(expr, values), point) for expr in family.match
        )
        for case in family.cases:
            if matches(case, matched):
                self.cover(substitute_shape(case.shape, values), tensor, point, seen)
                return
        shown = ", ".join(repr(value) for value in matched)
        if (family.name, shown) in seen:
            return
        seen.add((family.name, shown))
        decl = next(item for item in self.signature.entry.types if item.name.text == family.name)
        self.findings.add(
            codes.MISSING_CASE,
            decl.cases_span,
            f"{family.name}: cases must cover every accepted value of"
            f" {', '.join(map(str, family.match))}, {shown} of {tensor.name} has none",
            op=self.signature.op,
            field=f"signature.types.{family.name}.cases",
        )

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


def _count(variables: tuple[Variable, ...]) -> int:
    count = 1
    for variable in variables:
        count *= len(variable.values)
    return count


def _bound_names(steps: list[Step]) -> Iterator[str]:
    for step in steps:
        match step:
            case _ if hasattr(step, "index") and step.index is not None:
                yield step.index
            case _ if hasattr(step, "name"):
                yield step.name
