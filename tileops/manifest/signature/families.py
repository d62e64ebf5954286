"""Type families: formals, match, cases; exhaustive and disjoint over the values accepted.

In: the checker of an entry. Out: the families whose declarations are sound. Coverage is judged per
family over the finite values of what it matches, `uncovered`; which of those values an entry
accepts is known only with its domain restrictions, so `plan` asks for it there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from tileops.diagnostics import codes
from tileops.diagnostics.model import Label
from tileops.manifest.adt import ADT
from tileops.manifest.entry import CaseDecl, FamilyDecl
from tileops.manifest.language.infer import infer
from tileops.manifest.language.kinds import (
    BOOL,
    ADTKind,
    BoolKind,
    EnumKind,
    Kind,
    MaybeKind,
    NoneKind,
    members_of,
)
from tileops.manifest.language.narrowing import narrow
from tileops.manifest.language.parse import ExprError, parse_expression
from tileops.manifest.language.rewrite import replace_names
from tileops.manifest.language.scope import Scope
from tileops.manifest.language.syntax import (
    Apply,
    Expr,
    Field,
    Name,
    Present,
    ShapeTerm,
)
from tileops.manifest.language.types import kind_of_type, parse_forall_kind, parse_type
from tileops.manifest.nodes import MappingNode, Node, ScalarNode, SequenceNode
from tileops.manifest.signature.model import (
    GROUPS,
    Case,
    Family,
    Pattern,
    Signature,
    substitute_shape,
)
from tileops.manifest.signature.patterns import matches, pattern_conditions
from tileops.manifest.signature.points import Discriminants, variable_values

if TYPE_CHECKING:
    from tileops.manifest.signature.check import Checker


#: Values that a match may have, and shapes that a family may stand for.
MAX_VALUES = 65536
MAX_SHAPES = 512


def check_families(checker: Checker) -> dict[str, Family]:
    """Every family of the entry that is well formed, in an order in which references resolve."""
    pending = {decl.name.text: decl for decl in checker.entry.types}
    references = {name: set(_applied(decl)) & pending.keys() for name, decl in pending.items()}
    done: dict[str, Family] = {}
    shapes: dict[str, int] = {}
    while pending:
        ready = [name for name in pending if not references[name] & pending.keys()]
        if not ready:
            for name in sorted(pending):
                others = ", ".join(sorted(references[name] & pending.keys()))
                checker.report(
                    codes.CYCLE,
                    pending[name].name.span,
                    f"signature.types.{name}",
                    f"type family {name} must not refer to itself, got a circle through {others}",
                )
            checker.lost.update(pending)
            break
        for name in ready:
            checker.families = done
            family = _Reader(checker, pending.pop(name)).family()
            if family is not None and not _is_bounded(checker, family, shapes):
                family = None
            if family is None:
                checker.lost.add(name)
            else:
                done[name] = family
    _check_applied(checker)
    return done


def _check_applied(checker: Checker) -> None:
    """Reports families that no shape applies, unless a shape applies one that is not there."""
    used = {name for decl in checker.entry.types for name in _applied(decl)}
    shapes = [tensor.shape for tensor, _ in checker.declared()]
    used |= {"?" if text is None else text.text.partition("[")[0].strip() for text in shapes} - {""}
    if used - {decl.name.text for decl in checker.entry.types}:
        return
    for decl in checker.entry.types:
        if decl.name.text not in used:
            checker.report(
                codes.BAD_FAMILY,
                decl.name.span,
                f"signature.types.{decl.name}",
                f"type family {decl.name} must be applied by a shape",
            )


def _is_bounded(checker: Checker, family: Family, shapes: dict[str, int]) -> bool:
    """Whether a family stands for few shapes, those of the families that it applies included."""
    applied = [case.shape.family for case in family.cases if isinstance(case.shape, Apply)]
    count = len(family.cases) - len(applied) + sum(shapes[name] for name in applied)
    shapes[family.name] = count
    if count <= MAX_SHAPES:
        return True
    decl = next(item for item in checker.entry.types if item.name.text == family.name)
    checker.report(
        codes.BAD_FAMILY,
        decl.cases_span,
        f"signature.types.{family.name}.cases",
        f"{family.name} must stand for at most {MAX_SHAPES} shapes, got {count}",
    )
    return False


def check_matches(checker: Checker, signature: Signature, discriminants: Discriminants) -> None:
    """Reports applications that give a matched formal what is no discriminant."""
    for tensor in signature.tensors:
        for expr in _matched(tensor.shape, signature):
            if discriminants.reads(expr)[1] and tensor.decl.shape is not None:
                continue
            assert tensor.decl.shape is not None
            checker.report(
                codes.BAD_FAMILY,
                tensor.decl.shape.span,
                f"signature.{GROUPS[tensor.role]}.{tensor.name}.shape",
                f"{tensor.shape} must match on discriminants only, got {expr}",
            )


def _matched(term: ShapeTerm, signature: Signature) -> Iterator[Expr]:
    """What the families of a shape term match, with the application's arguments put in."""
    if not isinstance(term, Apply):
        return
    family = signature.families[term.family]
    values = {name: arg for (name, _), arg in zip(family.formals, term.args, strict=True)}
    for expr in family.match:
        yield replace_names(expr, values)
    for case in family.cases:
        yield from _matched(substitute_shape(case.shape, values), signature)


