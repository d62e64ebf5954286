"""A case made into a call: indices solved, tensors typed, contents generated, rules checked.

In: a `Case`. Out: an `Instance`, and the `Values` of its metadata tensors; `CaseFails` with one
sentence where the row breaks a rule. The call is inferred back from its types alone and must give
what the row gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tileops.diagnostics.text import shorten
from tileops.manifest.language.arrays import Values
from tileops.manifest.language.evaluate import evaluate
from tileops.manifest.language.generators import seed_of
from tileops.manifest.language.symbolic import DomainError
from tileops.manifest.language.syntax import Axis, Expr, names_in
from tileops.manifest.signature.affine import solutions
from tileops.manifest.signature.interpret import CallRejected, TensorMeta, interpret, show
from tileops.manifest.values import fits_64
from tileops.manifest.workload.branch import is_tensor_argument
from tileops.manifest.workload.case import WORKLOAD_SEED, Case, CaseFails, Instance
from tileops.manifest.workload.contents import broken_requirements, requirement_sentence
from tileops.manifest.workload.declaration import declaration_of


def instantiate(case: Case) -> Instance:
    """The call of a case, without contents. Raises `CaseFails`."""
    solver = Solver(case)
    solver.solve()
    inputs = {
        tensor.name: solver.meta(tensor.name) if case.present[tensor.name] else None
        for tensor in (*case.signature.construction, *case.signature.inputs)
    }
    arguments = {**case.params, **inputs}
    try:
        types = interpret(case.signature, case.workload.plan, arguments)
    except CallRejected as error:
        raise CaseFails(str(error), declared=declaration_of(case.signature, error.step)) from None
    for name in case.branch.relevant:
        inferred = types.indices.get(name)
        given = solver.env[name]
        if inferred is not None and inferred != given:
            raise CaseFails(
                f"the call must infer {name} = {shorten(show(given))} back,"
                f" got {shorten(show(inferred))}",
                name,
            )
    solver.add_lets()
    instance = Instance(case, inputs, types.outputs, types.indices, solver.env)
    for name, facts in instance.priced().tensors.items():
        if facts is not None and not fits_64(facts.bytes):
            raise CaseFails(
                f"{name} must have fewer than 2**63 bytes, got {list(facts.shape)}", name
            )
    return instance


class Solver:
    """The environment of a case, filled as generators give its open indices."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.branch = case.branch
        self.env: dict[str, Any] = {**case.params, **case.indices, **case.dtypes}
        self.open = set(self.branch.solved)

    def knows(self, expr: Expr) -> bool:
        """Whether everything an expression reads is known; lets are evaluated on the way."""
        for name in names_in(expr):
            if name in self.env:
                continue
            if name not in self.branch.lets or not self.knows(self.branch.lets[name]):
                return False
            self.env[name] = self.evaluate(self.branch.lets[name], f"let {name}")
        return True

    def evaluate(self, expr: Expr, what: str) -> Any:
        """The value of an expression that `knows` has accepted. Raises `CaseFails`."""
        try:
            return evaluate(expr, self.env)
        except DomainError as error:
            raise CaseFails(f"{what} {expr}: {error}") from None

    def add_lets(self) -> None:
        """Evaluates the lets that `requires` read."""
        for calls in self.branch.required.values():
            for arguments in calls:
                for argument in arguments:
                    if not is_tensor_argument(argument, self.case.workload.metadata):
                        self.knows(argument)

    def solve(self) -> None:
        pending = list(self.branch.arguments)
        while pending:
            ready = [
                name
                for name in pending
                if all(self.knows(argument) for argument in self.branch.arguments[name])
            ]
            if not ready:
                # Only a broken generator call gets here, and that was reported as such.
                raise CaseFails(f"{pending[0]} must have values whose arguments are known")
            for name in ready:
                self.unify(name)
                pending.remove(name)
        if self.open:
            names = ", ".join(sorted(self.open))
            raise CaseFails(f"a generator must solve {names}, none does")

    def arguments(self, tensor: str) -> list[Any]:
        return [
            self.evaluate(item, f"values of {tensor}") for item in self.branch.arguments[tensor]
        ]

    def unify(self, tensor: str) -> None:
        """Solves open indices of a generated tensor's shape from the generator's result."""
        generation = self.case.workload.metadata[tensor].generation
        try:
            sizes = generation.generator.sizes(self.arguments(tensor))
        except DomainError as error:
            raise CaseFails(f"values of {tensor} {generation}: {error}", tensor) from None
        axes = self.branch.shapes[tensor]
        at = 0
        for item in axes.items:
            if not isinstance(item, Axis):
                at += len(self.evaluate(item.expr, tensor)) if self.knows(item.expr) else 0
            elif at < len(sizes):
                self.bind(item.expr, sizes[at], tensor)
                at += 1
        declared = self.shape(tensor)
        if declared != sizes:
            raise CaseFails(
                f"values of {tensor} {generation} must have the shape {axes} = {list(declared)},"
                f" got {list(sizes)}",
                tensor,
            )

    def bind(self, expr: Expr, size: int, tensor: str) -> None:
        for found in solutions(expr, frozenset(self.open)):
            if found.offset is not None and not self.knows(found.offset):
                continue
            offset = 0 if found.offset is None else self.evaluate(found.offset, tensor)
            value, rest = divmod(size - offset, found.scale)
            if rest or value < 0:
                raise CaseFails(
                    f"values of {tensor} must have an axis {expr}, got {size}, which no"
                    f" {found.index} gives",
                    tensor,
                )
            self.env[found.index] = value
            self.open.discard(found.index)
            return

    def shape(self, tensor: str) -> tuple[int, ...]:
        sizes: list[int] = []
        for item in self.branch.shapes[tensor].items:
            if not self.knows(item.expr):
                names = ", ".join(sorted(names_in(item.expr) - self.env.keys()))
                raise CaseFails(f"{tensor} axis {item.expr} must be known, {names} is not", tensor)
            value = self.evaluate(item.expr, f"{tensor} axis")
            sizes.extend((value,) if isinstance(item, Axis) else value)
        if any(size < 0 for size in sizes):
            raise CaseFails(
                f"an axis of {tensor} {self.branch.shapes[tensor]} must not be negative,"
                f" got {sizes}",
                tensor,
            )
        return tuple(sizes)

    def meta(self, tensor: str) -> TensorMeta:
        if tensor not in self.branch.shapes:
            # No case of a type family takes this point; a domain restriction says why.
            return TensorMeta((), "float32")
        dtype = self.branch.dtypes[tensor]
        if not self.knows(dtype):
            raise CaseFails(f"{tensor} dtype {dtype} must be known", tensor)
        return TensorMeta(self.shape(tensor), self.evaluate(dtype, f"dtype of {tensor}"))


