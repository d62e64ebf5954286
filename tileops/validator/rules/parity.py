"""`__init__` and `forward` of a class against the signature (tables 6 and 7)."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from tileops.diagnostics import codes
from tileops.manifest.adt import ADTValue
from tileops.manifest.signature.model import MISSING, Signature
from tileops.validator.code import class_or_none
from tileops.validator.model import Phase, Rule, Subject


@dataclass(frozen=True, slots=True)
class Wanted:
    """One parameter as the manifest has it; `default` is MISSING where it has none."""

    name: str
    default: Any
    keyword_only: bool

    def __str__(self) -> str:
        star = "*, " if self.keyword_only else ""
        return f"{star}{self.name}" + ("" if self.default is MISSING else f"={self.default!r}")


def construction(subject: Subject) -> None:
    """The parameters of `__init__`, one by one and in order."""
    found: Any = class_or_none(subject)
    if found is None or subject.signature is None:
        return
    have = _parameters(subject, found, "__init__")
    if have is None:
        return
    policy = {"target", *getattr(found, "injected_parameters", ())}
    for item in [item for item in have if item.name in policy]:
        if item.kind is not inspect.Parameter.KEYWORD_ONLY:
            subject.report(codes.WRONG_PARAMETERS, f"__init__ must take {item.name} keyword-only")
    own = [item for item in have if item.name not in policy]
    _compare(subject, "__init__", own, init_parameters(subject.signature))


def call(subject: Subject) -> None:
    """The parameters of `forward`: inputs, `out`, keyword-only inputs, then the code's own."""
    found: Any = class_or_none(subject)
    if found is None or subject.signature is None:
        return
    have = _parameters(subject, found, "forward")
    if have is None:
        return
    wanted = forward_parameters(subject.signature)
    extra = [item for item in have if item.name not in {w.name for w in wanted}]
    for item in extra:
        if item.kind is not inspect.Parameter.KEYWORD_ONLY:
            subject.report(
                codes.WRONG_PARAMETERS,
                f"forward must take its own execution parameter {item.name} keyword-only",
            )
    _compare(subject, "forward", [item for item in have if item not in extra], wanted)


def _parameters(subject: Subject, found: Any, method: str) -> list[inspect.Parameter] | None:
    """What a method of the class takes after self; None where it does not say."""
    from tileops.runtime.errors import CallError

    try:
        return list(inspect.signature(getattr(found, method)).parameters.values())[1:]
    except (TypeError, ValueError, CallError) as error:
        reason = " ".join(str(error).split())
        subject.report(
            codes.WRONG_PARAMETERS, f"{method} must have a signature to compare, got {reason}"
        )
        return None


def init_parameters(signature: Signature) -> list[Wanted]:
    """What `__init__` takes; keyword-only parameters last, as Python has it."""
    params = {param.name: param for param in signature.params}
    tensors = {tensor.name: tensor for tensor in signature.construction}
    result = []
    for decl in signature.entry.params:
        name = decl.name.text
        if name in tensors:
            default = MISSING if tensors[name].presence is None else None
            result.append(Wanted(name, default, False))
        elif name in params:
            result.append(Wanted(name, params[name].default, params[name].kw_only))
    return sorted(result, key=lambda item: item.keyword_only)


def forward_parameters(signature: Signature) -> list[Wanted]:
    """What `forward` takes."""

    def wanted(tensor: Any, keyword_only: bool) -> Wanted:
        return Wanted(tensor.name, MISSING if tensor.presence is None else None, keyword_only)

    result = [wanted(tensor, False) for tensor in signature.inputs if not tensor.kw_only]
    if signature.buffer is not None:
        result.append(Wanted("out", None, False))
    result += [wanted(tensor, True) for tensor in signature.inputs if tensor.kw_only]
    return result


def _compare(
    subject: Subject, where: str, have: list[inspect.Parameter], wanted: list[Wanted]
) -> None:
    names, expected = [item.name for item in have], [item.name for item in wanted]
    if names != expected:
        subject.report(
            codes.WRONG_PARAMETERS, f"{where} must take {expected} in that order, got {names}"
        )
        return
    for item, want in zip(have, wanted, strict=True):
        keyword_only = item.kind is inspect.Parameter.KEYWORD_ONLY
        positional = item.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        if keyword_only is not want.keyword_only or not (keyword_only or positional):
            kind = "keyword-only" if want.keyword_only else "positional or keyword"
            subject.report(
                codes.WRONG_PARAMETERS,
                f"{where} must take {want.name} {kind}, got {item.kind.description}",
                **_declared(subject, want.name),
            )
        default = MISSING if item.default is inspect.Parameter.empty else item.default
        shown = "nothing" if default is MISSING else repr(default)
        if not _same(default, want.default):
            subject.report(
                codes.WRONG_PARAMETERS,
                f"{where} must take {want}, got the default {shown}",
                **_declared(subject, want.name),
            )


def _declared(subject: Subject, name: str) -> dict[str, Any]:
    """Where the manifest declares a parameter or an input: the place that the author edits."""
    names = [("params", decl.name) for decl in subject.entry.params]
    names += [("inputs", decl.name) for decl in subject.entry.inputs]
    for group, declared in names:
        if declared.text == name:
            return {"span": declared.span, "field": f"signature.{group}.{name}"}
    return {}


def _stands(have: Any, want: ADTValue) -> bool:
    """Whether a Python object stands for an ADT value (table 5)."""
    fields = {name: getattr(have, name, None) for name in want.fields}
    values = {name: getattr(value, "value", value) for name, value in fields.items()}
    return bool(getattr(have, "kind", None) == want.kind and values == want.fields)


def _same(have: Any, want: Any) -> bool:
    """Whether a Python default is the manifest's: a dtype by its name, a list as a tuple."""
    if have is MISSING or want is MISSING:
        return have is want
    if isinstance(want, ADTValue):
        return bool(have == want or have == {want.kind: dict(want.fields)} or _stands(have, want))
    if isinstance(want, list | tuple):
        return isinstance(have, list | tuple) and list(have) == list(want)
    if isinstance(want, str) and not isinstance(have, str):
        return str(have).removeprefix("torch.") == want
    same_type = type(have) is type(want) or not isinstance(want, bool | int | float | str)
    return same_type and bool(have == want)


RULES = (
    Rule("init", "__init__ takes the manifest's parameters", Phase.CODE, construction),
    Rule("forward", "forward takes the manifest's inputs", Phase.CODE, call),
)
