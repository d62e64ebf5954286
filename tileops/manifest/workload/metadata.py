"""`values` and `requires` of tensors, checked: which generator makes one, which relations it keeps.

In: a checked signature. Out: `Metadata` of every tensor that has values, findings for the rest. The
names of these expressions are those of the signature, `Seq[Int]` indices and tensors besides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from tileops.diagnostics import codes
from tileops.diagnostics.model import Code, Findings, Span
from tileops.manifest.entry import Text
from tileops.manifest.language.arguments import bind_arguments
from tileops.manifest.language.arrays import TYPECODES
from tileops.manifest.language.generators import GENERATORS, Generator
from tileops.manifest.language.infer import infer
from tileops.manifest.language.kinds import (
    TENSOR,
    ADTKind,
    DTypeKind,
    Kind,
    MaybeKind,
    SeqKind,
    fits,
    members_of,
)
from tileops.manifest.language.parse import ExprError, parse_expression
from tileops.manifest.language.predicates import PREDICATES, Predicate
from tileops.manifest.language.primitives import Formal, Primitive
from tileops.manifest.language.scope import Scope
from tileops.manifest.language.syntax import (
    Axis,
    Call,
    Comprehension,
    Expr,
    Literal,
    Name,
    TupleExpr,
)
from tileops.manifest.signature.alternatives import alternatives
from tileops.manifest.signature.check import FAULTS
from tileops.manifest.signature.effects import accepted_points
from tileops.manifest.signature.model import Signature, Tensor
from tileops.manifest.signature.plan import discriminants_of
from tileops.manifest.signature.points import Discriminants


@dataclass(frozen=True, slots=True)
class Generation:
    """The generator call that makes a tensor's contents."""

    generator: Generator
    arguments: tuple[Expr, ...]
    text: Text

    def __str__(self) -> str:
        return f"{self.generator.name}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One predicate call; an argument that is the `Name` of a tensor stands for its contents."""

    predicate: Predicate
    arguments: tuple[Expr, ...]
    text: Text

    def __str__(self) -> str:
        return f"{self.predicate.name}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class Metadata:
    """A tensor whose contents an operator reads as numbers."""

    tensor: Tensor
    generation: Generation
    requirements: tuple[Requirement, ...]


Member = TypeVar("Member", Generator, Predicate)


def read_metadata(signature: Signature, findings: Findings) -> dict[str, Metadata]:
    """Every tensor with `values`, by name; one that is not well formed is left out."""
    reader = _Reader(signature, findings)
    found = (reader.metadata(tensor) for tensor in signature.inputs)
    return {item.tensor.name: item for item in found if item is not None}


def metadata_scope(signature: Signature) -> Scope:
    """The scope of generator and predicate arguments."""
    kinds: dict[str, Kind] = {**signature.indices, **signature.kinds}
    for tensor in signature.tensors:
        kinds[tensor.name] = TENSOR if tensor.presence is None else MaybeKind(TENSOR)
    fields = {name: adt.fields for name, adt in signature.adts.items()}
    return Scope(kinds, fields)


