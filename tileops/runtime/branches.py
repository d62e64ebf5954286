"""Which overload a call belongs to: the effect branch of its arguments.

In: an operator with several overloads. Out: a function of `infer`'s arguments that names the
overload, spelled in plain Python so that Dynamo can trace it inside a class's forward. Where the
generated text defines `overload` itself, that is taken instead (bound.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tileops.codegen.model import Operator, OverloadHeader
from tileops.manifest.signature.effects import condition_of


def selector(operator: Operator) -> Callable[..., str] | None:
    """The function, or None when the arguments alone tell the overloads apart."""
    signature = operator.signature
    conditions = {
        tensor.name: f"({condition})"
        for tensor in signature.inputs
        if not isinstance(condition := condition_of(tensor), bool)
    }
    if not conditions:
        return None
    nullable = {
        tensor.name: f"({tensor.presence})"
        for tensor in signature.outputs
        if tensor.presence is not None
    }
    lines = [f"def overload({', '.join(operator.infer_arguments)}):"]
    for item in operator.header.overloads:
        if item.name != "default":
            test = " and ".join(_tests(item, conditions, nullable, signature.buffer is not None))
            lines += [f"    if {test}:", f"        return {item.name!r}"]
    lines.append("    return 'default'")
    names: dict[str, Any] = {"present": _present}
    exec("\n".join(lines), names)
    return names["overload"]  # type: ignore[no-any-return]


def _tests(
    item: OverloadHeader, conditions: dict[str, str], nullable: dict[str, str], buffer: bool
) -> list[str]:
    """What holds on one branch: which inputs are written, and which outputs there are."""
    tests = [text if name in item.written else f"not {text}" for name, text in conditions.items()]
    if buffer:
        tests.append(f"out is {'not ' if 'out' in item.written else ''}None")
    if any(name in item.written for name in conditions):
        tests += [
            text if name in item.returns else f"not {text}" for name, text in nullable.items()
        ]
    return tests


def _present(value: Any) -> bool:
    return value is not None
