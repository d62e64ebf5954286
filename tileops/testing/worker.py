"""A process that makes the compile checks of entries, for `tileops validate --compile`.

Run as a program with a manifest folder: it reads names of entries from its standard input and
writes what happens, one JSON object a line, to the file descriptor of the second argument. What
operators print goes elsewhere. Nothing of an operator runs before its first check.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tileops.manifest.fingerprint import spec_folder
from tileops.runtime import registry, shipped
from tileops.testing.boundary import Step, run_steps, steps
from tileops.testing.cases import rows

__all__ = ["main", "serve"]

StepsOf = Callable[[str], Iterator[Step]]


def serve(steps_of: StepsOf, channel: int) -> None:
    """Answers one entry after another: each step as it begins, what it found, and the end."""

    def say(**event: Any) -> None:
        os.write(channel, (json.dumps(event) + "\n").encode())

    say(event="ready")
    for line in sys.stdin:
        try:
            for step, found in run_steps(steps_of(line.strip())):
                place = {"check": step.check, "row": step.row, "case": step.case}
                if found is None:
                    say(event="step", **place)
                else:
                    say(event="found", code=found.code, message=found.message, **place)
        except Exception:
            say(event="broken", message=traceback.format_exc())
        say(event="done")


def main(folder: Path, channel: int) -> None:
    """Serves the entries of a manifest folder."""
    serve(_steps_of(folder), channel)


def _steps_of(folder: Path) -> StepsOf:
    if folder.resolve() == spec_folder().resolve():
        if not registry.has_default():
            shipped.register()
        return lambda op: steps(rows(op))
    found = shipped.registry_of(folder, "tileops_validated")

    def steps_of(op: str) -> Iterator[Step]:
        from tileops.validator.code import family_module

        family = next(entry.family for entry in found.entries if entry.name == op)
        cls = getattr(family_module(family), op)
        cls.registry = found
        return steps(rows(op, registry=found))

    return steps_of


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
