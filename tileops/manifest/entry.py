"""One operator as the manifest declares it: frozen, located, its expressions still text.

In: nothing. Out: the dataclasses that `decode` fills. A field that could not be read is None and
its path stands in `Entry.unreadable`; only what reads the field skips it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileops.diagnostics.model import Span
from tileops.manifest.nodes import Node, ScalarNode


@dataclass(frozen=True, slots=True)
class Text:
    """Text of the manifest with its place."""

    text: str
    node: ScalarNode

    @property
    def span(self) -> Span:
        return self.node.span

    def place(self, offset: int, length: int = 1) -> Span:
        """The place of the character at `offset`."""
        return self.node.place(offset, length)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class IndexDecl:
    """One row of `forall`."""

    name: Text
    kind: Text


@dataclass(frozen=True, slots=True)
class TensorDecl:
    """A tensor in any role: input, output or construction-time parameter.

    `optional` is True for a tensor of its own discriminant, text for a shared one; `mutated`
    likewise. Fields that the role does not have keep their defaults.
    """

    name: Text
    dtype: Text | None
    shape: Text | None
    optional: bool | Text = False
    nullable: Text | None = None
    kw_only: bool = False
    mutated: bool | Text = False
    write_only: bool = False
    buffer: Text | None = None
    alias: Text | None = None
    contiguous: bool = False
    on_cpu: bool = False
    values: Text | None = None
    requires: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class ParamDecl:
    """One construction parameter; `tensor` is set for a construction-time tensor.

    `default` is None where the parameter has none.
    """

    name: Text
    type: Text | None
    default: Node | None = None
    kw_only: bool = False
    tensor: TensorDecl | None = None


@dataclass(frozen=True, slots=True)
class CaseDecl:
    when: Node
    shape: Text


@dataclass(frozen=True, slots=True)
class FamilyDecl:
    """One type family; `tuple_match` says that `match` and `when` are lists."""

    name: Text
    params: tuple[tuple[Text, Text], ...]
    match: tuple[Text, ...]
    tuple_match: bool
    cases: tuple[CaseDecl, ...]
    cases_span: Span


@dataclass(frozen=True, slots=True)
class LetDecl:
    name: Text
    expr: Text


@dataclass(frozen=True, slots=True)
class ComboDecl:
    """One row of dtype_combos."""

    span: Span
    items: tuple[tuple[Text, Text], ...]


@dataclass(frozen=True, slots=True)
class RowDecl:
    """One workload row, its values still nodes."""

    span: Span
    items: tuple[tuple[ScalarNode, Node], ...]

    def get(self, key: str) -> Node | None:
        return next((value for name, value in self.items if name.value == key), None)


@dataclass(frozen=True, slots=True)
class RooflineDecl:
    span: Span
    flops: Text | None
    bytes: Text | None
    func: Text | None


@dataclass(frozen=True, slots=True)
class StageDecl:
    name: Text
    op: Text | None
    kernel: Text | None
    optional: bool


@dataclass(frozen=True, slots=True)
class CompositionDecl:
    span: Span
    kind: Text
    stages: tuple[StageDecl, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the manifest."""

    name: Text
    family: Text | None
    status: Text | None
    ref_api: Text | None
    forall: tuple[IndexDecl, ...]
    params: tuple[ParamDecl, ...]
    inputs: tuple[TensorDecl, ...]
    outputs: tuple[TensorDecl, ...]
    types: tuple[FamilyDecl, ...]
    lets: tuple[LetDecl, ...]
    rules: tuple[Text, ...]
    combos: tuple[ComboDecl, ...]
    workloads: tuple[RowDecl, ...]
    roofline: RooflineDecl | None
    composition: CompositionDecl | None
    unreadable: frozenset[str] = frozenset()

    @property
    def op(self) -> str:
        return self.name.text
