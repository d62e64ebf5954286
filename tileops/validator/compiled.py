"""The compile checks of implemented entries, made in worker processes.

In: entries, a number of jobs. Out: findings. A worker is a fresh interpreter (workers.py) that
serves entries of one family, so that in each family the compiler is the first to see some entry. A
worker that dies or hangs is a finding about the entry it was at; another one serves the rest.
"""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tileops.diagnostics import codes
from tileops.diagnostics.model import Code, Diagnostic, Label, Span
from tileops.manifest.entry import Entry
from tileops.validator.workers import Died, Event, Hung, Start, Worker

#: What is checked, in this order; `tileops.testing.boundary` has the checks.
CHECKS: dict[str, str] = {
    "class": "the class compiles cold, with fullgraph=True, to one node, its own",
    "class-dynamic": "the class compiles once for four sizes",
    "static": "every row on fake CUDA tensors is one node, with the declared results",
    "dynamic": "four sizes are one frame",
    "real": "real results are what the fake says, in every layout, empty and of size 1",
    "class-unbacked": "the class compiles when nothing is known of a size",
    "unbacked": "the operator compiles when nothing is known of a size",
    "inductor": "Inductor's results are the eager ones, in every dtype case",
    "opcheck": "torch.library.opcheck passes in every layout, empty and of size 1",
}

#: Entries that a worker serves: enough to pay for its start, which costs as much as three of them
#: (7 s, 2 cores, 2026-12-01), few enough to share out.
_CHUNK = 8
_LARGEST = 32

_BY_NAME = {code.name: code for code in codes.CODES}


@dataclass(slots=True)
class _Fault:
    """What one check of an entry found, on which rows."""

    code: Code
    check: str
    case: str
    message: str
    rows: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the checks find of an entry, and how many of them were not made of every case."""

    entry: Entry
    findings: tuple[Diagnostic, ...]
    unchecked: int


def check_compiled(
    entries: Sequence[Entry], start: Start, *, jobs: int = 1, timeout: float = 300.0
) -> Iterator[Outcome]:
    """What the checks find, entry by entry as they end. Raises `Broken` for an error of our own.

    `start` starts a worker; `timeout` bounds one check, in seconds.
    """
    chunks: queue.SimpleQueue[list[Entry]] = queue.SimpleQueue()
    for chunk in _chunks(entries, jobs):
        chunks.put(chunk)
    done: queue.SimpleQueue[Outcome | Exception] = queue.SimpleQueue()
    stop = threading.Event()

    def work() -> None:
        try:
            while not stop.is_set():
                _serve(chunks.get_nowait(), start, timeout, stop, done.put)
        except queue.Empty:
            pass
        except Exception as error:
            done.put(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(max(1, jobs))]
    for thread in threads:
        thread.start()
    try:
        for _ in entries:
            found = done.get()
            if isinstance(found, Exception):
                raise found
            yield found
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _chunks(entries: Sequence[Entry], jobs: int) -> Iterator[list[Entry]]:
    size = min(max(len(entries) // (4 * jobs), _CHUNK), _LARGEST)
    families: dict[str, list[Entry]] = {}
    for entry in entries:
        families.setdefault("" if entry.family is None else entry.family.text, []).append(entry)
    for found in families.values():
        yield from (found[at : at + size] for at in range(0, len(found), size))


def _serve(
    chunk: list[Entry],
    start: Start,
    timeout: float,
    stop: threading.Event,
    put: Callable[[Outcome], None],
) -> None:
    """A chunk in one worker, or in several where one of them is lost."""
    waiting = list(chunk)
    while waiting and not stop.is_set():
        with Worker(start, timeout, stop) as worker:
            while waiting and worker.alive and not stop.is_set():
                entry = waiting.pop(0)
                put(outcome_of(entry, worker.check(entry.op)))


def outcome_of(entry: Entry, events: Iterator[Event]) -> Outcome:
    """What the checks of one entry found, once for each check and code."""
    faults: dict[tuple[str, str], _Fault] = {}
    planned: Counter[str] = Counter()
    made: Counter[str] = Counter()
    at: Event | None = None
    try:
        for event in events:
            if event.count:
                planned[event.check] = event.count
                continue
            at = event
            made[event.check] += not event.code
            made[event.check] -= not event.made
            if event.code:
                fault = _Fault(_BY_NAME[event.code], event.check, event.case, event.message)
                fault = faults.setdefault((event.code, event.check), fault)
                fault.rows.append(event.row)
    except (Died, Hung) as error:
        code = codes.WORKER_DIED if isinstance(error, Died) else codes.WORKER_HUNG
        row = "" if at is None else at.row
        check = "class" if at is None else at.check
        case = "" if at is None else at.case
        message = f"the check must end, but its process {error}"
        made[check] -= at is not None
        faults[code.name, check] = _Fault(code, check, case, message, [row])
    unchecked = sum(made[check] < count for check, count in planned.items())
    findings = tuple(_finding(entry, fault) for fault in faults.values())
    return Outcome(entry, findings, unchecked if planned else len(CHECKS))


def _finding(entry: Entry, fault: _Fault) -> Diagnostic:
    """At the row where it was found first, with the other rows as labels."""
    first, *others = dict.fromkeys(fault.rows)
    labels = tuple(Label(_place(entry, row), f"and on row {row}") for row in others[:4])
    of = f" of {entry.op}[{fault.case}]" if fault.case else f" of {entry.op}"
    return Diagnostic(
        fault.code,
        _place(entry, first),
        f"{fault.check}{of}: {fault.message}",
        op=entry.op,
        field="workloads",
        labels=labels,
    )


def _place(entry: Entry, label: str) -> Span:
    """Where a row stands; the entry's key for a row that is not known."""
    for row in entry.workloads:
        name = row.get("label")
        if label and getattr(name, "value", None) == label:
            return row.span
    return entry.name.span
