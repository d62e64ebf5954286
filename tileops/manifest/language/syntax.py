"""The syntax trees of the expression language, and their canonical text.

Nodes are frozen and compare by structure; `at` is the offset in the text they came from and takes
no part in comparison. `str(node)` prints text that parses back to an equal node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

LiteralValue: TypeAlias = int | float | bool | str | None


def _at() -> int:
    return field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Literal:
    """An int, a finite float, a bool, None or a string; `inf` is the reserved float."""

    value: LiteralValue
    at: int = _at()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Literal)
            and type(self.value) is type(other.value)
            and self.value == other.value
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __str__(self) -> str:
        return "inf" if self.value == float("inf") else repr(self.value)


@dataclass(frozen=True, slots=True)
class TupleExpr:
    items: tuple[Expr, ...]
    at: int = _at()

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.items))
        return f"({inner},)" if len(self.items) == 1 else f"({inner})"


@dataclass(frozen=True, slots=True)
class Name:
    id: str
    at: int = _at()

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class Present:
    """`present(x)`: a tensor or Maybe value is there."""

    name: str
    at: int = _at()

    def __str__(self) -> str:
        return f"present({self.name})"


@dataclass(frozen=True, slots=True)
class Field:
    """`x.f`: an ADT field, `kind` included, or the payload of a Maybe value (`value`)."""

    base: str
    field: str
    at: int = _at()

    def __str__(self) -> str:
        return f"{self.base}.{self.field}"


@dataclass(frozen=True, slots=True)
class Subscript:
    base: Expr
    index: Expr
    at: int = _at()

    def __str__(self) -> str:
        return f"{_wrap(self.base, 8)}[{self.index}]"


@dataclass(frozen=True, slots=True)
class SliceExpr:
    base: Expr
    start: Expr | None
    stop: Expr | None
    at: int = _at()

    def __str__(self) -> str:
        start = "" if self.start is None else str(self.start)
        stop = "" if self.stop is None else str(self.stop)
        return f"{_wrap(self.base, 8)}[{start}:{stop}]"


@dataclass(frozen=True, slots=True)
class Negate:
    operand: Expr
    at: int = _at()

    def __str__(self) -> str:
        return f"-{_wrap(self.operand, 7)}"


@dataclass(frozen=True, slots=True)
class Not:
    operand: Expr
    at: int = _at()

    def __str__(self) -> str:
        return f"not {_wrap(self.operand, 3)}"


@dataclass(frozen=True, slots=True)
class Binary:
    """`+ - * // %`."""

    op: str
    left: Expr
    right: Expr
    at: int = _at()

    def __str__(self) -> str:
        level = 5 if self.op in "+-" else 6
        return f"{_wrap(self.left, level)} {self.op} {_wrap(self.right, level + 1)}"


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison, possibly chained: `first op0 rest0 op1 rest1`."""

    first: Expr
    ops: tuple[str, ...]
    rest: tuple[Expr, ...]
    at: int = _at()

    def __str__(self) -> str:
        parts = [_wrap(self.first, 5)]
        for op, item in zip(self.ops, self.rest, strict=True):
            parts += [op, _wrap(item, 5)]
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class BoolOp:
    """`and` or `or` of two or more operands."""

    op: str
    items: tuple[Expr, ...]
    at: int = _at()

    def __str__(self) -> str:
        level = 2 if self.op == "and" else 1
        return f" {self.op} ".join(_wrap(item, level + 1) for item in self.items)


@dataclass(frozen=True, slots=True)
class Conditional:
    test: Expr
    then: Expr
    otherwise: Expr
    at: int = _at()

    def __str__(self) -> str:
        return f"{_wrap(self.then, 1)} if {_wrap(self.test, 1)} else {_wrap(self.otherwise, 0)}"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a primitive, generator or predicate, by its dotted name."""

    function: str
    args: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...] = ()
    at: int = _at()

    def __str__(self) -> str:
        parts = [str(arg) for arg in self.args]
        parts += [f"{key}={value}" for key, value in self.keywords]
        return f"{self.function}({', '.join(parts)})"


@dataclass(frozen=True, slots=True)
class Comprehension:
    """`body for variable in source`, the argument of all, sum, max or min."""

    body: Expr
    variable: str
    source: Expr
    at: int = _at()

    def __str__(self) -> str:
        return f"{self.body} for {self.variable} in {_wrap(self.source, 1)}"


Expr: TypeAlias = (
    Literal
    | TupleExpr
    | Name
    | Present
    | Field
    | Subscript
    | SliceExpr
    | Negate
    | Not
    | Binary
    | Compare
    | BoolOp
    | Conditional
    | Call
    | Comprehension
)


def _level(node: Expr) -> int:
    match node:
        case Conditional():
            return 0
        case BoolOp(op="or"):
            return 1
        case BoolOp():
            return 2
        case Not():
            return 3
        case Compare():
            return 4
        case Binary(op=op):
            return 5 if op in "+-" else 6
        case Negate():
            return 7
        case Literal(value=value) if isinstance(value, int | float) and value < 0:
            return 7
        case _:
            return 9


def _wrap(node: Expr, level: int) -> str:
    text = str(node)
    return text if _level(node) >= level else f"({text})"


def children(node: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions of a node, in order."""
    match node:
        case TupleExpr(items=items) | BoolOp(items=items):
            return items
        case Subscript(base=base, index=index):
            return (base, index)
        case SliceExpr(base=base, start=start, stop=stop):
            return (base, *(part for part in (start, stop) if part is not None))
        case Negate(operand=operand) | Not(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case Compare(first=first, rest=rest):
            return (first, *rest)
        case Conditional(test=test, then=then, otherwise=otherwise):
            return (test, then, otherwise)
        case Call(args=args, keywords=keywords):
            return (*args, *(value for _, value in keywords))
        case Comprehension(body=body, source=source):
            return (source, body)
        case _:
            return ()


def walk(node: Expr) -> Iterator[Expr]:
    """The node and everything under it."""
    yield node
    for child in children(node):
        yield from walk(child)


def names_in(node: Expr) -> frozenset[str]:
    """Every free name a node reads, through `present`, fields and payloads as well."""
    match node:
        case Name(id=name) | Present(name=name) | Field(base=name):
            return frozenset((name,))
        case Comprehension(body=body, variable=variable, source=source):
            return names_in(source) | (names_in(body) - {variable})
        case _:
            return frozenset().union(*map(names_in, children(node)))


# --- shapes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a shape."""

    expr: Expr

    def __str__(self) -> str:
        return str(self.expr)


@dataclass(frozen=True, slots=True)
class Splice:
    """`*name` or `*primitive(...)`: any number of axes."""

    expr: Expr

    def __str__(self) -> str:
        return f"*{self.expr}"


@dataclass(frozen=True, slots=True)
class Axes:
    """A shape written out."""

    items: tuple[Axis | Splice, ...]
    at: int = _at()

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.items))}]"


@dataclass(frozen=True, slots=True)
class Apply:
    """A type family applied: `Family[arg, ...]`."""

    family: str
    args: tuple[Expr, ...]
    at: int = _at()

    def __str__(self) -> str:
        # One tuple would read as several arguments.
        ending = "," if len(self.args) == 1 and isinstance(self.args[0], TupleExpr) else ""
        return f"{self.family}[{', '.join(map(str, self.args))}{ending}]"


ShapeTerm: TypeAlias = Axes | Apply


def shape_exprs(term: ShapeTerm) -> tuple[Expr, ...]:
    """Every expression a shape term holds, in order."""
    if isinstance(term, Axes):
        return tuple(item.expr for item in term.items)
    return term.args
