"""Entry -> Signature: expressions parsed, kinds inferred, every declaration in its place.

In: an entry and the ADTs. Out: a `Signature`, or None with findings. A rule about one declaration
stands here; families are checked in `families`, effects in `effects`, plans in `plan`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tileops.diagnostics import codes
from tileops.diagnostics.model import Code, Findings, Label, Span
from tileops.diagnostics.text import shorten
from tileops.manifest.adt import ADT, ADTTable
from tileops.manifest.dtypes import DTYPES
from tileops.manifest.entry import Entry, ParamDecl, TensorDecl, Text
from tileops.manifest.language.infer import infer
from tileops.manifest.language.kinds import (
    TENSOR,
    BoolKind,
    DTypeKind,
    Kind,
    MaybeKind,
    SeqKind,
    fits,
)
from tileops.manifest.language.parse import ExprError, parse_expression
from tileops.manifest.language.scope import Scope
from tileops.manifest.language.syntax import Expr, Literal, ShapeTerm
from tileops.manifest.language.types import (
    ParamType,
    kind_of_type,
    parse_forall_kind,
    parse_type,
)
from tileops.manifest.naming import operator_name
from tileops.manifest.signature.combos import combos
from tileops.manifest.signature.effects import check_effects
from tileops.manifest.signature.families import check_families, check_matches
from tileops.manifest.signature.lets import read_lets
from tileops.manifest.signature.model import (
    GROUPS,
    MISSING,
    Family,
    Let,
    Param,
    Role,
    Rule,
    Signature,
    Tensor,
)
from tileops.manifest.signature.order import check_device, check_order, check_validate_inputs
from tileops.manifest.signature.points import Discriminants
from tileops.manifest.signature.presence import check_presences, presences
from tileops.manifest.signature.shape_terms import read_shape
from tileops.manifest.signature.used import check_used
from tileops.manifest.values import read_value

#: The code of each fault that reading an expression may have.
FAULTS: dict[str, Code] = {
    "syntax": codes.SYNTAX,
    "form": codes.REJECTED_FORM,
    "name": codes.UNKNOWN_NAME,
    "kind": codes.WRONG_KIND,
    "literal": codes.DEAD_LITERAL,
    "function": codes.UNKNOWN_FUNCTION,
}


#: The sections of a signature that declare names which expressions read.
DECLARING = ("forall", "params", "inputs", "outputs", "let", "types")


def check_entry(entry: Entry, adts: Mapping[str, ADT], findings: Findings) -> Signature | None:
    """The signature of an entry, or None when it has an error."""
    before = findings.errors
    checker = Checker(entry, adts, findings)
    signature = checker.run()
    if signature is None or findings.errors > before or entry.unreadable or checker.lost_type:
        return None
    check_used(checker, signature)
    return signature


@dataclass(slots=True)
class Checker:
    """The state of one entry's check; the stages fill it in the order of `run`."""

    entry: Entry
    adts: Mapping[str, ADT]
    findings: Findings
    kinds: dict[str, Kind] = field(default_factory=dict)
    indices: dict[str, Kind] = field(default_factory=dict)
    hidden: dict[str, str] = field(default_factory=dict)
    params: list[Param] = field(default_factory=list)
    lets: dict[str, Let] = field(default_factory=dict)
    tensor_kinds: dict[str, Kind] = field(default_factory=dict)
    families: dict[str, Family] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    lost_section: bool = False
    #: Whether a type that was reported elsewhere is missing here.
    lost_type: bool = False

    def run(self) -> Signature | None:
        self.find_lost()
        self.read_indices()
        self.read_params()
        self.read_tensor_kinds()
        read_lets(self)
        conditions = presences(self)
        discriminants = self.discriminants(conditions)
        check_presences(self, conditions, discriminants)
        self.families = check_families(self)
        tensors = [self.tensor(decl, role, conditions) for decl, role in self.declared()]
        rules = [self.rule(text, discriminants) for text in self.entry.rules]
        signature = Signature(
            entry=self.entry,
            operator=operator_name(
                self.entry.op, "" if self.entry.family is None else self.entry.family.text
            ),
            kinds=self.kinds,
            indices=self.indices,
            params=tuple(self.params),
            construction=_of_role(tensors, Role.CONSTRUCTION),
            inputs=_of_role(tensors, Role.INPUT),
            outputs=_of_role(tensors, Role.OUTPUT),
            lets=tuple(self.lets.values()),
            rules=tuple(rule for rule in rules if rule is not None),
            families=self.families,
            combos=combos(self),
            adts=self.adts,
        )
        check_matches(self, signature, discriminants)
        check_effects(self, signature, discriminants)
        check_order(self)
        check_device(self)
        check_validate_inputs(self)
        return signature

    # --- reporting ----------------------------------------------------------------------------

    def report(
        self,
        code: Code,
        span: Span,
        path: str,
        message: str,
        help: str = "",
        labels: tuple[Label, ...] = (),
    ) -> None:
        self.findings.add(
            code, span, message, op=self.entry.op, field=path, help=help, labels=labels
        )

    def report_text(self, error: ExprError, text: Text, path: str) -> None:
        if error.fault == "lost":
            return
        self.report(
            FAULTS[error.fault],
            text.place(error.at),
            path,
            f"{path.rpartition('.')[2]} {shorten(repr(text.text), 200)}: {error.message}",
            error.help,
        )

    # --- names --------------------------------------------------------------------------------

    def scope(self, *, opaque: bool = False, extra: Mapping[str, Kind] | None = None) -> Scope:
        # Of two equal names the later one was reported; what reads the name means the first.
        kinds = {**self.tensor_kinds, **self.kinds, **(extra or {})}
        fields = {name: adt.fields for name, adt in self.adts.items()}
        lost = None if self.lost_section else frozenset(self.lost)
        return Scope(kinds, fields, hidden=self.hidden, opaque=opaque, lost=lost)

    def find_lost(self) -> None:
        """The names that the entry declares, and whose declarations could not be decoded."""
        for path in self.entry.unreadable:
            section, _, rest = path.removeprefix("signature").removeprefix(".").partition(".")
            if path == "signature" or (section in DECLARING and not rest):
                self.lost_section = True
            elif path.startswith("signature.") and section in DECLARING:
                self.lost.add(rest.partition(".")[0])
        self.lost -= {name.text for name in self.declared_names()}

    def declared_names(self) -> Iterator[Text]:
        """Every name with a declaration that was decoded, if only in part."""
        yield from (decl.name for decl in self.entry.forall)
        yield from (decl.name for decl in self.entry.params)
        yield from (decl.name for decl, _ in self.declared())
        yield from (decl.name for decl in self.entry.lets)

    def read_indices(self) -> None:
        for decl in self.entry.forall:
            try:
                kind = parse_forall_kind(decl.kind.text)
            except ExprError as error:
                self.report_text(error, decl.kind, f"signature.forall.{decl.name}")
                self.lost.add(decl.name.text)
                continue
            self.indices[decl.name.text] = kind
            if isinstance(kind, SeqKind):
                self.hidden[decl.name.text] = (
                    f"{decl.name} must be a generator argument only, it is a Seq[Int] index"
                )
            else:
                self.kinds[decl.name.text] = kind

    def constructors(self) -> dict[str, tuple[str, ...]]:
        return {
            name: tuple(item.name for item in adt.constructors) for name, adt in self.adts.items()
        }

    def misses_type(self, text: Text) -> bool:
        """Whether a type or a kind names an ADT that types.yaml declares, and wrongly."""
        missed = isinstance(self.adts, ADTTable) and self.adts.misses(text.text)
        self.lost_type |= missed
        return missed

    def read_params(self) -> None:
        adts = self.constructors()
        for decl in self.entry.params:
            if decl.tensor is not None:
                continue
            if decl.type is None:
                self.lost.add(decl.name.text)
                continue
            path = f"signature.params.{decl.name}"
            if self.misses_type(decl.type):
                self.lost.add(decl.name.text)
                continue
            try:
                type_ = parse_type(decl.type.text, adts)
            except ExprError as error:
                self.report_text(error, decl.type, f"{path}.type")
                self.lost.add(decl.name.text)
                continue
            kind = kind_of_type(type_, adts)
            self.kinds.setdefault(decl.name.text, kind)
            self.params.append(
                Param(
                    decl.name.text,
                    type_,
                    kind,
                    self.default(decl, type_, path),
                    decl.kw_only,
                    decl.name,
                )
            )

    def default(self, decl: ParamDecl, type_: ParamType, path: str) -> Any:
        if decl.default is None:
            return MISSING
        try:
            return read_value(decl.default, type_, self.adts)
        except ValueError as error:
            self.report(codes.BAD_DEFAULT, decl.default.span, f"{path}.default", f"default {error}")
            return MISSING

    def declared(self) -> Iterable[tuple[TensorDecl, Role]]:
        for decl in self.entry.params:
            if decl.tensor is not None:
                yield decl.tensor, Role.CONSTRUCTION
        for tensor in self.entry.inputs:
            yield tensor, Role.INPUT
        for tensor in self.entry.outputs:
            yield tensor, Role.OUTPUT

    def read_tensor_kinds(self) -> None:
        for decl, role in self.declared():
            optional = decl.optional is not False and role is not Role.OUTPUT
            self.tensor_kinds[decl.name.text] = MaybeKind(TENSOR) if optional else TENSOR
            if decl.buffer is not None:
                self.tensor_kinds["out"] = MaybeKind(TENSOR)

    # --- expressions --------------------------------------------------------------------------

    def expression(
        self, text: Text, path: str, scope: Scope, expected: Kind | None = None
    ) -> tuple[Expr, Kind] | None:
        """A parsed expression and its kind, or None with a finding."""
        try:
            expr = parse_expression(text.text)
            kind = infer(expr, scope)
        except ExprError as error:
            self.report_text(error, text, path)
            return None
        if expected is not None and not fits(kind, expected):
            self.report(
                codes.WRONG_KIND, text.span, path, f"{expr} must be a {expected}, got {kind}"
            )
            return None
        return expr, kind

    def rule(self, text: Text, discriminants: Discriminants) -> Rule | None:
        found = self.expression(text, "signature.shape_rules", self.scope(opaque=True))
        if found is None:
            return None
        expr, kind = found
        if not isinstance(kind, BoolKind):
            self.report(
                codes.WRONG_KIND,
                text.span,
                "signature.shape_rules",
                f"a refinement must be a Bool, {expr} is {kind}",
            )
            return None
        return Rule(expr, discriminants.reads(expr)[1], text)

    def discriminants(self, presences: Mapping[str, Expr]) -> Discriminants:
        params = {param.name: param.kind for param in self.params}
        lets = {name: let.expr for name, let in self.lets.items()}
        return Discriminants({**params}, presences, lets, self.adts)

    # --- tensors ------------------------------------------------------------------------------

    def tensor(self, decl: TensorDecl, role: Role, presences: Mapping[str, Expr]) -> Tensor | None:
        path = f"signature.{GROUPS[role]}.{decl.name}"
        if decl.shape is None or decl.dtype is None:
            return None
        dtype = self.dtype(decl.dtype, f"{path}.dtype")
        shape = self.shape(decl.shape, f"{path}.shape", self.scope())
        if dtype is None or shape is None:
            return None
        return Tensor(
            decl.name.text,
            role,
            dtype,
            shape,
            presences.get(decl.name.text),
            self.written(decl, path),
            decl,
        )

    def written(self, decl: TensorDecl, path: str) -> bool | Expr:
        if not isinstance(decl.mutated, Text):
            return decl.mutated
        found = self.expression(decl.mutated, f"{path}.mutated", self.scope(), BoolKind())
        return True if found is None else found[0]

    def dtype(self, text: Text, path: str) -> Expr | None:
        if text.text in DTYPES:
            if not DTYPES[text.text].in_torch:
                self.report(
                    codes.NO_TORCH_DTYPE,
                    text.span,
                    path,
                    f"{text.text} should have a torch dtype, it has none: the operator is skipped",
                )
            return Literal(text.text)
        found = self.expression(text, path, self.scope())
        if found is None:
            return None
        expr, kind = found
        if not isinstance(kind, DTypeKind):
            self.report(
                codes.WRONG_KIND, text.span, path, f"a dtype must be a DType, {expr} is {kind}"
            )
            return None
        return expr

    def shape(self, text: Text, path: str, scope: Scope) -> ShapeTerm | None:
        """A shape term whose axes, splices or family arguments have the right kinds."""
        try:
            return read_shape(text.text, self.families, scope)
        except ExprError as error:
            self.report_text(error, text, path)
            return None


def _of_role(tensors: list[Tensor | None], role: Role) -> tuple[Tensor, ...]:
    return tuple(tensor for tensor in tensors if tensor is not None and tensor.role is role)
