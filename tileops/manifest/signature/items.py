"""What is scheduled: tensors, lets and rules, with what each reads under which guard.

In: nothing. Out: the items of a signature, and groups of them that share discriminants.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from tileops.manifest.entry import Text
from tileops.manifest.language.syntax import Axes, Expr, Present, names_in
from tileops.manifest.signature.model import Let, Role, Tensor
from tileops.manifest.signature.points import Discriminants, Variable
from tileops.manifest.signature.reading import both, variables_of

Guard: TypeAlias = Expr | None


@dataclass(frozen=True, slots=True)
class TensorItem:
    """A tensor with the shapes it may have, each under a guard."""

    tensor: Tensor
    shapes: tuple[tuple[Guard, Axes], ...]

    @property
    def present(self) -> Guard:
        return None if self.tensor.presence is None else Present(self.tensor.name)

    def reads(self) -> Iterator[tuple[Expr, Guard]]:
        """Every expression of the tensor with the guard under which it matters."""
        yield (
            self.tensor.dtype,
            self.present if self.tensor.role is not Role.OUTPUT else (self.tensor.presence),
        )
        for guard, axes in self.shapes:
            for item in axes.items:
                yield item.expr, both(self.guard, guard)

    @property
    def guard(self) -> Guard:
        return self.tensor.presence if self.tensor.role is Role.OUTPUT else self.present

    def variables(self, discriminants: Discriminants) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for expr, guard in self.reads():
            found |= variables_of(expr, discriminants)
            if guard is not None:
                found |= discriminants.reads(guard)[0]
        return found

    def names(self) -> frozenset[str]:
        return frozenset().union(*(names_in(expr) for expr, _ in self.reads()))

    def defines(self) -> frozenset[str]:
        return frozenset()


@dataclass(frozen=True, slots=True)
class LetItem:
    let: Let

    def reads(self) -> Iterator[tuple[Expr, Guard]]:
        return iter(())

    def variables(self, discriminants: Discriminants) -> frozenset[str]:
        return variables_of(self.let.expr, discriminants)

    def names(self) -> frozenset[str]:
        return names_in(self.let.expr)

    def defines(self) -> frozenset[str]:
        return frozenset((self.let.name,))


@dataclass(frozen=True, slots=True)
class RuleItem:
    """A refinement or an obligation; `guard` is what activates it."""

    expr: Expr
    kind: str
    text: Text | None
    guard: Guard
    subject: str
    implied: bool = False

    def reads(self) -> Iterator[tuple[Expr, Guard]]:
        yield self.expr, self.guard

    def variables(self, discriminants: Discriminants) -> frozenset[str]:
        found = variables_of(self.expr, discriminants)
        return found if self.guard is None else found | discriminants.reads(self.guard)[0]

    def names(self) -> frozenset[str]:
        return names_in(self.expr)

    def defines(self) -> frozenset[str]:
        return frozenset()


Item: TypeAlias = TensorItem | LetItem | RuleItem


@dataclass(frozen=True, slots=True)
class Group:
    """Items that depend on the same discriminants, and the accepted points of these."""

    variables: tuple[Variable, ...]
    points: tuple[dict[str, Any], ...]
    items: tuple[Item, ...]
