"""One group of a signature's items, ordered into steps over the group's discriminant points.

In: items (tensors, lets, rules), the points of the group, the indices bound before. Out: steps in
an order in which everything a step reads is bound wherever the step runs. Sets of points are bit
masks, so that a group costs one pass however many points it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings, Span
from tileops.manifest.language.kinds import DTypeKind, ShapeKind
from tileops.manifest.language.syntax import Axes, Axis, Expr, Name, Splice, names_in, walk
from tileops.manifest.signature.affine import Affine, solutions
from tileops.manifest.signature.items import Group, Guard, Item, LetItem, RuleItem, TensorItem
from tileops.manifest.signature.model import Let, Role, Signature, Tensor
from tileops.manifest.signature.points import Discriminants
from tileops.manifest.signature.reading import both, either, needs
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


class _Scheduler:
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
        self.tracked = {
            *(let.name for let in signature.lets),
            *(name for name in signature.indices if name in signature.kinds),
        }
        self.dims = frozenset(
            name
            for name, kind in signature.indices.items()
            if not isinstance(kind, DTypeKind | ShapeKind)
        )
        self.masks: dict[Guard, int] = {None: self.full}
        self.steps: list[Step] = []
        self.rules: list[Step] = []
        self.tensors = {
            item.tensor.name: _Progress() for item in group.items if isinstance(item, TensorItem)
        }
        self.users = self.find_users()

    # --- masks and guards ---------------------------------------------------------------------

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
        self.bound[name] = self.bound.get(name, 0) | self.mask(guard)
        if construction:
            self.early.add(name)

    def is_early(self, *exprs: Expr | None) -> bool:
        """Whether construction can evaluate the expressions."""
        return all(names_in(expr) <= self.early for expr in exprs if expr is not None)

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
            self.report(waiting, findings)
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
        construction = self.is_early(let.expr, guard)
        self.steps.append(LetStep(let.name, let.expr, let.text, guard, construction))
        self.bind(let.name, guard, construction)
        return True

    def advance_rule(self, item: RuleItem) -> bool:
        if not self.ready(item.expr, item.guard):
            return False
        if self.mask(item.guard):
            guard = self.shown(item.guard)
            early = self.is_early(item.expr, guard)
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

    def of_tensor(self, tensor: Tensor, *exprs: Expr | None) -> bool:
        return tensor.role is Role.CONSTRUCTION and self.is_early(*exprs)

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

    # --- what is left -------------------------------------------------------------------------

    def report(self, waiting: list[Item], findings: Findings) -> None:
        reported: set[str] = set()
        for item in waiting:
            for name, span, path in self.unsolved(item):
                if name in reported:
                    continue
                reported.add(name)
                findings.add(
                    codes.UNSOLVED,
                    span,
                    f"the index {name} must be solved from an input on every branch that uses it",
                    op=self.signature.op,
                    field=path,
                    help="give it an axis of an input, or declare it as a parameter or a let",
                )

    def unsolved(self, item: Item) -> Iterator[tuple[str, Span, str]]:
        lets = {let.name: let for let in self.signature.lets}
        for expr, guard in item.reads():
            for name in sorted(self.missing(expr, guard)):
                root, text, at = name, None, 0
                while root in lets:
                    text = lets[root].text
                    inner = sorted(self.missing(lets[root].expr, guard))
                    if not inner:
                        break
                    at = _offset(lets[root].expr, inner[0])
                    root = inner[0]
                if root in lets:
                    continue
                if text is None:
                    yield root, *_use(item, expr, root)
                else:
                    yield root, text.place(at, len(root)), "signature.let"


def _use(item: Item, expr: Expr, name: str) -> tuple[Span, str]:
    """The place in the YAML where an item uses a name."""
    if isinstance(item, RuleItem) and item.text is not None:
        return item.text.place(_offset(expr, name), len(name)), "signature.shape_rules"
    assert isinstance(item, TensorItem)
    decl = item.tensor.decl
    group = {Role.INPUT: "inputs", Role.OUTPUT: "outputs"}.get(item.tensor.role, "params")
    path = f"signature.{group}.{decl.name}"
    if expr is item.tensor.dtype and decl.dtype is not None:
        return decl.dtype.place(_offset(expr, name), len(name)), f"{path}.dtype"
    assert decl.shape is not None
    if isinstance(item.tensor.shape, Axes):
        return decl.shape.place(_offset(expr, name), len(name)), f"{path}.shape"
    # Of a type family it is the argument that the author writes.
    for argument in item.tensor.shape.args:
        if name in names_in(argument):
            return decl.shape.place(_offset(argument, name), len(name)), f"{path}.shape"
    return decl.shape.span, f"{path}.shape"


def _offset(expr: Expr, name: str) -> int:
    for node in walk(expr):
        if isinstance(node, Name) and node.id == name:
            return node.at
    return 0


def _place(axes: Axes, position: int, back: bool) -> Place:
    """The place of an item, counted from one end."""
    before, after = axes.items[:position], axes.items[position + 1 :]
    ahead = tuple(item.expr for item in before if isinstance(item, Splice))
    behind = tuple(item.expr for item in after if isinstance(item, Splice))
    side, splices = (after, behind) if back else (before, ahead)
    return Place(sum(isinstance(item, Axis) for item in side), splices, back)