# --- contents -------------------------------------------------------------------------------------


def generate(
    instance: Instance, *, seed: int = WORKLOAD_SEED, most: int | None = None
) -> dict[str, Values]:
    """The contents of the metadata tensors present, none larger than `most`. Raises `CaseFails`."""
    case = instance.case
    result: dict[str, Values] = {}
    for name, arguments in case.branch.arguments.items():
        meta = instance.inputs[name]
        generation = case.workload.metadata[name].generation
        if meta is None or (most is not None and _elements(meta) > most):
            continue
        try:
            values = [evaluate(argument, instance.env) for argument in arguments]
            result[name] = generation.generator.generate(
                values, meta.dtype, seed_of(seed, case.signature.op, name)
            )
        except DomainError as error:
            raise CaseFails(f"values of {name} {generation}: {error}", name) from None
    return result


def check_requirements(instance: Instance, values: Mapping[str, Values]) -> None:
    """Holds generated contents to their `requires`. Raises `CaseFails`."""
    for name, at in unmet(instance, values):
        workload = instance.case.workload
        raise CaseFails(
            requirement_sentence(workload, name, at, instance.env, values),
            name,
            workload.metadata[name].requirements[at].text.span,
        )


def unmet(instance: Instance, values: Mapping[str, Values]) -> list[tuple[str, int]]:
    """The requirements, by tensor and place, that the contents break. Raises `CaseFails`."""
    case = instance.case
    try:
        return list(broken_requirements(case.workload, case.branch, instance.env, values))
    except DomainError as error:
        raise CaseFails(f"requires: {error}") from None


def _elements(meta: TensorMeta) -> int:
    count = 1
    for size in meta.shape:
        count *= size
    return count
