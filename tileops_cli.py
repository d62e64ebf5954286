"""Entry of the console script: marks the process static, then imports the package.

It stands outside the package because importing anything inside it would register the operators,
and so import torch, before the mark could be set.
"""

from __future__ import annotations

static = False


def main() -> int:
    """Runs the command line; returns its exit status."""
    global static
    static = True
    from tileops.cli import main as run

    return run()
