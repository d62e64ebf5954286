"""Generated text -> functions, with its lines in `linecache` so that tracebacks show them."""

from __future__ import annotations

import linecache
from typing import Any

from tileops.codegen.model import Operator
from tileops.runtime.support import namespace


def compile_operator(operator: Operator) -> dict[str, Any]:
    """The namespace that the text of an operator defines, `infer` above all."""
    filename = f"<tileops {operator.header.operator}>"
    lines = operator.source.splitlines(keepends=True)
    linecache.cache[filename] = (len(operator.source), None, lines, filename)
    names = namespace(operator)
    exec(compile(operator.source, filename, "exec"), names)
    return names
