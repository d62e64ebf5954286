"""A worker whose one entry is an example of `tileops explain`.

Run as a program with the example's folder and the file descriptor for its events.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.validator.examples import classes, steps_of
from tileops.diagnostics.explain import Block
from tileops.testing.worker import serve

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    info, _, text = (folder / "code.txt").read_text().partition("\n")
    with classes(Block(info, text), folder):
        serve(steps_of, int(sys.argv[2]))
