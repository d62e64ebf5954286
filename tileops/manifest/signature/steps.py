"""The steps of an inference plan, and their printed form.

A plan is a straight line: every step runs under a guard over discriminants, or always. Binding
steps give an index its value, checking steps compare, `Emit` says what an output is. `Mode.EITHER`
binds where no earlier step has and checks where one has; which of the two holds is fixed at every
discriminant point.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from tileops.manifest.entry import Text
from tileops.manifest.language.kinds import Kind
from tileops.manifest.language.syntax import Axes, Expr


class Mode(Enum):
    BIND = "bind"
    CHECK = "check"
    EITHER = "bind or check"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an axis stands: counted from the front, or from the back when `back`.

    `splices` are the sequences whose lengths add to the count.
    """

    count: int
    splices: tuple[Expr, ...]
    back: bool

    def __str__(self) -> str:
        parts = [*(f"len({splice})" for splice in self.splices)]
        if self.count or not parts:
            parts.insert(0, str(self.count))
        text = " + ".join(parts)
        return (
            f"last - ({text})"
            if self.back and self.splices
            else f"-{self.count + 1}"
            if (self.back)
            else text
        )


@dataclass(frozen=True, slots=True)
class ParamStep:
    """Checks a parameter's value against its type."""

    param: str
    construction: bool = True

    def __str__(self) -> str:
        return f"check  {self.param} is of its type"


@dataclass(frozen=True, slots=True)
class PresenceStep:
    """A tensor is there exactly when `condition` holds; None asks for it always."""

    tensor: str
    condition: Expr | None
    construction: bool

    def __str__(self) -> str:
        when = "" if self.condition is None else f" exactly when {self.condition}"
        return f"check  {self.tensor} is present{when}"


@dataclass(frozen=True, slots=True)
class RuleStep:
    """A condition that must hold: a refinement, a domain restriction or an obligation.

    `implied` conditions follow from later checks of a valid call; only their sentence comes first.
    """

    condition: Expr
    kind: str
    text: Text | None
    guard: Expr | None
    construction: bool
    implied: bool = False
    subject: str = ""

    def __str__(self) -> str:
        return f"check  {self.condition}  ({self.kind}){_when(self.guard)}"


@dataclass(frozen=True, slots=True)
class RankStep:
    """The number of axes: `count` plus the lengths of `splices`, at least that when `open`."""

    tensor: str
    count: int
    splices: tuple[Expr, ...]
    open: str | None
    mode: Mode
    guard: Expr | None
    construction: bool

    def __str__(self) -> str:
        parts = [f"len({splice})" for splice in self.splices]
        if self.count or not parts:
            parts.insert(0, str(self.count))
        if self.open is not None and self.mode is not Mode.BIND:
            parts.append(f"len({self.open})")
        least = "at least " if self.mode is Mode.BIND else ""
        return f"check  rank of {self.tensor} is {least}{' + '.join(parts)}{_when(self.guard)}"


@dataclass(frozen=True, slots=True)
class DTypeStep:
    """Binds a DType index to a tensor's dtype, or checks the dtype against an expression.

    `names` is the declared set of the index, empty where nothing is bound.
    """

    tensor: str
    expr: Expr
    names: tuple[str, ...]
    mode: Mode
    guard: Expr | None
    construction: bool

    def __str__(self) -> str:
        if self.mode is Mode.CHECK:
            return f"check  dtype of {self.tensor} is {self.expr}{_when(self.guard)}"
        return (
            f"{self.mode.value}  {self.expr} := dtype of {self.tensor},"
            f" one of {', '.join(self.names)}{_when(self.guard)}"
        )


@dataclass(frozen=True, slots=True)
class PlacementStep:
    """The device of a tensor, and its contiguity where declared."""

    tensor: str
    on_cpu: bool
    contiguous: bool
    guard: Expr | None
    construction: bool

    def __str__(self) -> str:
        device = "the cpu" if self.on_cpu else "the call device"
        layout = ", contiguous" if self.contiguous else ""
        return f"check  {self.tensor} is on {device}{layout}{_when(self.guard)}"


@dataclass(frozen=True, slots=True)
class AxisStep:
    """One axis: `scale * index + offset` solved for the index, or compared with `expr`."""

    tensor: str
    place: Place
    expr: Expr
    index: str | None
    scale: int
    offset: Expr | None
    mode: Mode
    guard: Expr | None
    construction: bool

    def __str__(self) -> str:
        axis = f"{self.tensor} axis {self.place}"
        if self.mode is Mode.CHECK:
            return f"check  {axis} is {self.expr}{_when(self.guard)}"
        value = axis if self.offset is None else f"{axis} - ({self.offset})"
        if self.scale != 1:
            value = f"({value}) / {self.scale}"
        return f"{self.mode.value}  {self.index} := {value}{_when(self.guard)}"


@dataclass(frozen=True, slots=True)
class SpliceStep:
    """A run of axes: bound to a Shape index, or compared with a sequence.

    `before` is the place of its first axis and `after` that of its last; one of them is None where
    the length of `expr` gives it. `alone`: the run is the whole shape.
    """

    tensor: str
    before: Place | None
    after: Place | None
    expr: Expr
    index: str | None
    mode: Mode
    guard: Expr | None
    construction: bool
    alone: bool = False

    def __str__(self) -> str:
        ends = f"{self.before or ''}:{self.after or ''}"
        axes = f"{self.tensor} axes {ends}"
        if self.mode is Mode.CHECK:
            return f"check  {axes} are {self.expr}{_when(self.guard)}"
        return f"{self.mode.value}  {self.index} := {axes}{_when(self.guard)}"


@dataclass(frozen=True, slots=True)
class LetStep:
    name: str
    expr: Expr
    text: Text
    guard: Expr | None
    construction: bool

    def __str__(self) -> str:
        return f"let    {self.name} := {self.expr}{_when(self.guard)}"


@dataclass(frozen=True, slots=True)
class ComboStep:
    """The dtypes of `columns`, which must equal one of `rows`."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    construction: bool

    def __str__(self) -> str:
        rows = ", ".join(f"({', '.join(row)})" for row in self.rows)
        return f"check  ({', '.join(self.columns)}) is one of {rows}"


@dataclass(frozen=True, slots=True)
class EmitStep:
    """What an output is: its shape by guard, and its dtype."""

    output: str
    shapes: tuple[tuple[Expr | None, Axes], ...]
    dtype: Expr
    guard: Expr | None
    contiguous: bool
    construction: bool = False

    def __str__(self) -> str:
        shapes = "; ".join(f"{shape}{_when(guard)}" for guard, shape in self.shapes)
        return f"emit   {self.output}: {self.dtype} {shapes}{_when(self.guard)}"


Step: TypeAlias = (
    ParamStep
    | PresenceStep
    | RuleStep
    | RankStep
    | DTypeStep
    | PlacementStep
    | AxisStep
    | SpliceStep
    | LetStep
    | ComboStep
    | EmitStep
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of an entry, in the order in which a call makes them.

    `indices` are the forall indices and lets that some call binds, with their kinds, in the order
    of their names.
    """

    steps: tuple[Step, ...]
    indices: tuple[tuple[str, Kind], ...]

    def __str__(self) -> str:
        lines = []
        for at, step in enumerate(self.steps, start=1):
            phase = "construction" if step.construction else "call"
            lines.append(f"{at:3}  {phase:12}  {step}")
        return "\n".join(lines)


def _when(guard: Expr | None) -> str:
    return "" if guard is None else f"  when {guard}"
