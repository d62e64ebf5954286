"""A case: one row at one dtype assignment, and the call that it denotes.

In: what a row fixes. Out: `Case`, whose `instance()` solves the remaining indices through the
generators, types every tensor, and has the plan infer the call back. Contents are generated only
when asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tileops.diagnostics.model import Span
from tileops.manifest.entry import RowDecl
from tileops.manifest.language.arrays import Values
from tileops.manifest.roofline import PricedCall, TensorFacts
from tileops.manifest.signature.interpret import TensorMeta
from tileops.manifest.signature.model import Signature
from tileops.manifest.workload.branch import Branch, Workload

#: Seeds everything random that rows generate, with the names of the op and the tensor.
WORKLOAD_SEED = 2026


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What one call of a row fixes. `indices` are those that the row gives, `dtypes` the DType
    indices, `params` all parameters, `present` every tensor."""

    workload: Workload
    decl: RowDecl
    id: str
    label: str
    params: Mapping[str, Any]
    indices: Mapping[str, Any]
    dtypes: Mapping[str, str]
    passed: frozenset[str]
    point: Mapping[str, Any]

    @property
    def signature(self) -> Signature:
        return self.workload.signature

    @property
    def branch(self) -> Branch:
        return self.workload.branch(self.point)

    @property
    def present(self) -> Mapping[str, bool]:
        return self.branch.present

    def __str__(self) -> str:
        return f"{self.signature.op}[{self.id}]"


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A case as a call. `inputs` holds construction-time tensors and inputs, None when absent;
    `outputs` the type of each output; `indices` everything solved, lets included."""

    case: Case
    inputs: Mapping[str, TensorMeta | None]
    outputs: Mapping[str, tuple[tuple[int, ...], str] | None]
    indices: Mapping[str, Any]
    env: Mapping[str, Any]

    @property
    def arguments(self) -> dict[str, Any]:
        """What the plan is run on: every parameter and tensor."""
        return {**self.case.params, **self.inputs}

    def priced(self, values: Mapping[str, Values] | None = None) -> PricedCall:
        """The call as a cost model sees it."""
        tensors: dict[str, TensorFacts | None] = {
            name: None if meta is None else TensorFacts(meta.shape, meta.dtype)
            for name, meta in self.inputs.items()
        }
        for name, spec in self.outputs.items():
            tensors[name] = None if spec is None else TensorFacts(*spec)
        contents = {name: item.data for name, item in (values or {}).items()}
        params = self.case.params
        return PricedCall(self.case.signature.op, params, self.indices, tensors, contents)


class CaseFails(ValueError):
    """A case breaks a rule of its signature; one sentence.

    `field` names what failed, `declared` is the declaration that says so, where these are known.
    """

    def __init__(self, sentence: str, field: str = "", declared: Span | None = None) -> None:
        super().__init__(sentence)
        self.field = field
        self.declared = declared
