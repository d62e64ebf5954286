"""The declaration behind a check: what a finding about a row points to besides the row.

In: a signature, and the step that refused a call or the name that a failure is about. Out: a place
in the entry, or None where nothing of it is to be shown.
"""

from __future__ import annotations

from tileops.diagnostics.model import Span
from tileops.manifest.entry import Text
from tileops.manifest.signature.model import Signature
from tileops.manifest.signature.steps import (
    AxisStep,
    ComboStep,
    DTypeStep,
    EmitStep,
    LetStep,
    ParamStep,
    PlacementStep,
    PresenceStep,
    RankStep,
    RuleStep,
    SpliceStep,
    Step,
)


def declaration_of(signature: Signature, step: Step | None) -> Span | None:
    """Where the entry declares what a step checks."""
    match step:
        case None:
            return None
        case RuleStep(text=text):
            return None if text is None else text.span
        case LetStep(text=text):
            return text.span
        case ParamStep(param=name):
            param = signature.param(name)
            return None if param is None else param.text.span
        case ComboStep():
            return signature.entry.combos[0].span
        case DTypeStep(tensor=name):
            return _field(signature, name, "dtype")
        case EmitStep(output=name) | PresenceStep(tensor=name) | PlacementStep(tensor=name):
            return _field(signature, name, "name")
        case RankStep(tensor=name) | AxisStep(tensor=name) | SpliceStep(tensor=name):
            return _field(signature, name, "shape")


def values_of(signature: Signature, name: str) -> Span | None:
    """Where a tensor says what its contents are."""
    return _field(signature, name, "values")


def _field(signature: Signature, name: str, field: str) -> Span | None:
    tensor = signature.tensor(name)
    if tensor is None:
        return None
    decl = tensor.decl
    text: Text | None = {
        "name": decl.name,
        "dtype": decl.dtype,
        "shape": decl.shape,
        "values": decl.values,
    }[field]
    return decl.name.span if text is None else text.span
