"""`requires` on every branch: a caller can meet them only if the call has what they read."""

from __future__ import annotations

from collections.abc import Iterator

from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings
from tileops.manifest.language.kinds import SeqKind
from tileops.manifest.language.syntax import Conditional, Expr, names_in, shape_exprs, walk
from tileops.manifest.signature.alternatives import alternatives
from tileops.manifest.signature.effects import accepted_points, count_points
from tileops.manifest.signature.groups import MAX_POINTS
from tileops.manifest.signature.model import Signature, Tensor
from tileops.manifest.workload.branch import Workload
from tileops.manifest.workload.check import read_workload
from tileops.manifest.workload.metadata import Metadata
from tileops.validator.model import Phase, Rule, Subject


def requires(subject: Subject) -> None:
    """Wherever a constrained tensor is present, so are the indices that its predicates read."""
    signature, plan = subject.signature, subject.plan
    if signature is None or plan is None or not any(t.decl.requires for t in signature.inputs):
        return
    lost = Findings()
    workload = read_workload(signature, plan, lost)
    if lost.errors:
        return  # The rule about rows reports these.
    for item in workload.metadata.values():
        for at, call in enumerate(item.requirements):
            missing = _missing(workload, item, at)
            if missing:
                subject.report(
                    codes.BAD_VALUES,
                    f"requires of {item.tensor.name} must read what every call with"
                    f" {item.tensor.name} has, got {call.text} where no tensor has {missing}",
                    span=call.text.span,
                    field=f"signature.inputs.{item.tensor.name}.requires",
                )


def _missing(workload: Workload, item: Metadata, at: int) -> str:
    """An index that a predicate reads at a point at which no tensor gives it."""
    signature, tensor = workload.signature, item.tensor
    arguments = item.requirements[at].arguments
    # A Seq[Int] index is a fact of rows: a predicate that reads one is for them alone.
    names = {
        name
        for name in _indices(arguments, signature)
        if not isinstance(signature.indices[name], SeqKind)
    }
    conditions = list(_conditions(signature, names, tensor, arguments))
    if count_points(signature, workload.discriminants, conditions) > MAX_POINTS:
        return ""  # Rows are checked all the same.
    for point in accepted_points(signature, workload.discriminants, conditions):
        branch = workload.branch(point)
        if not branch.present[tensor.name]:
            continue
        read = {name for expr in branch.required[tensor.name][at] for name in branch.names_of(expr)}
        have = [item.expr for axes in branch.shapes.values() for item in axes.items]
        given = {
            name for expr in (*have, *branch.dtypes.values()) for name in branch.names_of(expr)
        }
        gone = sorted((read & names) - given)
        if gone:
            return gone[0]
    return ""


def _indices(arguments: tuple[Expr, ...], signature: Signature) -> frozenset[str]:
    """The forall indices that expressions read, through lets as well."""
    lets = {let.name: let.expr for let in signature.lets}
    found: set[str] = set()
    pending = [name for expr in arguments for name in names_in(expr)]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += names_in(lets[name]) if name in lets else ()
    return frozenset(found & signature.indices.keys())


def _conditions(
    signature: Signature, names: set[str], tensor: Tensor, arguments: tuple[Expr, ...]
) -> Iterator[Expr]:
    """Everything that decides whether the tensor, or one that has these indices, is there."""
    lets = [let.expr for let in signature.lets]
    yield from _tests([*arguments, *lets])
    for other in signature.tensors:
        shapes = alternatives(other.shape, signature)
        exprs = [
            other.dtype,
            *shape_exprs(other.shape),
            *(expr for shape in shapes for expr in shape_exprs(shape.axes)),
        ]
        if other is not tensor and not _indices(tuple(exprs), signature) & names:
            continue
        if other.presence is not None:
            yield other.presence
        yield from (shape.guard for shape in shapes if shape.guard is not None)
        yield from _tests(exprs)


def _tests(exprs: list[Expr]) -> Iterator[Expr]:
    for expr in exprs:
        for node in walk(expr):
            if isinstance(node, Conditional):
                yield node.test


RULES = (Rule("requires", "requires are well-formed on every branch", Phase.STATIC, requires),)
