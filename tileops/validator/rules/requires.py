"""`values` and `requires` on every branch: they read only what the branch has."""

from __future__ import annotations

from collections.abc import Iterator

from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings
from tileops.manifest.entry import Text
from tileops.manifest.language.syntax import Conditional, Expr, names_in, shape_exprs, walk
from tileops.manifest.signature.effects import accepted_points
from tileops.manifest.signature.model import Signature, Tensor
from tileops.manifest.signature.plan import alternatives
from tileops.manifest.workload.branch import Workload
from tileops.manifest.workload.check import read_workload
from tileops.manifest.workload.metadata import Metadata
from tileops.validator.model import Phase, Rule, Subject


def contents(subject: Subject) -> None:
    """Wherever a metadata tensor is present, the indices that its calls read are there too."""
    signature, plan = subject.signature, subject.plan
    if signature is None or plan is None or not any(t.decl.values for t in signature.inputs):
        return
    lost = Findings()
    workload = read_workload(signature, plan, lost)
    if lost.errors:
        return  # The rule about rows reports these.
    for item in workload.metadata.values():
        _tensor(subject, workload, item)


def _tensor(subject: Subject, workload: Workload, item: Metadata) -> None:
    calls: list[tuple[str, Text, tuple[Expr, ...]]] = [
        ("values", item.generation.text, item.generation.arguments)
    ]
    calls += [("requires", call.text, call.arguments) for call in item.requirements]
    for at, (field, text, arguments) in enumerate(calls):
        found = _missing(workload, item.tensor, arguments, at - 1)
        if found:
            subject.report(
                codes.BAD_VALUES,
                f"{field} of {item.tensor.name} must read what is there wherever"
                f" {item.tensor.name} is, got {text} where {found} is not",
                span=text.span,
                field=f"signature.inputs.{item.tensor.name}.{field}",
            )


def _missing(
    workload: Workload, tensor: Tensor, arguments: tuple[Expr, ...], requirement: int
) -> str:
    """An index that a call reads at a point at which nothing else does; -1 stands for `values`."""
    signature = workload.signature
    names = _indices(arguments, signature)
    conditions = list(_conditions(signature, names, tensor, arguments))
    for point in accepted_points(signature, workload.discriminants, conditions):
        branch = workload.branch(point)
        if not branch.present[tensor.name]:
            continue
        if requirement < 0:
            left = branch.arguments[tensor.name]
        else:
            left = branch.required[tensor.name][requirement]
        read = {name for expr in left for name in branch.names_of(expr)} & names
        gone = sorted(read - set(branch.relevant))
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
    signature: Signature, names: frozenset[str], tensor: Tensor, arguments: tuple[Expr, ...]
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


RULES = (
    Rule("contents", "values and requires are well-formed on every branch", Phase.STATIC, contents),
)
