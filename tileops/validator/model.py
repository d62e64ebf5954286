"""What a rule of the validator is, and what it is given.

In: nothing. Out: `Rule`, `Subject`. A rule of phase STATIC reads the manifest alone; one of phase
CODE also reads the code of an implemented entry, and is skipped for spec-only entries only. The
checks of the compile boundary run elsewhere (compiled.py), in processes of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from tileops.diagnostics.model import Code, Findings, Span
from tileops.manifest.entry import Entry
from tileops.manifest.load import Manifest
from tileops.manifest.signature.model import Signature
from tileops.manifest.signature.steps import Plan
from tileops.manifest.workload.case import Instance


class Phase(Enum):
    STATIC = "static"
    CODE = "code"


@dataclass(slots=True)
class Options:
    """`nightly` asks every reference API to resolve; `compile` asks for the compile checks, each
    of which ends within `timeout` seconds. `package` holds the classes of a manifest of one's own;
    without it they are looked for in `tileops.<family>`."""

    nightly: bool = False
    compile: bool = False
    timeout: float = 300.0
    package: str = ""


@dataclass(slots=True)
class Subject:
    """One entry on its way through the rules; each rule fills what the later ones read."""

    manifest: Manifest
    entry: Entry
    findings: Findings
    options: Options
    signature: Signature | None = None
    plan: Plan | None = None
    instances: tuple[Instance, ...] = ()

    @property
    def implemented(self) -> bool:
        return self.entry.status is not None and self.entry.status.text == "implemented"

    @property
    def family(self) -> str:
        return "" if self.entry.family is None else self.entry.family.text

    def report(
        self, code: Code, message: str, *, span: Span | None = None, field: str = ""
    ) -> None:
        """A finding about the entry, at its key unless `span` says where."""
        place = self.entry.name.span if span is None else span
        self.findings.add(code, place, message, op=self.entry.op, field=field)


@dataclass(frozen=True, slots=True)
class Rule:
    """One check; `title` is what `tileops validate --list-rules` prints."""

    name: str
    title: str
    phase: Phase
    run: Callable[[Subject], None]
