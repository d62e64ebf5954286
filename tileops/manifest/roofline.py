"""Cost models: formulas checked, and priced on one call as (flops, bytes).

In: a checked signature. Out: a `Roofline`, and findings. Bytes without a formula follow from the
effects: how often each present tensor is read and written. A `func` is the caller's to resolve: it
is named here and imported by whoever may import the operators' code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings
from tileops.manifest.dtypes import DTYPES
from tileops.manifest.entry import Text
from tileops.manifest.language.evaluate import evaluate
from tileops.manifest.language.infer import infer
from tileops.manifest.language.kinds import DIM, INT, TENSOR, Kind, MaybeKind, SeqKind, fits
from tileops.manifest.language.parse import ExprError, parse_expression
from tileops.manifest.language.primitives import PRIMITIVES, Formal, Primitive
from tileops.manifest.language.rewrite import fold, map_children
from tileops.manifest.language.scope import Scope
from tileops.manifest.language.symbolic import DomainError
from tileops.manifest.language.syntax import Call, Expr, Name, names_in
from tileops.manifest.signature.check import FAULTS
from tileops.manifest.signature.effects import accepted_points
from tileops.manifest.signature.model import Role, Signature
from tileops.manifest.signature.plan import discriminants_of
from tileops.manifest.signature.points import Discriminants, Point
from tileops.manifest.signature.steps import Plan


@dataclass(frozen=True, slots=True)
class Roofline:
    """Formulas, or the dotted path of a function; `bytes` is None where effects give them."""

    flops: Expr | None
    bytes: Expr | None
    func: str | None

    @property
    def formulas(self) -> tuple[Expr, ...]:
        return tuple(item for item in (self.flops, self.bytes) if item is not None)


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """What a cost model sees of a tensor."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def bytes(self) -> int:
        return prod(self.shape) * DTYPES[self.dtype].bits // 8


@dataclass(frozen=True, slots=True)
class PricedCall:
    """One checked call. `tensors` holds every tensor by name, None when absent; `values` the
    contents of metadata tensors, `stages` the completed calls of a composite's stages."""

    op: str
    params: Mapping[str, Any]
    indices: Mapping[str, Any]
    tensors: Mapping[str, TensorFacts | None]
    values: Mapping[str, Sequence[int]] = field(default_factory=dict)
    stages: Mapping[str, PricedCall] = field(default_factory=dict)

    def present(self, name: str) -> bool:
        return self.tensors.get(name) is not None


Cost: TypeAlias = tuple[int, int]
CostFunction: TypeAlias = Callable[[PricedCall], Cost]


class RooflineError(ValueError):
    """A formula failed on a call; one sentence."""


def read_roofline(signature: Signature, plan: Plan, findings: Findings) -> Roofline | None:
    """The cost model of an entry, or None with findings."""
    decl = signature.entry.roofline
    if decl is None:
        return None
    if decl.func is not None:
        known = _is_path(decl.func, signature, findings)
        return Roofline(None, None, decl.func.text) if known else None
    scope = _scope(signature, plan)
    flops = _formula(decl.flops, "flops", scope, signature, findings)
    bytes_ = _formula(decl.bytes, "bytes", scope, signature, findings)
    if flops is None or (decl.bytes is not None and bytes_ is None):
        return None
    return Roofline(flops, bytes_, None)


def _is_path(text: Text, signature: Signature, findings: Findings) -> bool:
    parts = text.text.split(".")
    if len(parts) >= 2 and all(part.isidentifier() for part in parts):
        return True
    findings.add(
        codes.BAD_FORMULA,
        text.span,
        f"func must be the dotted path of a function, got {text.text!r}",
        op=signature.op,
        field="roofline.func",
    )
    return False


#: `bytes(t)`: the size of a tensor, for formulas only; where t may be absent is judged by point.
BYTES = Primitive("bytes", (Formal("tensor", MaybeKind(TENSOR)),), lambda _: DIM, lambda x: x)

#: Combinations of discriminants that a formula is checked at; rows cover what lies beyond.
MAX_POINTS = 4096


def _scope(signature: Signature, plan: Plan) -> Scope:
    kinds: dict[str, Kind] = dict(signature.kinds)
    hidden: dict[str, str] = {}
    solved = {name for name, _ in plan.indices}
    for name, kind in signature.indices.items():
        if isinstance(kind, SeqKind):
            hidden[name] = f"{name} must be a generator argument only, it is a Seq[Int] index"
        elif name not in solved:
            hidden[name] = (
                f"{name} must be solved from a tensor to be priced, it is solved from none"
            )
    for tensor in signature.tensors:
        kinds[tensor.name] = TENSOR if tensor.presence is None else MaybeKind(TENSOR)
    if signature.buffer is not None:
        kinds["out"] = MaybeKind(TENSOR)
    fields = {name: adt.fields for name, adt in signature.adts.items()}
    functions = {**PRIMITIVES, "bytes": BYTES}
    return Scope(kinds, fields, functions, hidden=hidden, opaque=True)


