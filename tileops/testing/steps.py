"""A check of one call as a step that is run, and what it found.

In: steps. Out: what each found, once those that they come after have passed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tileops.testing.faults import CheckFailed, NothingToCheck

__all__ = ["Found", "Step", "found_by", "run_steps"]


@dataclass(frozen=True, slots=True)
class Step:
    """One check of one call: `case` names it, `row` is the label of the row that it is of.

    It is left out where one of the checks that `after` names failed on the same case: what it
    would find has been found, or running it would corrupt memory.
    """

    check: str
    row: str
    case: str
    run: Callable[[], Any]
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """What a step found: the name of a diagnostic code, and one sentence. `made` is false where
    there was nothing that the check could be made of."""

    code: str
    message: str
    made: bool = True


def run_steps(found: Iterable[Step]) -> Iterator[tuple[Step, Found | None]]:
    """Runs steps; twice the step, first before it runs with nothing, then with what it found."""
    failed: set[tuple[str, str]] = set()
    for step in found:
        if any((step.case, check) in failed for check in step.after):
            continue
        yield step, None
        fault = found_by(step)
        if fault is not None:
            if fault.made:
                failed.add((step.case, step.check))
            yield step, fault


def found_by(step: Step) -> Found | None:
    """Runs one step. What is no fault of the operator is raised."""
    try:
        step.run()
    except CheckFailed as error:
        if error.fault is None:
            raise
        made = not isinstance(error, NothingToCheck)
        return Found(error.fault.value, _sentence(str(error)), made)
    return None


#: What torch adds to a message for readers of a terminal, and what it says before the message.
_TAIL = re.compile(
    r"(?: from user code:| Set TORCHDYNAMO_VERBOSE| Developer debug context:| Hint:| Explanation:"
    r"| Caused by:|(?<=[\w)\]]{2})\. [A-Z(]|[.!]$).*",
    flags=re.DOTALL,
)
_HEAD = "Consider annotating your code using torch._check*(). "


def _sentence(text: str) -> str:
    """One sentence, the same on every run: neither addresses nor what torch advises."""
    line = " ".join(text.split()).replace(_HEAD, "")
    line = _TAIL.sub("", re.sub(r"\b0x[0-9a-f]+", "0x...", line))
    return line if len(line) <= 400 else line[:397] + "..."
