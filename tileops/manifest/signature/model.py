"""A checked signature: every expression parsed, every kind known.

In: nothing. Out: the dataclasses that `check` fills and that plans, rows, cost models and code
generation read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tileops.manifest.adt import ADT
from tileops.manifest.entry import Entry, TensorDecl, Text
from tileops.manifest.language.kinds import Kind
from tileops.manifest.language.rewrite import replace_names
from tileops.manifest.language.syntax import Apply, Axes, Expr, Present, ShapeTerm
from tileops.manifest.language.types import ParamType


class Role(Enum):
    """The part a tensor plays."""

    INPUT = "input"
    CONSTRUCTION = "construction tensor"
    OUTPUT = "output"


#: The section of a signature that declares the tensors of a role.
GROUPS = {Role.INPUT: "inputs", Role.OUTPUT: "outputs", Role.CONSTRUCTION: "params"}


class Missing(Enum):
    """The default of a parameter that has none."""

    MISSING = "missing"


MISSING = Missing.MISSING


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of the signature.

    `presence` is None for a tensor that is always there, `Present(itself)` for one with its own
    discriminant, another Bool for a shared one. `written` is False, True or the condition under
    which the operator writes it.
    """

    name: str
    role: Role
    dtype: Expr
    shape: ShapeTerm
    presence: Expr | None
    written: bool | Expr
    decl: TensorDecl

    @property
    def own_presence(self) -> bool:
        return self.presence == Present(self.name)

    @property
    def kw_only(self) -> bool:
        return self.decl.kw_only


@dataclass(frozen=True, slots=True)
class Param:
    """A construction parameter that is no tensor."""

    name: str
    type: ParamType
    kind: Kind
    default: Any
    kw_only: bool
    text: Text

    @property
    def required(self) -> bool:
        return self.default is MISSING


@dataclass(frozen=True, slots=True)
class Let:
    name: str
    expr: Expr
    kind: Kind
    text: Text


@dataclass(frozen=True, slots=True)
class Rule:
    """One refinement; `domain` when it reads only discriminants."""

    expr: Expr
    domain: bool
    text: Text


@dataclass(frozen=True, slots=True)
class Pattern:
    """What one place of a `when` matches: anything, a value, or a constructor with fields."""

    value: Any = None
    anything: bool = False
    constructor: str = ""
    fields: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    patterns: tuple[Pattern, ...]
    shape: ShapeTerm
    text: Text


@dataclass(frozen=True, slots=True)
class Family:
    """A type family. `match` are expressions over its formals."""

    name: str
    formals: tuple[tuple[str, Kind], ...]
    match: tuple[Expr, ...]
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """Everything an entry says of its type. `kinds` maps every name but tensors to its kind."""

    entry: Entry
    operator: str
    kinds: Mapping[str, Kind]
    indices: Mapping[str, Kind]
    params: tuple[Param, ...]
    construction: tuple[Tensor, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    lets: tuple[Let, ...]
    rules: tuple[Rule, ...]
    families: Mapping[str, Family]
    combos: tuple[tuple[tuple[str, str], ...], ...]
    adts: Mapping[str, ADT]

    @property
    def op(self) -> str:
        return self.entry.op

    @property
    def family(self) -> str:
        return "" if self.entry.family is None else self.entry.family.text

    @property
    def tensors(self) -> Iterator[Tensor]:
        """Construction-time tensors, inputs and outputs, in that order."""
        yield from self.construction
        yield from self.inputs
        yield from self.outputs

    def param(self, name: str) -> Param | None:
        return next((param for param in self.params if param.name == name), None)

    def tensor(self, name: str) -> Tensor | None:
        return next((tensor for tensor in self.tensors if tensor.name == name), None)

    @property
    def buffer(self) -> Tensor | None:
        """The output that `out` may carry."""
        return next((item for item in self.outputs if item.decl.buffer is not None), None)


def substitute_shape(term: ShapeTerm, values: Mapping[str, Expr]) -> ShapeTerm:
    """A shape term with its names replaced by expressions."""
    if isinstance(term, Apply):
        return Apply(term.family, tuple(replace_names(arg, values) for arg in term.args), term.at)
    return Axes(tuple(type(item)(replace_names(item.expr, values)) for item in term.items), term.at)