def _applied(decl: FamilyDecl) -> Iterator[str]:
    for case in decl.cases:
        head = case.shape.text.partition("[")[0].strip()
        if head:
            yield head


class _Reader:
    """One family's declaration."""

    def __init__(self, checker: Checker, decl: FamilyDecl) -> None:
        self.checker = checker
        self.decl = decl
        self.path = f"signature.types.{decl.name}"

    def bad(self, node: Node, message: str, field: str = "") -> None:
        path = f"{self.path}.{field}" if field else self.path
        self.checker.report(codes.BAD_FAMILY, node.span, path, f"{self.decl.name}: {message}")

    def family(self) -> Family | None:
        formals = self.formals()
        if formals is None or not self.complete():
            return None
        scope = Scope(dict(formals), {name: adt.fields for name, adt in self.checker.adts.items()})
        match = self.match(scope)
        if match is None:
            return None
        kinds = [infer(expr, scope) for expr in match]
        cases: list[Case] = []
        for decl in self.decl.cases:
            patterns = self.patterns(decl.when, kinds)
            if patterns is None:
                return None
            case = self.case(decl, patterns, match, scope)
            if case is None:
                return None
            cases.append(case)
        family = Family(self.decl.name.text, formals, match, tuple(cases))
        self.check_disjoint(family, kinds)
        return family

    def complete(self) -> bool:
        """Whether there is something to match and a case; what cannot be read was reported."""
        lost = self.checker.entry.unreadable
        parts = tuple(f"{self.path}.{part}" for part in ("params", "match", "cases"))
        if any(path.startswith(parts) for path in lost):
            return False
        for what, have in (("match something", self.decl.match), ("have a case", self.decl.cases)):
            if not have:
                self.checker.report(
                    codes.BAD_FAMILY,
                    self.decl.cases_span if have is self.decl.cases else self.decl.name.span,
                    self.path,
                    f"type family {self.decl.name} must {what}",
                )
                return False
        return True

    def formals(self) -> tuple[tuple[str, Kind], ...] | None:
        adts = self.checker.constructors()
        result: list[tuple[str, Kind]] = []
        for name, text in self.decl.params:
            if self.checker.misses_type(text):
                return None
            try:
                if text.text == "Bool":
                    kind: Kind = BOOL
                elif text.text.startswith(("Dim", "Shape", "DType", "Seq")):
                    kind = parse_forall_kind(text.text)
                else:
                    known = text.text.replace("Int", "int") if text.text == "Int" else text.text
                    kind = kind_of_type(parse_type(known, adts), adts)
            except ExprError as error:
                self.checker.report_text(error, text, f"{self.path}.params.{name}")
                return None
            result.append((name.text, kind))
        return tuple(result)

    def match(self, scope: Scope) -> tuple[Expr, ...] | None:
        result: list[Expr] = []
        for text in self.decl.match:
            try:
                expr = parse_expression(text.text)
                infer(expr, scope)
            except ExprError as error:
                self.checker.report_text(error, text, f"{self.path}.match")
                return None
            kind = infer(expr, scope)
            finite = isinstance(expr, Name | Present | Field) and isinstance(
                kind, BoolKind | EnumKind | ADTKind
            )
            if not finite and not (isinstance(kind, MaybeKind) and _is_finite(kind.item)):
                self.bad(
                    text.node,
                    f"match must be a Bool, an enum, an ADT or present(...), {expr} is {kind}",
                    "match",
                )
                return None
            result.append(expr)
        return tuple(result)

    def patterns(self, node: Node, kinds: list[Kind]) -> tuple[Pattern, ...] | None:
        if self.decl.tuple_match:
            if not isinstance(node, SequenceNode) or len(node.items) != len(kinds):
                self.bad(node, f"when must be a list of {len(kinds)} values", "cases")
                return None
            parts = node.items
        else:
            parts = (node,)
        found = [self.pattern(part, kind) for part, kind in zip(parts, kinds, strict=True)]
        if any(pattern is None for pattern in found):
            return None
        return tuple(pattern for pattern in found if pattern is not None)

    def pattern(self, node: Node, kind: Kind) -> Pattern | None:
        if isinstance(node, ScalarNode):
            if node.value == "_":
                return Pattern(anything=True)
            values = _finite_values(kind, self.checker.adts)
            if not any(type(node.value) is type(v) and node.value == v for v in values):
                self.bad(node, f"when must be a value of {kind}, got {node.value!r}", "cases")
                return None
            return Pattern(node.value)
        inner = kind.item if isinstance(kind, MaybeKind) else kind
        if isinstance(node, MappingNode) and len(node.entries) == 1 and isinstance(inner, ADTKind):
            key, value = node.entries[0]
            return self.constructor(key, value, self.checker.adts[inner.name])
        self.bad(node, f"when must be a value of {kind}", "cases")
        return None

    def constructor(self, key: ScalarNode, value: Node, adt: ADT) -> Pattern | None:
        constructor = adt.constructor(str(key.value))
        if constructor is None:
            self.bad(key, f"{key.value} must be a constructor of {adt.name}", "cases")
            return None
        if isinstance(value, ScalarNode) and value.value in ("_", None):
            return Pattern(constructor=constructor.name)
        if not isinstance(value, MappingNode):
            self.bad(value, "a constructor must map to _ or to finite fields", "cases")
            return None
        fields: list[tuple[str, Any]] = []
        for name, item in value.entries:
            if name.value not in constructor.finite_fields or not isinstance(item, ScalarNode):
                self.bad(name, f"{name.text} must be a finite field of {constructor.name}", "cases")
                return None
            if item.value == "_":
                continue
            values = _finite_values(constructor.fields[str(name.value)], self.checker.adts)
            if item.value not in values:
                self.bad(
                    item, f"{name.text} must be one of its values, got {item.value!r}", "cases"
                )
                return None
            fields.append((str(name.value), item.value))
        return Pattern(constructor=constructor.name, fields=tuple(sorted(fields)))

    def case(
        self, decl: CaseDecl, patterns: tuple[Pattern, ...], match: tuple[Expr, ...], scope: Scope
    ) -> Case | None:
        for pattern, expr in zip(patterns, match, strict=True):
            for condition, truth in pattern_conditions(pattern, expr):
                scope = narrow(condition, scope, truth)
        term = self.checker.shape(decl.shape, f"{self.path}.cases", scope)
        if term is None:
            return None
        return Case(patterns, term, decl.shape)

    def check_disjoint(self, family: Family, kinds: list[Kind]) -> None:
        taken: dict[tuple[Any, ...], int] = {}
        options = [_finite_values(kind, self.checker.adts) for kind in kinds]
        count = prod(map(len, options))
        if count > MAX_VALUES:
            message = f"match must have at most {MAX_VALUES} values, got {count}"
            self.bad(self.decl.match[0].node, message, "match")
            return
        reported: set[int] = set()
        for values in itertools.product(*options):
            for at, case in enumerate(family.cases):
                if not matches(case, values):
                    continue
                first = taken.setdefault(values, at)
                if first != at and at not in reported:
                    reported.add(at)
                    self.checker.report(
                        codes.OVERLAPPING_CASE,
                        self.decl.cases[at].when.span,
                        f"{self.path}.cases",
                        f"{family.name}: cases must be disjoint, {_show(values)} is taken by case"
                        f" {first + 1} as well",
                        labels=(Label(self.decl.cases[first].when.span, "taken here first"),),
                    )


def _is_finite(kind: Kind) -> bool:
    return isinstance(kind, BoolKind | EnumKind | ADTKind)


def _finite_values(kind: Kind, adts: Mapping[str, ADT]) -> tuple[Any, ...]:
    values: list[Any] = []
    for member in members_of(kind):
        if isinstance(member, NoneKind):
            values.append(None)
        elif _is_finite(member):
            values += variable_values(member, adts)
    return tuple(values)


def _show(values: tuple[Any, ...]) -> str:
    return repr(values[0]) if len(values) == 1 else repr(values)
