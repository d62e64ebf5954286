"""The body of a generated function, line by line, and what every part of the emitter shares.

In: a signature, its plan, arguments and the spelling of expressions. Out: `Context`, to which the
emitters of parameters, dtypes, shapes and outputs write; each is a module of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tileops.codegen.lower import Lowering
from tileops.codegen.model import Argument
from tileops.manifest.language.syntax import Expr, Present
from tileops.manifest.signature.model import Signature
from tileops.manifest.signature.reading import negated
from tileops.manifest.signature.steps import Plan


@dataclass(slots=True)
class Body:
    """Lines under a current guard; a guard that negates the one before becomes its `else`."""

    lines: list[str] = field(default_factory=list)
    guard: Expr | None = None
    other: Expr | None = None

    def add(self, text: str, guard: Expr | None, spelled: str | None) -> None:
        if guard != self.guard:
            if guard is not None:
                follows = self.guard is not None and negated(self.guard) == guard
                closes = follows and self.other is None
                self.lines.append("else:" if closes else f"if {spelled}:")
                self.other = self.guard if closes else None
            else:
                self.other = None
            self.guard = guard
        indent = "" if guard is None else "    "
        self.lines += [indent + part for part in text.split("\n")]


@dataclass(slots=True)
class Context:
    """What the emitters share. `dtype_of` maps a DType index to the local that holds it."""

    signature: Signature
    plan: Plan
    arguments: list[Argument]
    low: Lowering
    leader: list[str]
    body: Body = field(default_factory=Body)
    dtype_of: dict[str, str] = field(default_factory=dict)
    shaped: set[str] = field(default_factory=set)

    @property
    def prefix(self) -> str:
        return self.low.prefix

    @property
    def device(self) -> str:
        return f"{self.prefix}device"

    @property
    def reject(self) -> str:
        return f"{self.low.support('reject')}({self.low.builtin('locals')}())"

    def shape_of(self, tensor: str) -> str:
        return f"{self.prefix}{tensor}_shape"

    def guard(self, guard: Expr | None) -> str | None:
        return None if guard is None else bare(self.low.expr(guard))

    def add(self, text: str, guard: Expr | None = None) -> None:
        self.body.add(text, guard, self.guard(guard))

    def fail_if(self, condition: str, guard: Expr | None = None) -> None:
        """A check whose condition is a Python value."""
        self.add(f"if {condition}:\n    {self.reject}", guard)

    def demand(self, condition: str) -> str:
        """The text of a check whose condition may be symbolic."""
        name = f"{self.prefix}c"
        call = f"{self.low.support('require')}({name}, {self.low.builtin('locals')}())"
        return f"{name} = {bare(condition)}\nif {name} is not True:\n    {call}"

    def require(self, condition: str, guard: Expr | None = None) -> None:
        self.add(self.demand(condition), guard)

    def presence_guard(self, tensor: str) -> Expr | None:
        declared = self.signature.tensor(tensor)
        if declared is None or declared.presence is None:
            return None
        return Present(tensor)


def free_prefix(signature: Signature, arguments: Mapping[str, object]) -> str:
    """The shortest run of underscores that begins no manifest name."""
    names = {*signature.kinds, *(tensor.name for tensor in signature.tensors), *arguments}
    prefix = "_"
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


def bare(text: str) -> str:
    """Text without a pair of parentheses around the whole of it."""
    if not text.startswith("(") or not text.endswith(")"):
        return text
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and at < len(text) - 1:
            return text
    inner = text[1:-1]
    return text if _has_comma(inner) else inner


def _has_comma(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            return True
    return False
