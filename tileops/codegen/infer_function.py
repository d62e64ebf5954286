"""Plan -> the text of `infer`: straight-line checks that return device, output types and indices.

The planner decided the order; this module only spells it. Every name that is not the manifest's
begins with a prefix that no manifest name has. A failed check calls `reject` with the local names,
and the interpreter says the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tileops.codegen.lower import Lowering
from tileops.codegen.model import Argument, Role
from tileops.manifest.language.kinds import ADTKind, DTypeKind, Kind, MaybeKind, members_of
from tileops.manifest.language.syntax import Axes, Expr, Literal, Name, Present, names_in
from tileops.manifest.language.types import (
    ListType,
    LiteralType,
    TupleType,
    WordType,
    alternatives,
)
from tileops.manifest.signature.model import Param, Signature
from tileops.manifest.signature.model import Role as TensorRole
from tileops.manifest.signature.steps import (
    AxisStep,
    ComboStep,
    DTypeStep,
    EmitStep,
    LetStep,
    Mode,
    ParamStep,
    Place,
    PlacementStep,
    Plan,
    PresenceStep,
    RankStep,
    RuleStep,
    SpliceStep,
    Step,
)


@dataclass(frozen=True, slots=True)
class InferText:
    """The module text, and the names of the index values that `infer` returns."""

    source: str
    index_names: tuple[str, ...]
    prefix: str


def infer_text(
    signature: Signature, plan: Plan, arguments: tuple[Argument, ...], origin: str
) -> InferText:
    """The text of `infer` for one entry; `origin` names the entry's place in its first line."""
    return _Emitter(signature, plan, arguments, origin).text()


def free_prefix(signature: Signature, arguments: tuple[Argument, ...]) -> str:
    """The shortest run of underscores that begins no manifest name."""
    names = {
        *signature.kinds,
        *(tensor.name for tensor in signature.tensors),
        *(argument.name for argument in arguments),
    }
    prefix = "_"
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix


@dataclass(slots=True)
class _Body:
    """Lines of a function body under a current guard."""

    lines: list[str] = field(default_factory=list)
    guard: str | None = None

    def add(self, line: str, guard: str | None) -> None:
        if guard != self.guard:
            self.guard = guard
            if guard is not None:
                self.lines.append(f"if {guard}:")
        indent = "" if guard is None else "    "
        self.lines += [indent + part for part in line.split("\n")]


