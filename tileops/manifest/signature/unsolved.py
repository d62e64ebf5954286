"""What is said of an index that no input solves: one finding where the YAML uses it."""

from __future__ import annotations

from collections.abc import Iterator

from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings, Span
from tileops.manifest.language.syntax import Axes, Expr, Name, names_in, walk
from tileops.manifest.signature.items import Item, RuleItem, TensorItem
from tileops.manifest.signature.knowledge import Knowledge
from tileops.manifest.signature.model import Role


def report_unsolved(knowledge: Knowledge, waiting: list[Item], findings: Findings) -> None:
    reported: set[str] = set()
    for item in waiting:
        for name, span, path in _unsolved(knowledge, item):
            if name in reported:
                continue
            reported.add(name)
            findings.add(
                codes.UNSOLVED,
                span,
                f"the index {name} must be solved from an input on every branch that uses it",
                op=knowledge.signature.op,
                field=path,
                help="give it an axis of an input, or declare it as a parameter or a let",
            )


def _unsolved(knowledge: Knowledge, item: Item) -> Iterator[tuple[str, Span, str]]:
    lets = {let.name: let for let in knowledge.signature.lets}
    for expr, guard in item.reads():
        for name in sorted(knowledge.missing(expr, guard)):
            root, text, at = name, None, 0
            while root in lets:
                text = lets[root].text
                inner = sorted(knowledge.missing(lets[root].expr, guard))
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
