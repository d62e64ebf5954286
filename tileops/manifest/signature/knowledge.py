"""Which names a group of items has bound, and at which of the group's discriminant points.

In: what is bound step by step. Out: whether an expression can be read under a guard. Sets of points
are bit masks, so that a group costs one pass however many points it has.
"""

from __future__ import annotations

from tileops.manifest.language.syntax import Expr, names_in
from tileops.manifest.signature.items import Group, Guard, LetItem
from tileops.manifest.signature.model import Signature
from tileops.manifest.signature.points import Discriminants
from tileops.manifest.signature.reading import both, either, needs
from tileops.manifest.signature.steps import Mode


class Knowledge:
    """What one group has bound so far, and at which of its points."""

    def __init__(
        self,
        signature: Signature,
        discriminants: Discriminants,
        group: Group,
        bound: frozenset[str],
        early: frozenset[str] = frozenset(),
    ) -> None:
        self.signature = signature
        self.discriminants = discriminants
        self.group = group
        self.full = (1 << len(group.points)) - 1
        self.bound = dict.fromkeys(bound, self.full)
        self.early: set[str] = {
            *early,
            *(param.name for param in signature.params),
            *(tensor.name for tensor in signature.construction),
        }
        #: Where construction has bound a name: an optional tensor gives its indices there or not.
        self.early_at: dict[str, int] = {}
        self.tracked = {
            *(let.name for let in signature.lets),
            *(name for name in signature.indices if name in signature.kinds),
        }
        self.masks: dict[Guard, int] = {None: self.full}
        self.users = self.find_users()

    def mask(self, guard: Guard) -> int:
        """The points at which a guard holds."""
        if guard not in self.masks:
            bits = 0
            for at, point in enumerate(self.group.points):
                if guard is None or self.discriminants.truth(guard, point) is not False:
                    bits |= 1 << at
            self.masks[guard] = bits
        return self.masks[guard]

    def shown(self, guard: Guard) -> Guard:
        """The guard as a step carries it: None when it holds at every point."""
        return None if self.mask(guard) == self.full else guard

    def ready(self, expr: Expr, guard: Guard) -> bool:
        """Whether everything the expression reads is bound wherever the guard holds."""
        return not self.missing(expr, guard)

    def missing(self, expr: Expr, guard: Guard) -> set[str]:
        where = self.mask(guard)
        return {
            name
            for name, inner in needs(expr, self.discriminants)
            if name in self.tracked
            and where & self.mask(inner) & ~self.bound.get(name, 0) & self.full
        }

    def mode(self, name: str, guard: Guard) -> Mode:
        where = self.mask(guard)
        have = self.bound.get(name, 0) & where
        if not have:
            return Mode.BIND
        return Mode.CHECK if have == where else Mode.EITHER

    def bind(self, name: str, guard: Guard, construction: bool) -> None:
        where = self.mask(guard)
        self.bound[name] = self.bound.get(name, 0) | where
        if construction:
            self.early_at[name] = self.early_at.get(name, 0) | where
            if self.early_at[name] == self.full:
                self.early.add(name)

    def is_early(self, guard: Guard, *exprs: Expr | None) -> bool:
        """Whether construction can evaluate the guard, and the expressions wherever it holds."""
        where = self.mask(guard)
        names = {name for expr in (guard, *exprs) if expr is not None for name in names_in(expr)}
        return all(
            name in self.early or not where & ~self.early_at.get(name, 0) & self.full
            for name in names
        )

    def find_users(self) -> dict[str, list[Guard]]:
        """For every let, the guards under which something reads it."""
        users: dict[str, list[Guard]] = {}
        lets = {item.let.name: item.let for item in self.group.items if isinstance(item, LetItem)}

        def use(expr: Expr, guard: Guard) -> None:
            for name, inner in needs(expr, self.discriminants):
                if name in lets:
                    users.setdefault(name, []).append(both(guard, inner))

        for item in self.group.items:
            for expr, guard in item.reads():
                use(expr, guard)
        pending = set(lets)
        while pending:
            read = {name for other in pending for name in names_in(lets[other].expr)}
            outer = sorted(pending - read) or sorted(pending)
            for name in outer:
                if name in users:
                    use(lets[name].expr, either(users[name]))
            pending -= set(outer)
        return users