def _formula(
    text: Text | None, name: str, scope: Scope, signature: Signature, findings: Findings
) -> Expr | None:
    if text is None:
        return None
    try:
        expr = parse_expression(text.text)
        kind = infer(expr, scope)
    except ExprError as error:
        code = FAULTS[error.fault]
        message = f"{name} {text.text!r}: {error.message}"
        findings.add(code, text.place(error.at), message, op=signature.op, field=f"roofline.{name}")
        return None
    if not fits(kind, INT):
        findings.add(
            codes.BAD_FORMULA,
            text.span,
            f"{name} must be an Int, {expr} is {kind}",
            op=signature.op,
            field=f"roofline.{name}",
        )
        return None
    expr = _named_sizes(expr)
    absent = _absent_bytes(expr, signature)
    if absent is not None:
        findings.add(
            codes.BAD_FORMULA,
            text.span,
            f"{name} must take bytes of tensors that are present, {absent} may be absent",
            op=signature.op,
            field=f"roofline.{name}",
        )
        return None
    return expr


def _named_sizes(node: Expr) -> Expr:
    """The formula with `bytes(t)` as a name of that text, which no discriminant point decides."""
    if isinstance(node, Call) and node.function == "bytes":
        return Name(str(node), node.at)
    return map_children(node, _named_sizes)


def _absent_bytes(expr: Expr, signature: Signature) -> str | None:
    """A tensor whose bytes are taken at some point at which it is absent."""
    discriminants = discriminants_of(signature)
    names = names_in(expr)
    presences = {
        tensor.name: tensor.presence
        for tensor in signature.tensors
        if tensor.presence is not None and f"bytes({tensor.name})" in names
    }
    if not presences:
        return None
    conditions = [expr, *presences.values()]
    reads: set[str] = set().union(*(discriminants.reads(item)[0] for item in conditions))
    if prod(len(discriminants.variables[name].values) for name in reads) > MAX_POINTS:
        return None
    for point in accepted_points(signature, discriminants, conditions):
        left = names_in(_folded(expr, discriminants, point))
        for name, presence in sorted(presences.items(), key=lambda item: item[0]):
            if f"bytes({name})" in left and not discriminants.truth(presence, point):
                return name
    return None


def _folded(expr: Expr, discriminants: Discriminants, point: Point) -> Expr:
    return fold(expr, lambda node: discriminants.truth(node, point))


# --- pricing --------------------------------------------------------------------------------------


def traffic(
    signature: Signature, discriminants: Discriminants, point: Point
) -> dict[str, tuple[int, int]]:
    """How often a call at the point reads and writes each present tensor."""
    result: dict[str, tuple[int, int]] = {}
    written: set[str] = set()
    for tensor in signature.tensors:
        if tensor.presence is not None and discriminants.truth(tensor.presence, point) is not True:
            continue
        if tensor.role is Role.OUTPUT:
            alias = tensor.decl.alias
            result[tensor.name] = (0, 0 if alias is not None and alias.text in written else 1)
            continue
        condition = tensor.written
        if not isinstance(condition, bool):
            condition = discriminants.truth(condition, point) is True
        if condition:
            written.add(tensor.name)
        result[tensor.name] = (0 if condition and tensor.decl.write_only else 1, int(condition))
    return result


def price(
    roofline: Roofline,
    call: PricedCall,
    signature: Signature,
    discriminants: Discriminants,
    point: Point,
    resolve: Callable[[str], CostFunction | None] = lambda path: None,
) -> Cost | None:
    """The flops and bytes of a call, or None where `resolve` does not know the function.

    Raises `RooflineError`.
    """
    if roofline.func is not None:
        function = resolve(roofline.func)
        return None if function is None else _called(function, call, roofline.func)
    assert roofline.flops is not None
    flops = _evaluate(roofline.flops, "flops", call, discriminants, point)
    if roofline.bytes is not None:
        return flops, _evaluate(roofline.bytes, "bytes", call, discriminants, point)
    total = 0
    for name, (reads, writes) in traffic(signature, discriminants, point).items():
        facts = call.tensors.get(name)
        total += 0 if facts is None else facts.bytes * (reads + writes)
    return flops, total


def _called(function: CostFunction, call: PricedCall, path: str) -> Cost:
    try:
        result: Any = function(call)
    except Exception as error:
        raise RooflineError(f"{path} must price the call, got {error!r}") from error
    valid = isinstance(result, tuple) and len(result) == 2
    if not valid or not all(type(item) is int for item in result):
        raise RooflineError(f"{path} must return two integers, got {result!r}")
    return result[0], result[1]


def _evaluate(
    formula: Expr, name: str, call: PricedCall, discriminants: Discriminants, point: Point
) -> int:
    folded = _folded(formula, discriminants, point)
    sizes = {f"bytes({key})": item.bytes for key, item in call.tensors.items() if item is not None}
    env: dict[str, Any] = {**call.params, **call.indices, **call.tensors, **sizes}
    try:
        _add_lets(folded, env, discriminants, point)
        value = evaluate(folded, env)
    except DomainError as error:
        raise RooflineError(f"{name} {formula}: {error}") from None
    except (KeyError, TypeError):
        unknown = ", ".join(sorted(key for key in names_in(folded) if env.get(key) is None))
        raise RooflineError(
            f"{name} {formula}: {unknown or 'a name'} is not known in this call"
        ) from None
    if type(value) is not int:
        raise RooflineError(f"{name} {formula} must be an integer, got {value!r}")
    return value


def _add_lets(expr: Expr, env: dict[str, Any], discriminants: Discriminants, point: Point) -> None:
    """Adds the lets that an expression reads and that no check of the call has needed."""
    for name in names_in(expr):
        if name in discriminants.lets and env.get(name) is None:
            folded = _folded(discriminants.lets[name], discriminants, point)
            _add_lets(folded, env, discriminants, point)
            env[name] = evaluate(folded, env)
