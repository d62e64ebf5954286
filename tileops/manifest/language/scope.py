"""What the names of an expression stand for, and the kinds of names, presences and fields.

In: declared kinds, what guards have narrowed, ADTs. Out: `Scope`, which `infer` reads and
`narrowing` narrows; `ExprError` where a name may not stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tileops.manifest.language.kinds import (
    BOOL,
    ADTKind,
    EnumKind,
    FloatKind,
    Kind,
    MaybeKind,
    NoneKind,
    NumberKind,
    OpaqueKind,
    members_of,
    union_of,
)
from tileops.manifest.language.parse import ExprError
from tileops.manifest.language.primitives import PRIMITIVES, Primitive

Fields = Mapping[str, Mapping[str, Kind]]


@dataclass(frozen=True, slots=True)
class Scope:
    """What the names of an expression stand for.

    `kinds` are the kinds as declared, `narrowed` what guards have made of them here; `adts` maps an
    ADT to its constructors' fields. `opaque` admits parameters that take no part in types, as
    refinements and rooflines do; `hidden` explains names that exist but may not stand here.
    `lost` are names whose declaration could not be read, None for every name that is not known:
    what reads one has the fault "lost", which is no finding of its own.
    """

    kinds: Mapping[str, Kind]
    adts: Mapping[str, Fields]
    functions: Mapping[str, Primitive] = field(default_factory=lambda: PRIMITIVES)
    narrowed: Mapping[str, Kind] = field(default_factory=dict)
    hidden: Mapping[str, str] = field(default_factory=dict)
    opaque: bool = False
    lost: frozenset[str] | None = frozenset()

    def kind(self, key: str) -> Kind:
        return self.narrowed.get(key) or self.kinds[key]

    def narrow(self, key: str, kind: Kind) -> Scope:
        return replace(self, narrowed={**self.narrowed, key: kind})

    def bind(self, name: str, kind: Kind) -> Scope:
        narrowed = {key: value for key, value in self.narrowed.items() if key != name}
        return replace(self, kinds={**self.kinds, name: kind}, narrowed=narrowed)


def named_kind(name: str, at: int, scope: Scope) -> Kind:
    if name in scope.hidden:
        raise ExprError(scope.hidden[name], at, fault="name")
    if name not in scope.kinds:
        raise unknown_name(name, at, scope)
    kind = scope.kind(name)
    if not scope.opaque:
        outside = [
            member
            for member in members_of(scope.kinds[name])
            if isinstance(member, OpaqueKind | FloatKind | NumberKind)
        ]
        if outside:
            raise ExprError(
                f"{name} must not be read here, a {scope.kinds[name]} takes no part in types",
                at,
                fault="kind",
            )
    return kind


def unknown_name(name: str, at: int, scope: Scope) -> ExprError:
    if scope.lost is None or name in scope.lost:
        return ExprError(f"{name} must have a declaration that can be read", at, fault="lost")
    if name in scope.functions:
        return ExprError(f"{name} is a primitive and must be called", at, fault="name")
    known = ", ".join(sorted(scope.kinds)) or "none"
    return ExprError(f"{name} must be a declared name, known are {known}", at, fault="name")


def present_kind(name: str, at: int, scope: Scope) -> Kind:
    if name not in scope.kinds:
        raise unknown_name(name, at, scope)
    kind = scope.kinds[name]
    if not isinstance(kind, MaybeKind):
        raise ExprError(
            f"present must take an optional tensor or a value that may be None, {name} is {kind}",
            at,
            fault="kind",
        )
    return BOOL


def field_kind(base: str, field: str, at: int, scope: Scope) -> Kind:
    if base not in scope.kinds:
        raise unknown_name(base, at, scope)
    kind = scope.kind(base)
    if isinstance(kind, ADTKind):
        return _adt_field(base, field, kind, at, scope)
    if field != "value":
        raise ExprError(f"{base} must have a field {field}, it is {kind}", at, fault="kind")
    if not isinstance(scope.kinds[base], MaybeKind):
        raise ExprError(
            f"{base} must be a Maybe value to have .value, it is {kind}", at, fault="kind"
        )
    if isinstance(kind, MaybeKind | NoneKind):
        raise ExprError(
            f"{base}.value must stand where present({base}) holds",
            at,
            f"write {base}.value if present({base}) else ...",
            "kind",
        )
    return named_kind(base, at, scope)


def _adt_field(base: str, field: str, kind: ADTKind, at: int, scope: Scope) -> Kind:
    if field == "kind":
        return EnumKind(kind.constructors)
    key = f"{base}.{field}"
    if key in scope.narrowed:
        return scope.narrowed[key]
    fields = scope.adts[kind.name]
    without = [name for name in kind.constructors if field not in fields[name]]
    if without or not kind.constructors:
        raise ExprError(
            f"{base}.{field} must be a field of every constructor {base} may have here, got"
            f" {', '.join(without) or 'none that has it'}",
            at,
            f"guard it with {base}.kind == '<constructor>'",
            "kind",
        )
    return union_of(tuple(dict.fromkeys(fields[name][field] for name in kind.constructors)))
