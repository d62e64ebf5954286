"""A signature at one discriminant point: everything folded there, and what is relevant.

In: a signature with its metadata and cost model, and a point. Out: shapes, dtypes, lets, generator
and predicate arguments with known conditions folded away; the relevant indices, and which of them a
generator solves. Rows at one point share a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tileops.manifest.adt import ADTValue
from tileops.manifest.language.kinds import DimKind
from tileops.manifest.language.rewrite import fold
from tileops.manifest.language.syntax import Axes, Axis, Expr, Name, names_in
from tileops.manifest.roofline import Roofline
from tileops.manifest.signature.affine import solutions
from tileops.manifest.signature.alternatives import alternatives
from tileops.manifest.signature.model import Signature, Tensor
from tileops.manifest.signature.plan import discriminants_of
from tileops.manifest.signature.points import OPEN, Discriminants
from tileops.manifest.signature.steps import Plan
from tileops.manifest.workload.metadata import Metadata

Change = Callable[[Expr], Expr]


@dataclass(frozen=True, slots=True)
class Branch:
    """`shapes` and `dtypes` are of present tensors; `arguments` and `required` of those with
    values. `relevant` keeps the order of forall; `written` are the ones a row gives."""

    present: Mapping[str, bool]
    shapes: Mapping[str, Axes]
    dtypes: Mapping[str, Expr]
    lets: Mapping[str, Expr]
    arguments: Mapping[str, tuple[Expr, ...]]
    required: Mapping[str, tuple[tuple[Expr, ...], ...]]
    relevant: tuple[str, ...]
    solved: frozenset[str]

    @property
    def written(self) -> tuple[str, ...]:
        return tuple(name for name in self.relevant if name not in self.solved)

    def names_of(self, expr: Expr) -> frozenset[str]:
        """The names that an expression reads, lets replaced by what they read."""
        found: set[str] = set()
        pending = [*names_in(expr)]
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                pending += names_in(self.lets[name]) if name in self.lets else ()
        return frozenset(found - self.lets.keys())


@dataclass(slots=True)
class Workload:
    """A signature with everything that rows are read by; branches are built once per point."""

    signature: Signature
    plan: Plan
    metadata: Mapping[str, Metadata]
    roofline: Roofline | None
    discriminants: Discriminants = field(init=False)
    _branches: dict[tuple[Any, ...], Branch] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.discriminants = discriminants_of(self.signature)

    def point(self, params: Mapping[str, Any], passed: frozenset[str]) -> dict[str, Any]:
        """The discriminant point of parameter values and of the optional tensors passed."""
        point: dict[str, Any] = {}
        for name, variable in self.discriminants.variables.items():
            if name in params:
                point[name] = _discriminant(params[name], variable.values)
            else:
                point[name] = OPEN if name in passed else None
        return point

    def branch(self, point: Mapping[str, Any]) -> Branch:
        key = tuple((name, type(point[name]), point[name]) for name in sorted(point))
        if key not in self._branches:
            self._branches[key] = self._build(point)
        return self._branches[key]

    def _build(self, point: Mapping[str, Any]) -> Branch:
        def change(expr: Expr) -> Expr:
            return fold(expr, lambda node: self.discriminants.truth(node, point))

        signature = self.signature
        present = {
            tensor.name: tensor.presence is None
            or self.discriminants.truth(tensor.presence, point) is True
            for tensor in signature.tensors
        }
        here = [tensor for tensor in signature.tensors if present[tensor.name]]
        shapes = {tensor.name: self._shape(tensor, point, change) for tensor in here}
        metas = [item for name, item in self.metadata.items() if present[name]]
        branch = Branch(
            present,
            {name: axes for name, axes in shapes.items() if axes is not None},
            {tensor.name: change(tensor.dtype) for tensor in here},
            {let.name: change(let.expr) for let in signature.lets},
            {m.tensor.name: tuple(map(change, m.generation.arguments)) for m in metas},
            {
                m.tensor.name: tuple(tuple(map(change, r.arguments)) for r in m.requirements)
                for m in metas
            },
            (),
            frozenset(),
        )
        return self._with_indices(branch, change)

    def _shape(self, tensor: Tensor, point: Mapping[str, Any], change: Change) -> Axes | None:
        for shape in alternatives(tensor.shape, self.signature):
            if shape.guard is None or self.discriminants.truth(shape.guard, point):
                items = tuple(type(item)(change(item.expr)) for item in shape.axes.items)
                return Axes(items, shape.axes.at)
        # No case takes the point: a domain restriction rejects it, or coverage was reported.
        return None

    # --- indices ------------------------------------------------------------------------------

    def _with_indices(self, branch: Branch, change: Change) -> Branch:
        exprs: list[Expr] = [item.expr for axes in branch.shapes.values() for item in axes.items]
        exprs += branch.dtypes.values()
        exprs += (change(rule.expr) for rule in self.signature.rules)
        exprs += (argument for items in branch.arguments.values() for argument in items)
        exprs += (
            argument for calls in branch.required.values() for items in calls for argument in items
        )
        if self.roofline is not None:
            exprs += map(change, self.roofline.formulas)
        used: set[str] = set().union(*map(branch.names_of, exprs))
        relevant = tuple(name for name in self.signature.indices if name in used)
        solved = self._solved(branch, relevant)
        return Branch(
            branch.present,
            branch.shapes,
            branch.dtypes,
            branch.lets,
            branch.arguments,
            branch.required,
            relevant,
            solved,
        )

    def _solved(self, branch: Branch, relevant: Iterable[str]) -> frozenset[str]:
        """The Dims that generators solve, each from a result whose arguments are known by then."""
        dims = {n for n in relevant if isinstance(self.signature.indices[n], DimKind)}
        reads = {
            name: frozenset().union(*map(branch.names_of, items)) & dims
            for name, items in branch.arguments.items()
        }
        gives = {
            name: axis_indices(branch.shapes[name], frozenset(dims)) - reads[name]
            for name in branch.arguments
            if name in branch.shapes
        }
        candidates: set[str] = set().union(*gives.values())
        solved: set[str] = set()
        while True:
            found = {
                index
                for name, indices in gives.items()
                if not reads[name] & (candidates - solved)
                for index in indices
            }
            if found <= solved:
                return frozenset(solved)
            solved |= found


def axis_indices(axes: Axes, dims: frozenset[str]) -> frozenset[str]:
    """The indices that some axis of a shape gives once everything else is known."""
    return frozenset(
        found.index
        for item in axes.items
        if isinstance(item, Axis)
        for found in solutions(item.expr, dims)
    )


def _discriminant(value: Any, values: tuple[Any, ...]) -> Any:
    """A parameter's value as its discriminant has it: the value, its finite part, or open."""
    if value is None:
        return None
    kind = getattr(value, "kind", None)
    for option in values:
        if isinstance(option, ADTValue):
            fields = option.fields.items()
            if option.kind == kind and all(getattr(value, k) == v for k, v in fields):
                return option
        elif type(option) is type(value) and option == value:
            return option
    return OPEN


def is_tensor_argument(argument: Expr, metadata: Mapping[str, Metadata]) -> bool:
    """Whether a predicate's argument stands for another tensor's contents."""
    return isinstance(argument, Name) and argument.id in metadata


__all__ = ["Branch", "Workload", "axis_indices", "is_tensor_argument"]
