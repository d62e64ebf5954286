"""The sentences that refuse a call: subject, must, got, and what is known.

In: a signature and the facts of one call. Out: `CallRejected`. Which step refuses is the business
of `interpret`; how a value or a tensor is written in a sentence is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tileops.manifest.language.symbolic import DomainError
from tileops.manifest.language.syntax import Expr, Literal, names_in
from tileops.manifest.signature.model import Signature
from tileops.manifest.signature.steps import ComboStep, PresenceStep, RuleStep, Step


@dataclass(frozen=True, slots=True)
class TensorMeta:
    """What a plan sees of a tensor: sizes, dtype name, device, and whether it is contiguous."""

    shape: tuple[int, ...]
    dtype: str
    device: str = "cpu"
    contiguous: bool = True


class CallRejected(ValueError):
    """A call that the signature refuses, in one sentence; `step` is the one that refused it."""

    step: Step | None = None


class Sentences:
    """What a call under way says of itself: its facts, and the refusals written from them."""

    def __init__(self, signature: Signature, env: dict[str, Any]) -> None:
        self.signature = signature
        self.env = env

    def reject(self, sentence: str, known: str = "") -> CallRejected:
        ending = f" ({known})" if known else ""
        return CallRejected(f"{self.signature.operator}: {sentence}{ending}")

    def outside(self, what: str, error: DomainError) -> CallRejected:
        return self.reject(f"{what}: {error}", self.values(names_in_text(what, self.env)))

    def shapes(self) -> str:
        parts = [
            f"{name}: {list(value.shape)}"
            for name, value in self.env.items()
            if isinstance(value, TensorMeta)
        ]
        return ", ".join(parts[:6])

    def values(self, names: list[str]) -> str:
        parts = [
            f"{name}={show(self.env[name])}"
            for name in names
            if name in self.env and not isinstance(self.env[name], TensorMeta)
        ]
        return ", ".join(parts)

    def shown(self, expr: Expr, value: Any) -> str:
        """An expected value as `expression = value`, or just the value of a literal."""
        return show(value) if isinstance(expr, Literal) else f"{expr} = {show(value)}"

    # --- sentences of steps ----------------------------------------------------------------------

    def misplaced(self, step: PresenceStep, wanted: bool) -> CallRejected:
        assert step.condition is not None
        names = sorted(name for name in names_in(step.condition) if name in self.env)
        known = ", ".join(
            f"{name} is {'passed' if self.env[name] is not None else 'absent'}"
            if isinstance(self.env[name], TensorMeta) or self.signature.tensor(name)
            else f"{name}={show(self.env[name])}"
            for name in names
        )
        must = "be passed" if wanted else "be absent"
        when = "because" if wanted else "unless"
        got = "None" if wanted else "a tensor"
        return self.reject(f"{step.tensor} must {must} {when} {step.condition}, got {got}", known)

    def broken(self, step: RuleStep) -> CallRejected:
        if step.kind == "obligation":
            source = step.subject.rpartition(" of ")[0]
            values = self.values(sorted(names_in(step.condition)))
            return self.reject(f"{step.subject} must not be negative, got {values or source}")
        names = sorted(names_in(step.condition))
        lets = {let.name: let for let in self.signature.lets}
        inner = sorted({n for name in names if name in lets for n in names_in(lets[name].expr)})
        absent = [
            name
            for name in names
            if self.signature.tensor(name) is not None and self.env.get(name) is None
        ]
        got = ", ".join(filter(None, (self.values(names), *(f"{name} absent" for name in absent))))
        known = self.values([name for name in inner if name not in names])
        return self.reject(f"{step.subject} must hold, got {got}", known)

    def no_row(
        self, step: ComboStep, have: tuple[str | None, ...], columns: list[int]
    ) -> CallRejected:
        names = ", ".join(step.columns[at] for at in columns)
        rows = " or ".join(
            f"({', '.join(row[at] for at in columns)})" for row in dict.fromkeys(step.rows)
        )
        return self.reject(
            f"({names}) must be {rows}, got ({', '.join(str(have[at]) for at in columns)})"
        )


def names_in_text(text: str, env: Mapping[str, Any]) -> list[str]:
    words = set(text.replace("(", " ").replace(")", " ").replace(",", " ").split())
    return sorted(name for name in words if name in env)


def show(value: Any) -> str:
    """A value as a sentence writes it."""
    if isinstance(value, tuple):
        return str(list(value))
    return repr(value) if isinstance(value, str) and not value.isidentifier() else str(value)
