"""A manifest through every rule.

In: a folder, which entries, whether code may be imported, and over how many processes. Out: a
`Report` of findings and counts. One entry never hides another; the counts say which checks were not
made. The report is the same however many processes made it.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tileops.diagnostics.model import Diagnostic, Findings, Severity
from tileops.manifest.entry import Entry
from tileops.manifest.load import Manifest, load_manifest
from tileops.validator.code import register_operators
from tileops.validator.compiled import CHECKS, check_compiled
from tileops.validator.model import Options, Phase, Subject
from tileops.validator.rules import RULES
from tileops.validator.workers import Broken, Start, worker_of

Progress = Callable[[int, int, str], None]

#: Entries that a process takes at a time: enough to make the messages few, few enough to share out.
_CHUNK = 4


@dataclass(slots=True)
class Report:
    """`unchecked` counts the code-dependent checks of implemented entries that were not made, or
    not of every case that they have, those of the compile boundary among them."""

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
    def counts(self) -> dict[str, int]:
        """What was looked at and found; the same on every run."""
        errors = self.findings.errors
        return {
            "entries": self.entries,
            "implemented": self.implemented,
            "rows": self.rows,
            "cases": self.cases,
            "errors": errors,
            "advisories": len(self.findings) - errors,
            "unchecked": self.unchecked,
        }

    @property
    def summary(self) -> dict[str, int | float]:
        return {**self.counts, "seconds": round(self.seconds, 3)}


@dataclass(frozen=True, slots=True)
class Checked:
    """What the rules make of one entry."""

    findings: tuple[Diagnostic, ...]
    implemented: bool
    rows: int
    cases: int
    unchecked: int


class RuleFailed(Exception):
    """An error in tileops itself, with the rule and the entry that it came up with."""


@dataclass(frozen=True, slots=True)
class _Work:
    """What every process needs to check an entry."""

    manifest: Manifest
    static: bool
    options: Options

    def check(self, at: int) -> Checked:
        entry = self.manifest.entries[at]
        subject = Subject(self.manifest, entry, Findings(), self.options)
        unchecked = 0
        for rule in RULES:
            if rule.phase is Phase.CODE and not subject.implemented:
                continue
            if rule.phase is Phase.CODE and self.static:
                unchecked += 1
                continue
            try:
                rule.run(subject)
            except Exception as error:
                raise RuleFailed(f"the rule {rule.name} failed on {entry.op}") from error
        return Checked(
            tuple(subject.findings.items),
            subject.implemented,
            len(entry.workloads),
            len(subject.instances),
            unchecked,
        )


def validate(
    folder: Path,
    *,
    select: Callable[[Entry], bool] = lambda _: True,
    static: bool = True,
    options: Options | None = None,
    jobs: int = 1,
    progress: Progress = lambda done, total, op: None,
    start: Start | None = None,
) -> Report:
    """Runs the rules over the selected entries; `static` imports no operator code.

    `start` starts another worker than the folder's for the compile checks.
    """
    began = time.perf_counter()
    manifest = load_manifest(folder)
    chosen = [at for at, entry in enumerate(manifest.entries) if select(entry)]
    every = len(chosen) == len(manifest.entries)
    names = {manifest.entries[at].op for at in chosen}
    settings = options or Options()
    findings = Findings()
    findings.items += [
        item for item in manifest.findings.items if every or not item.op or item.op in names
    ]
    report = Report(manifest, findings, entries=len(chosen), names=tuple(sorted(names)))
    work = _Work(manifest, static, settings)
    run = _one_by_one(work, chosen) if jobs <= 1 else _shared_out(work, chosen, jobs)
    sound: list[Entry] = []
    for done, checked in enumerate(run):
        entry = manifest.entries[chosen[done]]
        progress(done, len(chosen), entry.op)
        findings.items += checked.findings
        report.implemented += checked.implemented
        report.rows += checked.rows
        report.cases += checked.cases
        report.unchecked += checked.unchecked
        if checked.implemented and settings.compile and not _faulty(entry, checked, manifest):
            sound.append(entry)
    report.unchecked += len(CHECKS) * (report.implemented - len(sound))
    start = start or worker_of(folder, settings.package)
    _compile(report, sound, settings, start, jobs, progress)
    findings.items[:] = _distinct(findings.items)
    report.seconds = time.perf_counter() - began
    return report


def _distinct(items: list[Diagnostic]) -> list[Diagnostic]:
    """The findings without those that say of one place what another says: a field that stands once
    and is read twice, through an alias."""
    return list({(item.sort_key, item.op): item for item in reversed(items)}.values())[::-1]


def _faulty(entry: Entry, checked: Checked, manifest: Manifest) -> bool:
    """Whether an entry has errors already, so that compiling it would say them once more."""
    found = (*checked.findings, *(i for i in manifest.findings.items if i.op == entry.op))
    return any(item.code.severity is Severity.ERROR for item in found)


def _compile(
    report: Report,
    entries: list[Entry],
    options: Options,
    start: Start,
    jobs: int,
    progress: Progress,
) -> None:
    """The compile checks of entries without errors."""
    run = check_compiled(entries, start, jobs=jobs, timeout=options.timeout)
    try:
        for done, found in enumerate(run):
            progress(done, len(entries), f"{found.entry.op}, compiled")
            report.findings.items += found.findings
            report.unchecked += found.unchecked
    except Broken as error:
        raise RuleFailed(str(error)) from error


def _one_by_one(work: _Work, chosen: list[int]) -> Iterator[Checked]:
    if not work.static:
        register_operators()
    for at in chosen:
        yield work.check(at)


# --- over processes -------------------------------------------------------------------------------

#: Set before the processes of a pool are forked, which thus inherit the manifest as it was read.
_work: _Work | None = None


def _shared_out(work: _Work, chosen: list[int], jobs: int) -> Iterator[Checked]:
    """The same results in the same order, from `jobs` processes."""
    global _work
    chunks = [chosen[at : at + _CHUNK] for at in range(0, len(chosen), _CHUNK)]
    before, _work = _work, work
    try:
        # The command line has imported neither torch nor threads when it gets here, so a fork is
        # safe, and costs none of the reading that a fresh interpreter would do again.
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(jobs, context, initializer=_start) as pool:
            for found in pool.map(_check_chunk, chunks):
                yield from found
    finally:
        _work = before


def _start() -> None:
    assert _work is not None
    if not _work.static:
        register_operators()


def _check_chunk(chunk: list[int]) -> list[Checked]:
    assert _work is not None
    return [_work.check(at) for at in chunk]
