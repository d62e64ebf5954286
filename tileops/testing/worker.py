"""A process that makes the compile checks of entries, for `tileops validate --compile`.

Run as a program with a manifest folder, a file descriptor and perhaps a package: it reads names
of entries from its standard input and writes what happens, one JSON object a line, to the file
descriptor. What operators print goes elsewhere. Nothing of an operator runs before its first check.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tileops.manifest.fingerprint import spec_folder
from tileops.runtime import registry, shipped
from tileops.testing.boundary import steps
from tileops.testing.cases import rows
from tileops.testing.steps import Step, run_steps
from tileops.validator import code

__all__ = ["main", "serve"]

StepsOf = Callable[[str], Iterator[Step]]


def serve(steps_of: StepsOf, channel: int) -> None:
    """Answers one entry after another: how many steps each check has, each step as it begins, what
    it found, and the end."""

    def say(**event: Any) -> None:
        os.write(channel, (json.dumps(event) + "\n").encode())

    say(event="ready")
    for line in sys.stdin:
        try:
            planned = list(steps_of(line.strip()))
            for check, count in Counter(step.check for step in planned).items():
                say(event="plan", check=check, count=count)
            for step, found in run_steps(planned):
                place = {"check": step.check, "row": step.row, "case": step.case}
                if found is None:
                    say(event="step", **place)
                else:
                    fault = {"code": found.code, "message": found.message, "made": found.made}
                    say(event="found", **fault, **place)
        except Exception:
            say(event="broken", message=traceback.format_exc())
        say(event="done")


def main(folder: Path, channel: int, package: str = "") -> None:
    """Serves the entries of a manifest folder, whose classes `package` holds."""
    if not registry.has_default():
        shipped.register()
    # Some 350 000 objects of torch would be gone through at every collection, a fifth of the time.
    gc.collect()
    gc.freeze()
    serve(_steps_of(folder, package), channel)


def _steps_of(folder: Path, package: str = "") -> StepsOf:
    if folder.resolve() == spec_folder().resolve():
        return lambda op: steps(rows(op))

    def steps_of(op: str) -> Iterator[Step]:
        cls = code.class_in(folder, package, op)
        return steps(rows(op, registry=cls.registry))

    return steps_of


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
