"""A manifest through every rule.

In: a folder, which entries, and whether code may be imported. Out: a `Report` of findings and
counts. One entry never hides another; the counts say which checks were not made.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tileops.diagnostics.model import Findings
from tileops.manifest.entry import Entry
from tileops.manifest.load import Manifest, load_manifest
from tileops.validator.code import register_operators
from tileops.validator.model import Options, Phase, Subject
from tileops.validator.rules import RULES

Progress = Callable[[int, int, str], None]


@dataclass(slots=True)
class Report:
    """`unchecked` counts the code-dependent checks of implemented entries that were not made."""

    manifest: Manifest
    findings: Findings
    entries: int = 0
    implemented: int = 0
    rows: int = 0
    cases: int = 0
    unchecked: int = 0
    seconds: float = 0.0
    names: tuple[str, ...] = field(default=())

    @property
    def summary(self) -> dict[str, int | float]:
        errors = self.findings.errors
        return {
            "entries": self.entries,
            "implemented": self.implemented,
            "rows": self.rows,
            "cases": self.cases,
            "errors": errors,
            "advisories": len(self.findings) - errors,
            "unchecked": self.unchecked,
            "seconds": round(self.seconds, 3),
        }


def validate(
    folder: Path,
    *,
    select: Callable[[Entry], bool] = lambda _: True,
    static: bool = True,
    options: Options | None = None,
    progress: Progress = lambda done, total, op: None,
) -> Report:
    """Runs the rules over the selected entries; `static` imports no operator code."""
    start = time.perf_counter()
    manifest = load_manifest(folder)
    chosen = [entry for entry in manifest.entries if select(entry)]
    every = len(chosen) == len(manifest.entries)
    findings = Findings()
    names = {entry.op for entry in chosen}
    findings.items += [
        item for item in manifest.findings.items if every or not item.op or item.op in names
    ]
    report = Report(manifest, findings, entries=len(chosen), names=tuple(sorted(names)))
    if not static:
        register_operators()
    for done, entry in enumerate(chosen):
        progress(done, len(chosen), entry.op)
        subject = Subject(manifest, entry, findings, options or Options())
        _check(subject, static, report)
    report.seconds = time.perf_counter() - start
    return report


def _check(subject: Subject, static: bool, report: Report) -> None:
    report.implemented += subject.implemented
    report.rows += len(subject.entry.workloads)
    for rule in RULES:
        if rule.phase is Phase.STATIC:
            rule.run(subject)
        elif subject.implemented:
            if static:
                report.unchecked += 1
            else:
                rule.run(subject)
    report.cases += len(subject.instances)
