"""The operator of a composite: its class's own forward, whose stages are what AOT sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tileops.codegen.model import Role
from tileops.runtime.bound import Bound, Layout


def composer(bound: Bound, layout: Layout) -> Callable[[dict[str, Any]], Any]:
    """Calls an instance of a composite's class with the arguments of its operator."""
    parameters = {p.name for p in bound.operator.parameters}
    keywords = [item for item in layout.split().keywords if item.name in parameters]
    names = [a.name for a in layout.arguments]
    inputs = [a.name for a in layout.arguments if a.role in (Role.INPUT, Role.OUT)]

    def compose(values: dict[str, Any]) -> Any:
        cls = bound.implementation(composite=True)
        args = [values[name] for name in names]
        made = {item.name: item.of(args) for item in keywords}
        op = cls(**made, target=values.get("target"))
        results = op(**{name: values[name] for name in inputs})
        if len(bound.operator.outputs) == 1 or not layout.returned:
            return results if layout.returned else None
        returned = [results[position] for position in layout.returned]
        return returned[0] if len(returned) == 1 else tuple(returned)

    return compose
