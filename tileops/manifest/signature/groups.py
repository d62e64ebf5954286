"""Items of a signature -> groups by the discriminants that they depend on.

In: tensors, lets and rules as items. Out: groups with their accepted points, and findings: too many
points, or an applied type family without a case at one. A group costs the product of its own
discriminants only, so that the cost of a signature is a sum over groups.
"""

from __future__ import annotations

from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings
from tileops.manifest.language.rewrite import replace_names
from tileops.manifest.language.syntax import Axes, ShapeTerm
from tileops.manifest.signature.items import Group, Item, TensorItem
from tileops.manifest.signature.model import Signature, Tensor, substitute_shape
from tileops.manifest.signature.patterns import matches
from tileops.manifest.signature.points import Discriminants, Variable, all_points
from tileops.manifest.signature.schedule import schedule

#: Combinations in one group above which an advisory is given, and above which it is an error.
MANY_POINTS = 256
MAX_POINTS = 65536


class Grouping:
    """What groups the items of one signature, and reports what its points lack."""

    def __init__(
        self, signature: Signature, discriminants: Discriminants, findings: Findings
    ) -> None:
        self.signature = signature
        self.discriminants = discriminants
        self.findings = findings
        self.domains = [rule for rule in signature.rules if rule.domain]

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


def _count(variables: tuple[Variable, ...]) -> int:
    count = 1
    for variable in variables:
        count *= len(variable.values)
    return count
