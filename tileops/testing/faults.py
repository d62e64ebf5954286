"""What a check can find, and the error that says so.

In: nothing. Out: `Fault`, `CheckFailed`. A new fault needs a diagnostic code of the same name.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["CheckFailed", "Fault", "NothingToCheck"]


class Fault(Enum):
    """What a check found; each is the name of a diagnostic code."""

    GRAPH = "not-one-graph"
    NODES = "not-one-node"
    FRAMES = "frame-per-size"
    UNBACKED = "needs-a-size"
    RESULT = "wrong-fake"
    WRITE = "undeclared-write"
    MEMORY = "shared-memory"
    VALUES = "compiled-differs"
    OPCHECK = "opcheck-fails"
    FIXED = "no-free-size"


class CheckFailed(AssertionError):
    """An operator does not keep what a compiled model relies on; one sentence."""

    def __init__(self, message: str, fault: Fault | None = None) -> None:
        super().__init__(message)
        self.fault = fault


class NothingToCheck(CheckFailed):
    """A check cannot be made of this call; the sentence says why, and is no error."""
