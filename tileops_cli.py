"""Entry of the console script: marks the process static, then imports the package.

It stands outside the package because importing anything inside it would register the operators,
and so import torch, before the mark could be set.
"""

from __future__ import annotations

from collections.abc import Sequence

static = False


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line, by default on the arguments of the process; returns its status."""
    global static
    static = True
    from tileops.cli import main as run

    return run(arguments)
