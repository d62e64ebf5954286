"""What code generation hands to the runtime: operators as data and as text, without torch.

`Header` is what registration needs and nothing more; it goes through the import cache as JSON.
`Operator` adds what the first call of an operator needs and is built then. Importing this module
loads nothing of the manifest language, which a process that only registers does without.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tileops.manifest.signature.model import Signature
    from tileops.manifest.signature.steps import Plan


class Role(Enum):
    """Where an operator argument comes from in the entry."""

    INPUT = "input"
    OUT = "out"
    CONSTRUCTION_TENSOR = "construction_tensor"
    PARAM = "param"
    DEVICE = "device"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an operator schema, in schema order.

    `type` is the schema type ("Tensor", "Tensor?", "SymInt[]", "float?", "str"...) without alias
    annotation; `default` is the schema text of the default, or None when the argument is required.
    `python_default` is the same as Python source text. `param` names the class parameter it
    carries. A parameter may be spread over several arguments, of which `part` says what each
    carries: ".kind" or ".<field>" of an ADT, "plain" or "word" of a union with literals.
    """

    name: str
    role: Role
    type: str
    default: str | None
    python_default: str | None
    keyword_only: bool
    param: str = ""
    part: str = ""

    def part_of(self, value: Any) -> Any:
        """What the argument carries of the parameter's value."""
        if self.part == "plain":
            return None if isinstance(value, str) else value
        if self.part == "word":
            return value if isinstance(value, str) else None
        if self.part:
            field = getattr(value, self.part[1:], None)
            return getattr(field, "value", field)
        return value


@dataclass(frozen=True, slots=True)
class OverloadHeader:
    """One overload: an effect branch of the entry.

    `written` are the arguments it mutates, `returns` the outputs it returns, in order.
    """

    name: str
    schema: str
    written: tuple[str, ...]
    returns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """What registration needs to know of one entry."""

    op: str
    family: str
    status: str
    operator: str
    overloads: tuple[OverloadHeader, ...]
    takes_tensors: bool
    composite: bool
    contiguous: tuple[str, ...]
    differentiable: bool


@dataclass(frozen=True, slots=True)
class Output:
    """One output of the signature; `alias` names the input it is when that input is written."""

    name: str
    nullable: bool
    alias: str
    buffer: bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """One `__init__` parameter of the class, in manifest order.

    `type` is the manifest's type text; `annotation` the Python annotation; `default` Python source
    text, or None when required.
    """

    name: str
    type: str
    annotation: str
    default: str | None
    keyword_only: bool


@dataclass(frozen=True, slots=True)
class Operator:
    """One entry, ready for the runtime.

    `source` is Python text defining `infer`, which takes `infer_arguments` by position and returns
    the call device, one (shape, dtype) or None per output, and the values of `index_names`.
    `prefix` begins every name in the text that is not the manifest's.
    """

    header: Header
    arguments: tuple[Argument, ...]
    parameters: tuple[Parameter, ...]
    outputs: tuple[Output, ...]
    index_names: tuple[str, ...]
    infer_arguments: tuple[str, ...]
    prefix: str
    source: str
    signature: Signature
    plan: Plan