class _Reader:
    def __init__(self, signature: Signature, findings: Findings) -> None:
        self.signature = signature
        self.findings = findings
        self.scope = metadata_scope(signature)
        self.discriminants: Discriminants = discriminants_of(signature)

    def report(self, code: Code, span: Span, tensor: Tensor, field: str, message: str) -> None:
        path = f"signature.inputs.{tensor.name}.{field}"
        self.findings.add(code, span, message, op=self.signature.op, field=path)

    def metadata(self, tensor: Tensor) -> Metadata | None:
        decl = tensor.decl
        generation = None
        if decl.values is not None:
            generation = self.generation(tensor, decl.values)
        elif decl.requires:
            self.report(
                codes.BAD_VALUES,
                decl.requires[0].span,
                tensor,
                "requires",
                f"{tensor.name} must have values to have requires, got none",
            )
        requirements = [self.requirement(tensor, text) for text in decl.requires]
        if generation is None:
            return None
        return Metadata(tensor, generation, tuple(item for item in requirements if item))

    def generation(self, tensor: Tensor, text: Text) -> Generation | None:
        self.check_dtype(tensor, text)
        found = self.call(tensor, text, "values", GENERATORS)
        if found is None:
            return None
        generator, arguments = found
        rank = generator.rank
        if rank is None:
            rank = self.length_of(arguments[0])
        self.check_rank(tensor, text, "values", generator.name, rank)
        return Generation(generator, arguments, text)

    def requirement(self, tensor: Tensor, text: Text) -> Requirement | None:
        found = self.call(tensor, text, "requires", PREDICATES)
        if found is None:
            return None
        predicate, arguments = found
        self.check_rank(tensor, text, "requires", predicate.name, predicate.rank)
        return Requirement(predicate, arguments, text)

    # --- calls --------------------------------------------------------------------------------

    def call(
        self, tensor: Tensor, text: Text, field: str, members: Mapping[str, Member]
    ) -> tuple[Member, tuple[Expr, ...]] | None:
        """The member that a text calls, and its arguments in the order of the formals."""
        try:
            node = parse_expression(text.text)
            member = members.get(node.function) if isinstance(node, Call) else None
            if not isinstance(node, Call) or member is None:
                what = "generator" if field == "values" else "predicate"
                raise ExprError(
                    f"{field} must call a {what} ({', '.join(sorted(members))}), got {node}",
                    node.at,
                    fault="function",
                )
            return member, tuple(self.arguments(tensor, node, member.primitive))
        except ExprError as error:
            code = codes.BAD_VALUES if error.fault == "function" else FAULTS[error.fault]
            message = f"{field} {text.text!r}: {error.message}"
            self.report(code, text.place(error.at), tensor, field, message)
            return None

    def arguments(self, tensor: Tensor, node: Call, primitive: Primitive) -> Iterator[Expr]:
        if any(isinstance(arg, Comprehension) for arg in node.args):
            raise ExprError(f"{node.function} must not take a comprehension", node.at, fault="form")
        for formal, value in bind_arguments(node, primitive):
            assert value is not None, "generators and predicates have no optional arguments"
            named = self.signature.tensor(value.id) if isinstance(value, Name) else None
            if named is not None and fits(TENSOR, formal.kind):
                self.check_named(tensor, named, node, value.at)
            else:
                self.check_argument(value, formal, node)
            yield value

    def check_argument(self, value: Expr, formal: Formal, node: Call) -> None:
        kind = infer(value, self.scope)
        if isinstance(formal.kind, ADTKind) and isinstance(kind, ADTKind):
            return
        if not fits(kind, formal.kind):
            raise ExprError(
                f"{node.function} must take {formal.kind} as {formal.name}, {value} is {kind}",
                value.at,
                fault="kind",
            )

    def check_named(self, tensor: Tensor, named: Tensor, node: Call, at: int) -> None:
        if named.decl.values is None:
            raise ExprError(
                f"{named.name} must have values, {node.function} reads its contents",
                at,
                fault="function",
            )
        if named.presence is None:
            return
        wanted = () if tensor.presence is None else (tensor.presence,)
        for point in accepted_points(self.signature, self.discriminants, [*wanted, named.presence]):
            there = all(self.discriminants.truth(item, point) for item in wanted)
            if there and not self.discriminants.truth(named.presence, point):
                raise ExprError(
                    f"{named.name} must be present wherever {tensor.name} is, it may be absent",
                    at,
                    fault="function",
                )

    # --- the tensor ---------------------------------------------------------------------------

    def check_dtype(self, tensor: Tensor, text: Text) -> None:
        if isinstance(tensor.dtype, Literal):
            names: tuple[str, ...] = (str(tensor.dtype.value),)
        else:
            kinds = members_of(infer(tensor.dtype, self.scope))
            names = tuple(n for kind in kinds if isinstance(kind, DTypeKind) for n in kind.names)
        wrong = [name for name in names if name not in TYPECODES]
        if wrong:
            self.report(
                codes.BAD_VALUES,
                text.span,
                tensor,
                "values",
                f"{tensor.name} must be int32 or int64 to have values, got {', '.join(wrong)}",
            )

    def length_of(self, argument: Expr) -> int | None:
        if isinstance(argument, TupleExpr):
            return len(argument.items)
        kind = infer(argument, self.scope)
        return kind.length if isinstance(kind, SeqKind) else None

    def check_rank(
        self, tensor: Tensor, text: Text, field: str, name: str, rank: int | None
    ) -> None:
        if rank is None:
            return
        for shape in alternatives(tensor.shape, self.signature):
            singles = sum(isinstance(item, Axis) for item in shape.axes.items)
            spliced = singles < len(shape.axes.items)
            if singles > rank or (singles < rank and not spliced):
                self.report(
                    codes.BAD_VALUES,
                    text.span,
                    tensor,
                    field,
                    f"{name} must have {rank} {'axis' if rank == 1 else 'axes'},"
                    f" {tensor.name} is {shape.axes}",
                )
                return
