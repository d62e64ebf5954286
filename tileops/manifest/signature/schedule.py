"""One group of a signature's items, ordered into steps over the group's discriminant points.

In: items (tensors, lets, rules), the points of the group, the indices bound before. Out: steps in
an order in which everything a step reads is bound wherever the step runs. What is bound so far is
kept by `knowledge`; what is said of the rest by `unsolved`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tileops.diagnostics.model import Findings
from tileops.manifest.language.kinds import DTypeKind, ShapeKind
from tileops.manifest.language.syntax import Axes, Axis, Expr, Name, Splice
from tileops.manifest.signature.affine import Affine, solutions
from tileops.manifest.signature.items import Group, Guard, Item, LetItem, RuleItem, TensorItem
from tileops.manifest.signature.knowledge import Knowledge
from tileops.manifest.signature.model import Let, Role, Signature, Tensor
from tileops.manifest.signature.points import Discriminants
from tileops.manifest.signature.reading import both, either
from tileops.manifest.signature.steps import (
    AxisStep,
    DTypeStep,
    LetStep,
    Mode,
    Place,
    PlacementStep,
    RankStep,
    RuleStep,
    SpliceStep,
    Step,
)
from tileops.manifest.signature.unsolved import report_unsolved


@dataclass(frozen=True, slots=True)
class Scheduled:
    """`bound` are the names bound at every point, `early` what construction knows; `waiting` the
    items that never became ready."""

    steps: tuple[Step, ...]
    rules: tuple[Step, ...]
    bound: frozenset[str]
    waiting: tuple[Item, ...]
    early: frozenset[str] = frozenset()


def schedule(
    signature: Signature,
    discriminants: Discriminants,
    group: Group,
    bound: frozenset[str],
    findings: Findings | None,
    early: frozenset[str] = frozenset(),
) -> Scheduled:
    """The steps of a group. Unsolved indices are reported to `findings`, if given."""
    scheduler = _Scheduler(signature, discriminants, group, bound, early)
    return scheduler.run(findings)


@dataclass(slots=True)
class _Progress:
    """How far a tensor has come: whether its rank is known, and which axes are done."""

    ranked: bool = False
    placed: bool = False
    done: set[tuple[int, int]] = field(default_factory=set)


class _Scheduler(Knowledge):
    def __init__(
        self,
        signature: Signature,
        discriminants: Discriminants,
        group: Group,
        bound: frozenset[str],
        early: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(signature, discriminants, group, bound, early)
        self.dims = frozenset(
            name
            for name, kind in signature.indices.items()
            if not isinstance(kind, DTypeKind | ShapeKind)
        )
        self.steps: list[Step] = []
        self.rules: list[Step] = []
        self.tensors = {
            item.tensor.name: _Progress() for item in group.items if isinstance(item, TensorItem)
        }

    # --- the loop -----------------------------------------------------------------------------

    def run(self, findings: Findings | None) -> Scheduled:
        waiting = [item for item in self.group.items]
        progress = True
        while progress:
            progress = False
            for item in list(waiting):
                before = len(self.steps), len(self.rules)
                if self.advance(item):
                    waiting.remove(item)
                    progress = True
                progress |= before != (len(self.steps), len(self.rules))
        if findings is not None:
            report_unsolved(self, waiting, findings)
        complete = frozenset(name for name, mask in self.bound.items() if mask == self.full)
        return Scheduled(
            tuple(self.steps), tuple(self.rules), complete, tuple(waiting), frozenset(self.early)
        )

    def advance(self, item: Item) -> bool:
        """Makes what steps it can of an item; True when the item is finished."""
        match item:
            case LetItem(let=let):
                return self.advance_let(let)
            case RuleItem():
                return self.advance_rule(item)
            case TensorItem(tensor=tensor) if tensor.role is Role.OUTPUT:
                return all(self.ready(expr, guard) for expr, guard in item.reads())
            case _:
                return self.advance_tensor(item)

    def advance_let(self, let: Let) -> bool:
        if let.name not in self.users:
            return False
        guard = self.shown(either(self.users[let.name]))
        if not self.ready(let.expr, guard):
            return False
        construction = self.is_early(guard, let.expr)
        self.steps.append(LetStep(let.name, let.expr, let.text, guard, construction))
        self.bind(let.name, guard, construction)
        return True

    def advance_rule(self, item: RuleItem) -> bool:
        if not self.ready(item.expr, item.guard):
            return False
        if self.mask(item.guard):
            guard = self.shown(item.guard)
            early = self.is_early(guard, item.expr)
            step = RuleStep(
                item.expr, item.kind, item.text, guard, early, item.implied, item.subject
            )
            # An obligation that construction can judge comes before what would trip over it.
            (self.steps if item.kind == "obligation" and early else self.rules).append(step)
        return True

    # --- tensors ------------------------------------------------------------------------------

    def advance_tensor(self, item: TensorItem) -> bool:
        progress = self.tensors[item.tensor.name]
        shapes = [
            (at, both(item.present, guard), axes)
            for at, (guard, axes) in enumerate(item.shapes)
            if self.mask(both(item.present, guard))
        ]
        if not progress.ranked:
            if not all(self.can_rank(guard, axes) for _, guard, axes in shapes):
                return False
            kinds = {self.rank_of(guard, axes) for _, guard, axes in shapes}
            if len(kinds) == 1:
                self.rank(item.tensor, item.present, shapes[0][2], shapes[0][1])
            else:
                for _, guard, axes in shapes:
                    self.rank(item.tensor, guard, axes, guard)
            progress.ranked = True
        if not progress.placed:
            if not self.place(item):
                return False
            progress.placed = True
        finished = True
        for at, guard, axes in shapes:
            for position in range(len(axes.items)):
                if (at, position) in progress.done:
                    continue
                if self.axis(item.tensor, guard, axes, position):
                    progress.done.add((at, position))
                else:
                    finished = False
        return finished

    def open_splice(self, guard: Guard, axes: Axes) -> tuple[str | None, bool]:
        """The one splice whose length the rank decides, and whether the rest is known."""
        unknown = [
            item.expr
            for item in axes.items
            if isinstance(item, Splice) and not self.ready(item.expr, guard)
        ]
        if not unknown:
            return None, True
        first = unknown[0]
        solvable = (
            len(unknown) == 1
            and isinstance(first, Name)
            and isinstance(self.signature.indices.get(first.id), ShapeKind)
        )
        return (first.id if solvable and isinstance(first, Name) else None), solvable

    def can_rank(self, guard: Guard, axes: Axes) -> bool:
        return self.open_splice(guard, axes)[1]

    def rank_of(self, guard: Guard, axes: Axes) -> tuple[str | None, tuple[Expr, ...], int, Mode]:
        """What the rank of a shape is: open splice, known splices, number of axes, mode."""
        name, _ = self.open_splice(guard, axes)
        splices = tuple(
            item.expr
            for item in axes.items
            if isinstance(item, Splice) and item.expr != (None if name is None else Name(name))
        )
        count = sum(isinstance(item, Axis) for item in axes.items)
        return name, splices, count, Mode.CHECK if name is None else self.mode(name, guard)

    def rank(self, tensor: Tensor, guard: Guard, axes: Axes, inner: Guard) -> None:
        """One rank check under `guard`; `inner` selects the shape that it is read from."""
        name, splices, count, mode = self.rank_of(inner, axes)
        shown = self.shown(guard)
        self.steps.append(
            RankStep(
                tensor.name,
                count,
                splices,
                name,
                mode,
                shown,
                self.of_tensor(tensor, shown, *splices),
            )
        )

    def of_tensor(self, tensor: Tensor, guard: Guard, *exprs: Expr | None) -> bool:
        return tensor.role is Role.CONSTRUCTION and self.is_early(guard, *exprs)

    def place(self, item: TensorItem) -> bool:
        """The dtype, device and layout of a tensor."""
        tensor, guard = item.tensor, self.shown(item.present)
        dtype = tensor.dtype
        kind = self.signature.indices.get(dtype.id) if isinstance(dtype, Name) else None
        if isinstance(dtype, Name) and isinstance(kind, DTypeKind):
            mode = self.mode(dtype.id, guard)
            early = self.of_tensor(tensor, guard)
            names = () if mode is Mode.CHECK else kind.names
            self.steps.append(DTypeStep(tensor.name, dtype, names, mode, guard, early))
            self.bind(dtype.id, guard, early)
        elif self.ready(dtype, guard):
            early = self.of_tensor(tensor, guard, dtype)
            self.steps.append(DTypeStep(tensor.name, dtype, (), Mode.CHECK, guard, early))
        else:
            return False
        self.steps.append(
            PlacementStep(
                tensor.name,
                tensor.decl.on_cpu,
                tensor.decl.contiguous,
                guard,
                self.of_tensor(tensor, guard),
            )
        )
        return True

    def axis(self, tensor: Tensor, guard: Guard, axes: Axes, position: int) -> bool:
        item = axes.items[position]
        shown = self.shown(guard)
        if isinstance(item, Splice):
            return self.splice(tensor, guard, axes, position, item.expr)
        place = self.place_of(guard, axes, position)
        if place is None:
            return False
        unknown = self.missing(item.expr, guard)
        if not unknown:
            early = self.of_tensor(tensor, shown, item.expr, *place.splices)
            self.steps.append(
                AxisStep(tensor.name, place, item.expr, None, 1, None, Mode.CHECK, shown, early)
            )
            return True
        for found in solutions(item.expr, self.dims & unknown):
            if found.offset is None or self.ready(found.offset, guard):
                self.solve(tensor, guard, place, item.expr, found)
                return True
        return False

    def solve(self, tensor: Tensor, guard: Guard, place: Place, expr: Expr, found: Affine) -> None:
        shown = self.shown(guard)
        early = self.of_tensor(tensor, shown, found.offset, *place.splices)
        mode = self.mode(found.index, guard)
        self.steps.append(
            AxisStep(
                tensor.name, place, expr, found.index, found.scale, found.offset, mode, shown, early
            )
        )
        self.bind(found.index, guard, early)

    def place_of(self, guard: Guard, axes: Axes, position: int) -> Place | None:
        """Where an item stands, counted over splices whose lengths are known; None when unknown."""
        for back in (False, True):
            place = _place(axes, position, back=back)
            behind = any(isinstance(item, Splice) for item in axes.items[position + 1 :])
            if back is False and place.splices and not behind:
                continue
            if all(self.ready(splice, guard) for splice in place.splices):
                return place
        return None

    def splice(self, tensor: Tensor, guard: Guard, axes: Axes, position: int, expr: Expr) -> bool:
        shown = self.shown(guard)
        alone = len(axes.items) == 1
        if self.ready(expr, guard):
            # A run of known length needs only one of its ends.
            place = self.place_of(guard, axes, position)
            if place is None:
                return False
            early = self.of_tensor(tensor, shown, expr, *place.splices)
            before, after = (None, place) if place.back else (place, None)
            self.steps.append(
                SpliceStep(tensor.name, before, after, expr, None, Mode.CHECK, shown, early, alone)
            )
            return True
        assert isinstance(expr, Name)
        first = _place(axes, position, back=False)
        last = _place(axes, position, back=True)
        early = self.of_tensor(tensor, shown, *first.splices, *last.splices)
        mode = self.mode(expr.id, guard)
        self.steps.append(
            SpliceStep(tensor.name, first, last, expr, expr.id, mode, shown, early, alone)
        )
        self.bind(expr.id, guard, early)
        return True


def _place(axes: Axes, position: int, back: bool) -> Place:
    """The place of an item, counted from one end."""
    before, after = axes.items[:position], axes.items[position + 1 :]
    ahead = tuple(item.expr for item in before if isinstance(item, Splice))
    behind = tuple(item.expr for item in after if isinstance(item, Splice))
    side, splices = (after, behind) if back else (before, ahead)
    return Place(sum(isinstance(item, Axis) for item in side), splices, back)
