"""A worker like that of `tileops validate --compile`, whose entries are operators with one fault.

Run as a program with the file descriptor for its events. An entry is named like its control, in
camel case: WrongDtypeFwdOp is wrong_dtype.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from compile_tests import control_operators as controls
from tileops.testing.boundary import call_steps
from tileops.testing.call import Call
from tileops.testing.steps import Step
from tileops.testing.worker import serve

CALLEES = {
    "breaks_the_graph": controls.breaks_the_graph,
    "computes_first": controls.computes_first,
}


def make(overload: Any, count: int) -> Call:
    args, kwargs = controls.make(count)
    return Call(overload, args, kwargs, unbacked=(("x", 0),))


def steps_of(op: str) -> Iterator[Step]:
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", op.removesuffix("FwdOp")).lower()
    if name == "aborts":
        yield Step("static", "small", "small-float32", os.abort)
    elif name == "exits":
        yield Step("static", "small", "small-float32", lambda: os._exit(3))
    elif name == "hangs":
        yield Step("static", "small", "small-float32", lambda: time.sleep(1000))
    elif name == "odd":
        yield Step("static", "small", "small-float32", lambda: 1 // 0)
    else:
        callee = CALLEES.get(name)
        overload = getattr(controls.ops, "sound" if callee else name).default
        for step in call_steps(
            "small-float32",
            lambda: make(overload, 8),
            lambda: [make(overload, count) for count in (8, 9, 300, 301)],
            callee,
        ):
            yield replace(step, row="small")


if __name__ == "__main__":
    # What an operator prints is not taken for an event.
    print("a line on standard output", flush=True)
    serve(steps_of, int(sys.argv[1]))
