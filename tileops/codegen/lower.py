"""Expressions as Python text over the local names of a generated function.

In: a tree, and how its names are spelled. Out: text with the meaning of `language.evaluate`. What
may be symbolic goes through the functions of the support namespace; what is certainly a Python
value is spelled plainly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tileops.manifest.language.evaluate import evaluate
from tileops.manifest.language.kinds import (
    ADTKind,
    BoolKind,
    DTypeKind,
    EnumKind,
    FloatKind,
    Kind,
    NoneKind,
    NumberKind,
    OpaqueKind,
    TensorKind,
    members_of,
)
from tileops.manifest.language.primitives import PRIMITIVES
from tileops.manifest.language.symbolic import DomainError
from tileops.manifest.language.syntax import (
    Axes,
    Axis,
    Binary,
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Expr,
    Field,
    Literal,
    Name,
    Negate,
    Not,
    Present,
    SliceExpr,
    Splice,
    Subscript,
    TupleExpr,
    children,
    names_in,
)

#: Results of these are Python bools and strings whatever their arguments are.
_STATIC_RESULTS = frozenset(
    {"len", "valid_axes", "unique_axes", "representable", "category"}
    | {name for name, item in PRIMITIVES.items() if name.endswith("dtype")}
)

_STATIC_KINDS = (BoolKind, EnumKind, DTypeKind, ADTKind, FloatKind, NumberKind, NoneKind)


@dataclass(slots=True)
class Lowering:
    """Spells expressions. `names` maps a manifest name to its local spelling where it differs.

    `used` collects the support names that the text calls, `raising` those that can refuse a value.
    `dtypes` maps a DType index that a local holds as a torch dtype to that local and its set;
    `sets` names the constants that hold sets of torch dtypes.
    """

    prefix: str
    kinds: Mapping[str, Kind]
    names: Mapping[str, str]
    hidden: frozenset[str] = frozenset()
    used: set[str] = field(default_factory=set)
    raising: set[str] = field(default_factory=set)
    dtypes: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    sets: dict[tuple[str, ...], str] = field(default_factory=dict)

    def support(self, name: str, *, raises: bool = False) -> str:
        """The spelling of a name that the support namespace provides."""
        self.used.add(name)
        if raises:
            self.raising.add(name)
        return f"{self.prefix}G_{name}"

    def builtin(self, name: str) -> str:
        """The spelling of one of Python's own names, which a manifest name may hide."""
        return self.support(name) if name in self.hidden else name

    def dtype_set(self, names: tuple[str, ...]) -> str:
        """The constant that holds a set of torch dtypes."""
        return self.sets.setdefault(names, f"{self.prefix}set{len(self.sets)}")

    @property
    def raises(self) -> bool:
        """Whether the text calls something that may raise `DomainError`."""
        return bool(self.raising)

    def name(self, name: str) -> str:
        return self.names.get(name, name)

    def given(self, name: str) -> str:
        """The spelling of a name where only its presence counts."""
        kind = self.kinds.get(name)
        members = () if kind is None else members_of(kind)
        # The argument itself is None exactly when such a value is.
        direct = any(isinstance(member, DTypeKind | ADTKind) for member in members)
        return name if direct else self.name(name)

    def is_static(self, node: Expr) -> bool:
        """Whether the value is certainly no symbolic one."""
        match node:
            case Literal() | Present():
                return True
            case Name(id=name):
                kind = self.kinds.get(name)
                return kind is not None and all(
                    isinstance(member, (*_STATIC_KINDS, OpaqueKind, TensorKind))
                    for member in members_of(kind)
                )
            case Field(base=base, field=field):
                return field == "kind" or self.is_static(Name(base))
            case Call(function=function):
                return function in _STATIC_RESULTS
            case Subscript() | SliceExpr() | Comprehension():
                return False
            case TupleExpr(items=items) | BoolOp(items=items):
                return all(map(self.is_static, items))
            case Negate(operand=operand) | Not(operand=operand):
                return self.is_static(operand)
            case Binary(left=left, right=right):
                return self.is_static(left) and self.is_static(right)
            case Compare(first=first, rest=rest):
                return all(map(self.is_static, (first, *rest)))
            case Conditional(test=test, then=then, otherwise=otherwise):
                return all(map(self.is_static, (test, then, otherwise)))

    # --- expressions --------------------------------------------------------------------------

    def expr(self, node: Expr) -> str:
        match node:
            case Literal(value=value):
                if value == float("inf"):
                    return self.support("inf")
                return repr(value)
            case TupleExpr(items=items):
                inner = ", ".join(map(self.expr, items))
                return f"({inner},)" if len(items) == 1 else f"({inner})"
            case Name(id=name):
                return self.name(name)
            case Present(name=name):
                return f"({self.given(name)} is not None)"
            case Field(base=base, field="value") if not self.is_adt(base):
                return self.name(base)
            case Field(base=base, field=name):
                return f"{self.name(base)}.{name}"
            case Subscript(base=base, index=index):
                item = self.support("item_of", raises=True)
                return f"{item}({self.expr(base)}, {self.expr(index)})"
            case SliceExpr(base=base, start=start, stop=stop):
                first = "" if start is None else self.expr(start)
                last = "" if stop is None else self.expr(stop)
                return f"{self.expr(base)}[{first}:{last}]"
            case Negate(operand=operand):
                return f"(-{self.expr(operand)})"
            case Not(operand=operand):
                if self.is_static(operand):
                    return f"(not {self.expr(operand)})"
                return f"{self.support('negation')}({self.expr(operand)})"
            case Binary():
                return self.binary(node)
            case Compare():
                return self.by_dtype(node) or self.compare(node)
            case BoolOp():
                return self.bool_op(node)
            case Conditional():
                return self.conditional(node)
            case Call():
                return self.call(node)
            case Comprehension(body=body, variable=variable, source=source):
                own = f"{self.prefix}i_{variable}"
                inner = self.bind(variable, own).expr(body)
                return f"[{inner} for {own} in {self.expr(source)}]"

    def bind(self, variable: str, spelling: str) -> Lowering:
        """The lowering of a comprehension's body, in which the variable hides other names."""
        kinds = {name: kind for name, kind in self.kinds.items() if name != variable}
        return replace(self, kinds=kinds, names={**self.names, variable: spelling})

    def is_adt(self, name: str) -> bool:
        kind = self.kinds.get(name)
        return kind is not None and any(isinstance(k, ADTKind) for k in members_of(kind))

    def by_dtype(self, node: Compare) -> str:
        """A condition on one dtype alone, as membership in the set for which it holds; or ""."""
        found = self.dtype_condition(node)
        if found is None:
            return ""
        local, names, good = found
        if not good or good == names:
            return str(bool(good))
        return f"({local} in {self.dtype_set(good)})"

    def dtype_condition(self, node: Compare) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
        index, *others = sorted(names_in(node)) or [""]
        if others or index not in self.dtypes or index in self.names:
            return None
        local, names = self.dtypes[index]
        try:
            good = tuple(name for name in names if evaluate(node, {index: name}) is True)
        except DomainError:
            return None
        return local, names, good

    def named(self, node: Expr) -> frozenset[str]:
        """The names that the spelling of an expression reads."""
        match node:
            case Compare() if self.dtype_condition(node) is not None:
                return frozenset()
            case Name() | Present() | Field():
                return names_in(node)
            case _:
                return frozenset().union(*map(self.named, children(node)))

    def binary(self, node: Binary) -> str:
        left, right = self.expr(node.left), self.expr(node.right)
        if node.op in ("//", "%") and not _is_positive(node.right):
            function = "floor_div" if node.op == "//" else "modulo"
            return f"{self.support(function, raises=True)}({left}, {right})"
        if node.op == "+" and self.is_sequence(node.left):
            return f"(*{left}, *{right})"
        return f"({left} {node.op} {right})"

    def is_sequence(self, node: Expr) -> bool:
        if isinstance(node, TupleExpr | SliceExpr):
            return True
        if isinstance(node, Name):
            kind = self.kinds.get(node.id)
            return (kind is not None and hasattr(kind, "item")) or str(kind) == "Shape"
        return isinstance(node, Call) and node.function in ("broadcast", "reduced")

    def compare(self, node: Compare) -> str:
        operands = (node.first, *node.rest)
        parts = [
            self.compare_pair(op, operands[at], operands[at + 1]) for at, op in enumerate(node.ops)
        ]
        if self.is_static(node) or len(parts) == 1:
            return parts[0] if len(parts) == 1 else f"({' and '.join(parts)})"
        return self.chain("conjunction", parts)

    def compare_pair(self, op: str, left: Expr, right: Expr) -> str:
        a, b = self.expr(left), self.expr(right)
        static = self.is_static(left) and self.is_static(right)
        if op in ("in", "not in"):
            if static:
                return f"({a} {op} {b})"
            hit = f"{self.support('member')}({a}, {b})"
            return hit if op == "in" else f"{self.support('negation')}({hit})"
        if not static and self.is_sequence(left) and self.is_sequence(right):
            return f"{self.support('compare')}({op!r}, {a}, {b})"
        return f"({a} {op} {b})"

    def bool_op(self, node: BoolOp) -> str:
        if self.is_static(node):
            return f"({f' {node.op} '.join(map(self.expr, node.items))})"
        function = "conjunction" if node.op == "and" else "disjunction"
        return self.chain(function, [self.expr(item) for item in node.items])

    def chain(self, function: str, parts: list[str]) -> str:
        text = parts[0]
        for part in parts[1:]:
            text = f"{self.support(function)}({text}, lambda: {part})"
        return text

    def conditional(self, node: Conditional) -> str:
        test, then, otherwise = map(self.expr, (node.test, node.then, node.otherwise))
        if self.is_static(node.test):
            return f"({then} if {test} else {otherwise})"
        return f"{self.support('conditional')}({test}, lambda: {then}, lambda: {otherwise})"

    def call(self, node: Call) -> str:
        primitive = PRIMITIVES[node.function]
        if node.function == "len":
            return f"{self.builtin('len')}({self.expr(node.args[0])})"
        function = self.support(f"p_{node.function.replace('.', '_')}", raises=not primitive.total)
        parts = [self.expr(arg) for arg in node.args]
        parts += [f"{key}={self.expr(value)}" for key, value in node.keywords]
        return f"{function}({', '.join(parts)})"

    def shape(self, axes: Axes) -> str:
        """A written-out shape as a tuple, or as the one sequence that it splices."""
        items = axes.items
        if len(items) == 1 and isinstance(items[0], Splice) and isinstance(items[0].expr, Call):
            return self.expr(items[0].expr)
        parts = [
            self.expr(item.expr) if isinstance(item, Axis) else f"*{self.expr(item.expr)}"
            for item in items
        ]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _is_positive(node: Expr) -> bool:
    return isinstance(node, Literal) and type(node.value) is int and node.value > 0