class _Emitter:
    def __init__(
        self, signature: Signature, plan: Plan, arguments: tuple[Argument, ...], origin: str
    ) -> None:
        self.signature = signature
        self.plan = plan
        self.origin = origin
        self.arguments = [item for item in arguments if item.role is not Role.TARGET]
        self.prefix = free_prefix(signature, arguments)
        names = {
            param.name: f"{self.prefix}{param.name}"
            for param in signature.params
            if _is_dtype(param.kind) or _adt(param.kind) is not None
        }
        self.low = Lowering(self.prefix, signature.kinds, names)
        self.body = _Body()
        self.sets: dict[tuple[str, ...], str] = {}
        self.dtype_of: dict[str, str] = {}
        self.reject = f"{self.low.support('reject')}(locals())"
        self.leader = self.find_leader()

    # --- the module ---------------------------------------------------------------------------

    def text(self) -> InferText:
        guarded = self.maybe_unbound()
        for step in self.plan.steps:
            self.step(step)
        self.buffer()
        specs = ", ".join(self.spec(step) for step in self.emits())
        outputs = f"({specs},)" if specs else "()"
        indices = self.index_names()
        values = ", ".join(indices)
        device = f"{self.prefix}device"
        returned = f"return {device}, {outputs}, ({values}{',' if len(indices) == 1 else ''})"
        head = [*(f"{name} = None" for name in guarded), *self.device_lines(), *self.param_names()]
        lines = [*head, *self.body.lines, returned]
        if self.low.raises:
            error = self.low.support("DomainError")
            lines = ["try:", *(f"    {line}" for line in lines), f"except {error}:", f"    {self.reject}"]
        arguments = ", ".join(item.name for item in self.arguments)
        constants = [
            f"{name} = {self.low.support('dtype_set')}({dtypes!r})"
            for dtypes, name in self.sets.items()
        ]
        source = "\n".join(
            [
                f"# {self.signature.operator}, generated from {self.origin}",
                *constants,
                "",
                "",
                f"def infer({arguments}):",
                *(f"    {line}" for line in lines),
                "",
            ]
        )
        return InferText(source, indices, self.prefix)

    def index_names(self) -> tuple[str, ...]:
        """The indices with integer values; a dtype index is a fact of the tensors."""
        return tuple(name for name, kind in self.plan.indices if not isinstance(kind, DTypeKind))

    def maybe_unbound(self) -> list[str]:
        """Names that some branch leaves unbound and that later text reads."""
        always: set[str] = set()
        some: dict[str, None] = {}
        for step in self.plan.steps:
            name = _bound(step)
            if name is None:
                continue
            if getattr(step, "guard", None) is None and getattr(step, "mode", None) in (
                None,
                Mode.BIND,
            ):
                always.add(name)
            else:
                some[name] = None
        return [name for name in some if name not in always]

    def find_leader(self) -> list[str]:
        """The inputs that may decide the call device: up to the first required one."""
        result = []
        for tensor in self.signature.inputs:
            if tensor.decl.on_cpu:
                continue
            result.append(tensor.name)
            if tensor.presence is None:
                break
        return result

    def device_lines(self) -> list[str]:
        target = f"{self.prefix}device"
        if not self.leader:
            own = any(item.role is Role.DEVICE for item in self.arguments)
            return [f"{target} = {'device' if own else 'None'}"]
        text = f"{self.leader[-1]}.device"
        last = self.signature.tensor(self.leader[-1])
        if last is not None and last.presence is not None:
            text = f"(None if {self.leader[-1]} is None else {text})"
        for name in reversed(self.leader[:-1]):
            text = f"({name}.device if {name} is not None else {text})"
        return [f"{target} = {text}"]

    def param_names(self) -> Iterator[str]:
        """Parameters that are spelled otherwise inside: dtypes by name, ADTs by their fields."""
        for param in self.signature.params:
            adt = _adt(param.kind)
            if adt is not None:
                fields = {
                    name: f"{param.name}_{name}"
                    for constructor in self.signature.adts[adt.name].constructors
                    for name in constructor.fields
                }
                inner = ", ".join(f"{name!r}: {arg}" for name, arg in fields.items())
                view = self.low.support("adt_view")
                yield f"{self.prefix}{param.name} = {view}({param.name}, {{{inner}}})"
            elif _is_dtype(param.kind):
                names = self.low.support("dtype_names")
                yield f"{self.prefix}{param.name} = {names}.get({param.name})"
            elif _takes_bare_int(param):
                yield f"{param.name} = {self.low.support('bare')}({param.name})"

    # --- steps --------------------------------------------------------------------------------

    def emits(self) -> list[EmitStep]:
        return [step for step in self.plan.steps if isinstance(step, EmitStep)]

    def guard(self, guard: Expr | None) -> str | None:
        return None if guard is None else _bare(self.low.expr(guard))

    def add(self, line: str, guard: Expr | None = None) -> None:
        self.body.add(line, self.guard(guard))

    def fail_if(self, condition: str, guard: Expr | None = None) -> None:
        """A check whose condition is a Python value."""
        self.add(f"if {condition}:\n    {self.reject}", guard)

    def require(self, condition: str, guard: Expr | None = None) -> None:
        """A check whose condition may be symbolic."""
        name = f"{self.prefix}c"
        call = f"{self.low.support('require')}({name}, locals())"
        self.add(f"{name} = {_bare(condition)}\nif {name} is not True:\n    {call}", guard)

    def step(self, step: Step) -> None:
        match step:
            case ParamStep(param=name):
                self.param(name)
            case PresenceStep(tensor=tensor, condition=condition):
                if condition is not None:
                    self.fail_if(f"({tensor} is not None) is not {self.low.expr(condition)}")
            case RuleStep():
                self.rule(step)
            case RankStep():
                self.rank(step)
            case DTypeStep():
                self.dtype(step)
            case PlacementStep():
                self.placement(step)
            case AxisStep():
                self.axis(step)
            case SpliceStep():
                self.splice(step)
            case LetStep(name=name, expr=expr, guard=guard):
                self.add(f"{name} = {_bare(self.low.expr(expr))}", guard)
            case ComboStep():
                self.combo(step)
            case EmitStep():
                pass

    def param(self, name: str) -> None:
        """Checks what the schema's type does not already hold."""
        param = self.signature.param(name)
        assert param is not None
        members = alternatives(param.type)
        optional = WordType("None") in members
        adt = _adt(param.kind)
        if adt is not None:
            self.fail_if(f"{self.low.support('bad_adt')}({name!r}, {self.low.name(name)})")
            return
        local = self.low.name(name)
        dtypes = [kind for kind in members_of(param.kind) if isinstance(kind, DTypeKind)]
        if dtypes:
            absent = f"{name} is not None and " if optional else ""
            self.fail_if(f"{absent}{local} not in {dtypes[0].names!r}")
            return
        strings = tuple(item.value for item in members if isinstance(item, LiteralType))
        if strings and all(
            isinstance(item, LiteralType) or item == WordType("None") for item in members
        ):
            allowed = (*strings, None) if optional else strings
            self.fail_if(f"{name} not in {allowed!r}")
            return
        if self.needs_type_check(param):
            self.fail_if(f"{self.low.support('bad_param')}({name!r}, {name})")

    def needs_type_check(self, param: Param) -> bool:
        """Whether the schema admits values that the manifest's type does not."""
        members = [item for item in alternatives(param.type) if item != WordType("None")]
        fixed = any(
            isinstance(item, TupleType) and not item.variadic and len(members) > 0
            for item in members
        )
        words = {item.word for item in members if isinstance(item, WordType)}
        scalar = len(words & {"int", "float", "bool", "complex"}) > 1
        nested = any(isinstance(item, ListType) for item in members) and len(members) > 2
        return fixed or scalar or nested or words == {"complex"}

    def rule(self, step: RuleStep) -> None:
        if step.implied:
            return
        condition = self.low.expr(step.condition)
        if self.low.is_static(step.condition):
            self.fail_if(f"not {condition}", step.guard)
        else:
            self.require(condition, step.guard)

    def shape_of(self, tensor: str) -> str:
        return f"{self.prefix}{tensor}_shape"

    def count(self, number: int, splices: tuple[Expr, ...]) -> str:
        parts = [f"{self.low.support('len')}({self.low.expr(item)})" for item in splices]
        if number or not parts:
            parts.append(str(number))
        return " + ".join(parts)

    def rank(self, step: RankStep) -> None:
        shape = self.shape_of(step.tensor)
        if not self.has_shape(step.tensor):
            self.add(f"{shape} = {step.tensor}.shape", self.presence_guard(step.tensor))
        length = f"{self.low.support('len')}({shape})"
        count = self.count(step.count, step.splices)
        exact = f"{length} != {count}"
        if step.open is None:
            self.fail_if(exact, step.guard)
            return
        least = f"{length} < {count}"
        known = f"{length} != {count} + {self.low.support('len')}({step.open})"
        if step.mode is Mode.BIND:
            if count != "0":
                self.fail_if(least, step.guard)
        else:
            self.fail_if(f"{least} if {step.open} is None else {known}", step.guard)

    def has_shape(self, tensor: str) -> bool:
        marker = f"{self.shape_of(tensor)} = "
        return any(line.strip().startswith(marker) for line in self.body.lines)

    def presence_guard(self, tensor: str) -> Expr | None:
        declared = self.signature.tensor(tensor)
        if declared is None or declared.presence is None:
            return None
        return Present(tensor)

    def dtype(self, step: DTypeStep) -> None:
        own = f"{step.tensor}.dtype"
        expr = step.expr
        if step.names:
            assert isinstance(expr, Name)
            self.bind_dtype(step, expr.id, own)
            return
        if isinstance(expr, Literal):
            table = self.low.support("dtypes")
            self.fail_if(f"{own} != {table}[{expr.value!r}]", step.guard)
        elif isinstance(expr, Name) and expr.id in self.dtype_of:
            self.fail_if(f"{own} != {self.dtype_of[expr.id]}", step.guard)
        else:
            names = self.low.support("dtype_names")
            self.fail_if(f"{names}.get({own}) != {self.low.expr(expr)}", step.guard)

    def bind_dtype(self, step: DTypeStep, index: str, own: str) -> None:
        key = self.sets.setdefault(step.names, f"{self.prefix}set{len(self.sets)}")
        names = self.low.support("dtype_names")
        bind = f"{index} = {names}[{own}]"
        if step.mode is Mode.EITHER:
            self.add(
                f"if {index} is None:\n"
                f"    if {own} not in {key}:\n        {self.reject}\n"
                f"    {bind}\n"
                f"elif {names}.get({own}) != {index}:\n    {self.reject}",
                step.guard,
            )
            return
        if step.guard is None and not self.reads(index):
            local = f"{self.prefix}{step.tensor}_dtype"
            self.add(f"{local} = {own}")
            self.fail_if(f"{local} not in {key}")
            self.dtype_of[index] = local
            return
        self.fail_if(f"{own} not in {key}", step.guard)
        self.add(bind, step.guard)

    def reads(self, index: str) -> bool:
        """Whether any expression reads a dtype index by value."""
        for step in self.plan.steps:
            match step:
                case RuleStep(condition=expr) | LetStep(expr=expr):
                    if index in names_in(expr):
                        return True
                case DTypeStep(expr=expr) | EmitStep(dtype=expr):
                    if expr != Name(index) and index in names_in(expr):
                        return True
                case AxisStep(expr=expr) | SpliceStep(expr=expr):
                    if index in names_in(expr):
                        return True
                case ComboStep(columns=columns) if index in columns:
                    return True
        binds = [
            step
            for step in self.plan.steps
            if isinstance(step, DTypeStep) and step.expr == Name(index) and step.names
        ]
        return len(binds) > 1

    def placement(self, step: PlacementStep) -> None:
        declared = self.signature.tensor(step.tensor)
        call_time = declared is not None and declared.role is TensorRole.INPUT
        device = f"{self.prefix}device"
        if step.on_cpu:
            self.fail_if(f"{step.tensor}.device.type != 'cpu'", step.guard)
        elif call_time and self.leader[0] != step.tensor:
            self.fail_if(f"{step.tensor}.device != {device}", step.guard)
        if step.contiguous:
            check = self.low.support("is_contiguous")
            self.fail_if(f"not {check}({step.tensor})", step.guard)

    def axis(self, step: AxisStep) -> None:
        size = f"{self.shape_of(step.tensor)}[{self.index(step.place)}]"
        check = f"({size} == {self.low.expr(step.expr)})"
        if step.index is None:
            self.require(check, step.guard)
            return
        lines = self.solution(step, size)
        if step.mode is Mode.EITHER:
            name = f"{self.prefix}c"
            call = f"{self.low.support('require')}({name}, locals())"
            inner = "\n".join(f"    {line}" for line in "\n".join(lines).split("\n"))
            other = f"    {name} = {_bare(check)}\n    if {name} is not True:\n        {call}"
            self.add(f"if {step.index} is None:\n{inner}\nelse:\n{other}", step.guard)
            return
        for line in lines:
            self.add(line, step.guard)

    def solution(self, step: AxisStep, size: str) -> list[str]:
        if step.scale == 1 and step.offset is None:
            return [f"{step.index} = {size}"]
        name = f"{self.prefix}c"
        require = f"if {name} is not True:\n    {self.low.support('require')}({name}, locals())"
        rest = size if step.offset is None else f"({size} - {self.low.expr(step.offset)})"
        lines = []
        if step.scale != 1:
            lines += [f"{name} = {rest} % {step.scale} == 0\n{require}"]
            rest = f"{rest} // {step.scale}"
        lines.append(f"{step.index} = {_bare(rest) if step.scale == 1 else rest}")
        if step.offset is not None:
            lines.append(f"{name} = {step.index} >= 0\n{require}")
        return lines

    def index(self, place: Place) -> str:
        if not place.back:
            return self.count(place.count, place.splices)
        lengths = "".join(
            f" - {self.low.support('len')}({self.low.expr(item)})" for item in place.splices
        )
        return f"-{place.count + 1}{lengths}"

    def splice(self, step: SpliceStep) -> None:
        run = self.run_of(step)
        check = f"{self.low.support('same_sequence')}({run}, {self.low.expr(step.expr)})"
        if step.mode is Mode.CHECK:
            self.require(check, step.guard)
        elif step.mode is Mode.BIND:
            self.add(f"{step.index} = {run}", step.guard)
        else:
            name = f"{self.prefix}c"
            call = f"{self.low.support('require')}({name}, locals())"
            self.add(
                f"if {step.index} is None:\n    {step.index} = {run}\n"
                f"else:\n    {name} = {check}\n    if {name} is not True:\n        {call}",
                step.guard,
            )

    def run_of(self, step: SpliceStep) -> str:
        shape = self.shape_of(step.tensor)
        length = self.low.support("len")
        run = f"{length}({self.low.expr(step.expr)})"
        start = "" if step.before is None else self.start(step.before)
        if step.after is None:
            stop = f"{start} + {run}" if start else run
        else:
            stop = self.stop(step.after, shape)
        if step.before is None:
            start = f"{stop or f'{length}({shape})'} - {run}"
        return shape if not start and not stop else f"{shape}[{start}:{stop}]"

    def start(self, place: Place) -> str:
        return self.index(place) if place.count or place.splices else ""

    def stop(self, place: Place, shape: str) -> str:
        """The end of a slice whose last axis stands at `place`, counted from the back."""
        if not place.splices:
            return f"-{place.count}" if place.count else ""
        length = self.low.support("len")
        return f"{length}({shape}) - ({self.count(place.count, place.splices)})"

    def combo(self, step: ComboStep) -> None:
        optional = [
            name for name in step.columns if isinstance(self.signature.kinds[name], MaybeKind)
        ]
        values = ", ".join(self.low.name(name) for name in step.columns)
        if optional:
            match = self.low.support("in_combos")
            self.fail_if(f"not {match}(({values},), {step.rows!r})")
        else:
            self.fail_if(f"({values},) not in {step.rows!r}")

    # --- outputs ------------------------------------------------------------------------------

    def spec(self, step: EmitStep) -> str:
        text = f"({self.shapes(step.shapes)}, {self.torch_dtype(step.dtype)})"
        guard = self.guard(step.guard)
        return text if guard is None else f"({text} if {guard} else None)"

    def shapes(self, shapes: tuple[tuple[Expr | None, Axes], ...]) -> str:
        text = self.output_shape(shapes[-1][1])
        for guard, axes in reversed(shapes[:-1]):
            condition = "True" if guard is None else _bare(self.low.expr(guard))
            text = f"({self.output_shape(axes)} if {condition} else {text})"
        return text

    def output_shape(self, axes: Axes) -> str:
        """An output's sizes; those of an input with the same term are taken as they are."""
        for tensor in self.signature.inputs:
            if tensor.presence is None and tensor.shape == axes:
                return self.shape_of(tensor.name)
        return self.low.shape(axes)

    def torch_dtype(self, expr: Expr) -> str:
        if isinstance(expr, Name) and expr.id in self.dtype_of:
            return self.dtype_of[expr.id]
        return f"{self.low.support('dtypes')}[{self.low.expr(expr)}]"

    def buffer(self) -> None:
        """The preconditions of `out`."""
        buffer = self.signature.buffer
        if buffer is None:
            return
        step = next(item for item in self.emits() if item.output == buffer.name)
        spec = f"{self.prefix}out_spec"
        out = f"{self.low.support('same_sequence')}(out.shape, {spec}[0])"
        self.body.add(f"{spec} = {self.spec(step)}", None)
        guard = "out is not None"
        self.body.add(
            f"if {spec} is None or out.dtype != {spec}[1] or out.device != {self.prefix}device:\n"
            f"    {self.reject}",
            guard,
        )
        name = f"{self.prefix}c"
        call = f"{self.low.support('require')}({name}, locals())"
        self.body.add(f"{name} = {out}\nif {name} is not True:\n    {call}", guard)
        if buffer.decl.contiguous:
            check = self.low.support("is_contiguous")
            self.body.add(f"if not {check}(out):\n    {self.reject}", guard)


def _bound(step: Step) -> str | None:
    match step:
        case AxisStep(index=index) | SpliceStep(index=index):
            return index
        case DTypeStep(expr=Name(id=name), names=names) if names:
            return name
        case LetStep(name=name):
            return name
        case _:
            return None


def _is_dtype(kind: Kind) -> bool:
    return any(isinstance(member, DTypeKind) for member in members_of(kind))


def _adt(kind: Kind) -> ADTKind | None:
    return next((member for member in members_of(kind) if isinstance(member, ADTKind)), None)


def _takes_bare_int(param: Param) -> bool:
    members = alternatives(param.type)
    listed = any(isinstance(item, ListType | TupleType) for item in members)
    return listed and WordType("int") in members


def _bare(text: str) -> str:
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
