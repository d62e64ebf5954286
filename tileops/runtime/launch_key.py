"""By what the launches of one call may be made again for another (relaunch.py).

In: an overload. Out: an expression over its arguments, for the generated function: shapes, strides,
dtypes, devices and alignment of the tensors, and the parameters. A launcher reads nothing else.
"""

from __future__ import annotations

from tileops.codegen.model import Role
from tileops.runtime.bound import Layout, SchemaArgument

#: Triton compiles another kernel for pointers that are no multiple of it.
_ALIGNMENT = 16


def expression(layout: Layout) -> str:
    """What a launcher and Triton may read of a call, as an expression: "" where there is more.

    Equal keys mean equal checks and equal launches.
    """
    objects = any(not names for names, _ in layout.spread.values())
    inputs = {a.name for a in layout.arguments if a.role is Role.INPUT}
    if objects or layout.held or inputs != set(layout.leaders) or not layout.decided:
        return ""
    return (
        "(" + "".join(f"{_part(a)}, " for a in layout.arguments if a.role is not Role.TARGET) + ")"
    )


def _part(argument: SchemaArgument) -> str:
    name, kind = argument.name, argument.type
    if argument.is_tensor:
        # Strides of what is contiguous follow from its shape, but for axes of one element.
        strides = f"{name}.is_contiguous() or {name}.stride()"
        text = f"{name}.dtype, {name}.shape, {strides}, {name}.device, "
        text = f"({text}{name}.data_ptr() % {_ALIGNMENT})"
    elif kind.startswith("Scalar") and not kind.startswith("ScalarType"):
        return f"type({name}), repr({name})"
    elif "float[" in kind:
        text = f"repr({name})"
    elif kind.startswith("float"):
        # Negative zero equals zero, and NaN nothing.
        text = f"{name}.hex()"
    elif "]" in kind:
        text = f"tuple({name})"
    else:
        return name
    return text if argument.required else f"(None if {name} is None else {text})"
