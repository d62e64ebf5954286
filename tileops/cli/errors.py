"""Exit statuses, and the errors of people that end a verb with one sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

OK = 0
FINDINGS = 1
USAGE = 2


class CommandError(Exception):
    """Ends the command with a sentence and a status; never shown as a traceback."""

    def __init__(self, message: str, status: int = USAGE) -> None:
        super().__init__(message)
        self.status = status


def unknown(what: str, name: str, known: Iterable[str]) -> CommandError:
    """The error for a name that is none of `known`, with those that are close to it."""
    names = {item.lower(): item for item in known}
    close = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    hint = f"; close to it: {', '.join(names[item] for item in close)}" if close else ""
    return CommandError(f"there is no {what} {name!r}{hint}")
