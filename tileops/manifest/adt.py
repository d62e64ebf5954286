"""Algebraic data types: their declaration in types.yaml, and values of them.

In: the tree of types.yaml. Out: `ADT` declarations with kinds per field, and `ADTValue`, what a
literal `{constructor: {field: value}}` denotes where no Python class is imported.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings
from tileops.manifest.entry import Text
from tileops.manifest.language.infer import infer
from tileops.manifest.language.kinds import BOOL, DIM, INT, BoolKind, EnumKind, Kind
from tileops.manifest.language.parse import ExprError, parse_expression
from tileops.manifest.language.scope import Scope
from tileops.manifest.language.syntax import Expr
from tileops.manifest.language.types import kind_of_type, parse_type
from tileops.manifest.nodes import MappingNode, Node, ScalarNode


@dataclass(frozen=True, slots=True)
class Constructor:
    """One constructor: its Python class by dotted path, its fields' kinds, its invariant.

    `enums` maps an enum field to the dotted path of its Python enum class.
    """

    name: str
    python: str
    fields: Mapping[str, Kind]
    enums: Mapping[str, str]
    invariant: Expr | None
    invariant_text: Text | None

    @property
    def finite_fields(self) -> tuple[str, ...]:
        return tuple(
            name for name, kind in self.fields.items() if isinstance(kind, BoolKind | EnumKind)
        )


@dataclass(frozen=True, slots=True)
class ADT:
    name: str
    constructors: tuple[Constructor, ...]

    @property
    def fields(self) -> Mapping[str, Mapping[str, Kind]]:
        return {item.name: item.fields for item in self.constructors}

    def constructor(self, name: str) -> Constructor | None:
        return next((item for item in self.constructors if item.name == name), None)


ADTs = Mapping[str, ADT]

#: Names that mean something else where a type or a kind is written.
_TAKEN = frozenset(
    {"Bool", "DType", "Dim", "False", "Int", "None", "Number", "Seq", "Shape", "True"}
)


class ADTTable(dict[str, ADT]):
    """The ADTs of a folder by name, and what is known of those that cannot be read.

    `lost` are their names; with `unread` any name that is not here may be one of them. What reads
    them is left out, since the fault is in types.yaml and was reported there.
    """

    def __init__(self, *, unread: bool = False) -> None:
        super().__init__()
        self.lost: set[str] = set()
        self.unread = unread

    def misses(self, text: str) -> bool:
        """Whether a type or a kind names an ADT that cannot be read."""
        words = {word for word in re.findall(r"(?<![.\w'])[A-Za-z_]\w*", text)}
        if words & self.lost:
            return True
        unknown = words - self.keys() - _TAKEN
        return self.unread and any(word[:1].isupper() for word in unknown)


class ADTValue:
    """A value of an ADT as the manifest writes it; its fields are attributes, as is `kind`."""

    __slots__ = ("fields", "kind")

    def __init__(self, kind: str, fields: Mapping[str, Any]) -> None:
        self.kind = kind
        self.fields = dict(fields)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(name) from None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ADTValue) and self.kind == other.kind and self.fields == other.fields
        )

    def __hash__(self) -> int:
        return hash((self.kind, tuple(sorted(self.fields.items()))))

    def __repr__(self) -> str:
        inner = ", ".join(f"{key}: {value}" for key, value in self.fields.items())
        return f"{{{self.kind}: {{{inner}}}}}"


def decode_adts(root: MappingNode, findings: Findings) -> ADTTable:
    """The ADTs of types.yaml, by name; one that is not well formed is left out."""
    result = ADTTable(unread="adts" not in {key.value for key, _ in root.entries})
    for key, value in root.entries:
        if key.value != "adts":
            findings.add(
                codes.UNKNOWN_KEY, key.span, f"types.yaml must have the key adts, got {key.value!r}"
            )
        elif not isinstance(value, MappingNode):
            findings.add(codes.BAD_ADT, value.span, "adts must map names to constructors")
            result.unread = True
        else:
            for name, node in value.entries:
                adt = _Reader(findings, name).adt(node)
                if adt is not None:
                    result[adt.name] = adt
                elif _is_type_name(name.value):
                    result.lost.add(str(name.value))
                else:
                    result.unread = True
    return result


def _is_name(value: object) -> bool:
    return (
        isinstance(value, str)
        and value.isascii()
        and value.isidentifier()
        and not keyword.iskeyword(value)
        and not value.startswith("__")
    )


def _is_type_name(value: object) -> bool:
    return _is_name(value) and str(value)[:1].isupper() and value not in _TAKEN


def _is_path(value: object) -> bool:
    """Whether a value is the dotted path of something in a module."""
    return isinstance(value, str) and "." in value and all(map(_is_name, value.split(".")))


@dataclass(slots=True)
class _Reader:
    findings: Findings
    name: ScalarNode

    def bad(self, node: Node, message: str) -> None:
        self.findings.add(codes.BAD_ADT, node.span, f"{self.name.value} {message}", field="adts")

    def adt(self, node: Node) -> ADT | None:
        if not _is_type_name(self.name.value):
            self.findings.add(
                codes.BAD_ADT,
                self.name.span,
                "an ADT must have a name in PascalCase that nothing else has, got"
                f" {self.name.value!r}",
                field="adts",
            )
            return None
        if isinstance(node, MappingNode) and [key.value for key, _ in node.entries] == [
            "constructors"
        ]:
            node = node.entries[0][1]
        if not isinstance(node, MappingNode) or not node.entries:
            self.bad(node, "must map constructors to their fields")
            return None
        found = [self.constructor(key, value) for key, value in node.entries]
        if any(item is None for item in found):
            return None
        constructors = tuple(item for item in found if item is not None)
        kinds: dict[str, Kind] = {}
        for constructor in constructors:
            for field, kind in constructor.fields.items():
                if kinds.setdefault(field, kind) != kind:
                    self.bad(node, f"must give the field {field} one kind in every constructor")
                    return None
        return ADT(str(self.name.value), constructors)

    def constructor(self, key: ScalarNode, node: Node) -> Constructor | None:
        if not _is_name(key.value):
            self.bad(key, f"must name its constructors, got {key.value!r}")
            return None
        if not isinstance(node, MappingNode):
            self.bad(node, f"must map {key.value} to python, fields and invariant")
            return None
        for name, _ in node.entries:
            if name.value not in ("python", "fields", "invariant"):
                self.bad(name, f"{key.value} must have python, fields, invariant, got {name.text}")
                return None
        python = node.get("python")
        if not isinstance(python, ScalarNode) or not isinstance(python.value, str):
            self.bad(key, f"{key.value} must name its Python class under python")
            return None
        if not _is_path(python.value):
            path = repr(python.text)
            self.bad(python, f"{key.value} must have the dotted path of a class, got {path}")
            return None
        kinds: dict[str, Kind] = {}
        enums: dict[str, str] = {}
        fields = node.get("fields")
        if fields is not None and not isinstance(fields, MappingNode):
            self.bad(fields, f"{key.value} must map its fields to kinds")
            return None
        for name, value in fields.entries if isinstance(fields, MappingNode) else ():
            if not _is_name(name.value) or name.value in ("kind", "value"):
                self.bad(name, f"{key.value} must not have a field {name.text}")
                return None
            kind = self.field(str(name.value), value, enums)
            if kind is None:
                return None
            kinds[str(name.value)] = kind
        text = node.get("invariant")
        invariant = self.invariant(text, kinds) if text is not None else None
        if text is not None and invariant is None:
            return None
        located = Text(text.text, text) if isinstance(text, ScalarNode) else None
        return Constructor(str(key.value), python.value, kinds, enums, invariant, located)

    def field(self, name: str, node: Node, enums: dict[str, str]) -> Kind | None:
        simple: dict[object, Kind] = {"Dim": DIM, "Int": INT, "Bool": BOOL}
        if isinstance(node, ScalarNode) and node.value in simple:
            return simple[node.value]
        if isinstance(node, MappingNode):
            type_, python = node.get("type"), node.get("python")
            if isinstance(type_, ScalarNode) and isinstance(type_.value, str):
                try:
                    kind = kind_of_type(parse_type(type_.value, {}), {})
                except ExprError as error:
                    self.bad(type_, f"field {name}: {error.message}")
                    return None
                if isinstance(kind, EnumKind) and isinstance(python, ScalarNode):
                    if not _is_path(python.value):
                        self.bad(
                            python,
                            f"field {name} must have the dotted path of an enum, got"
                            f" {python.text!r}",
                        )
                        return None
                    enums[name] = str(python.value)
                    return kind
        self.bad(node, f"field {name} must be Dim, Int, Bool or an enum with type and python")
        return None

    def invariant(self, node: Node, kinds: Mapping[str, Kind]) -> Expr | None:
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            try:
                expr = parse_expression(node.value)
                if isinstance(infer(expr, Scope(kinds, {}, opaque=True)), BoolKind):
                    return expr
                self.bad(node, "invariant must be a Bool")
            except ExprError as error:
                self.bad(node, f"invariant: {error.message}")
        else:
            self.bad(node, "invariant must be an expression")
        return None
