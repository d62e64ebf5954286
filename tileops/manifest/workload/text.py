"""Cases as people and programs read them: a table of an entry's rows, and one record per case.

In: a signature and its plan. Out: text for `tileops show --rows` and `tileops cases`, and the
records of `tileops cases --format json`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tileops.manifest.adt import ADTValue
from tileops.manifest.roofline import Cost, CostFunction, price
from tileops.manifest.signature.model import Signature
from tileops.manifest.signature.steps import Plan
from tileops.manifest.workload.case import Case, CaseFails, Instance
from tileops.manifest.workload.check import cases
from tileops.manifest.workload.instantiate import generate, instantiate

Resolve = Callable[[str], CostFunction | None]


def record(instance: Instance, cost: Cost | None) -> dict[str, Any]:
    """One case as plain data: op, case, params, inputs, outputs, flops, bytes.

    Absent tensors are left out; construction-time tensors stand among the inputs. Without a cost,
    flops and bytes are None.
    """
    inputs = {n: [list(m.shape), m.dtype] for n, m in instance.inputs.items() if m is not None}
    outputs = {n: [list(s[0]), s[1]] for n, s in instance.outputs.items() if s is not None}
    flops, bytes_ = cost or (None, None)
    return {
        "op": instance.case.signature.op,
        "case": instance.case.id,
        "params": {name: jsonable(value) for name, value in instance.case.params.items()},
        "inputs": inputs,
        "outputs": outputs,
        "flops": flops,
        "bytes": bytes_,
    }


def cost_of(instance: Instance, resolve: Resolve) -> Cost | None:
    """What the entry's cost model says of a case; None without one that can be asked.

    Raises `RooflineError`, and `CaseFails` where contents that a function reads cannot be made.
    """
    workload = instance.case.workload
    model = workload.roofline
    if model is None:
        return None
    if model.func is not None:
        function = resolve(model.func)
        if function is None:
            return None
        call = instance.priced(generate(instance))
    else:
        call = instance.priced()
    signature, point = workload.signature, instance.case.point
    return price(model, call, signature, workload.discriminants, point, resolve)


def jsonable(value: Any) -> Any:
    """A parameter's value as JSON has it: ADTs as literals, non-finite floats as text."""
    match value:
        case ADTValue():
            return {value.kind: dict(value.fields)}
        case list() | tuple():
            return [jsonable(item) for item in value]
        case dict():
            return {str(key): jsonable(item) for key, item in value.items()}
        case complex():
            return str(value)
        case float() if value != value or value in (float("inf"), float("-inf")):
            # JSON has no such number, and readers differ over the word.
            return str(value)
        case _:
            return value


HEADER = ("op", "case", "inputs", "outputs", "flops", "bytes")


def summary(instance: Instance, cost: Cost | None) -> tuple[str, ...]:
    """One case as a line of a table."""
    flops, bytes_ = cost or (None, None)
    inputs = [f"{n} {_type(m.shape, m.dtype)}" for n, m in instance.inputs.items() if m]
    outputs = [f"{n} {_type(*spec)}" for n, spec in instance.outputs.items() if spec]
    return (
        instance.case.signature.op,
        instance.case.id,
        ", ".join(inputs),
        ", ".join(outputs),
        "-" if flops is None else f"{flops:.3g}" if flops >= 10_000 else str(flops),
        "-" if bytes_ is None else f"{bytes_:.3g}" if bytes_ >= 10_000 else str(bytes_),
    )


def _type(shape: Sequence[int], dtype: str) -> str:
    return f"{dtype}[{', '.join(map(str, shape))}]"


def rows_text(signature: Signature, plan: Plan) -> str:
    """Every case of an entry: what the row gives, and the call that it denotes."""
    parts = [_case_text(case) for case in cases(signature, plan)]
    return "\n".join(parts) or f"{signature.op} has no row that can be read\n"


def _case_text(case: Case) -> str:
    lines = [case.id]
    given = {name: value for name, value in case.params.items() if case.decl.get(name) is not None}
    for what, values in (("params", given), ("indices", {**case.indices, **case.dtypes})):
        if values:
            shown = ", ".join(f"{name}={_short(value)}" for name, value in values.items())
            lines.append(f"  {what:8} {shown}")
    try:
        instance = instantiate(case)
    except CaseFails as error:
        return "\n".join([*lines, f"  fails    {error}"]) + "\n"
    for name, meta in instance.inputs.items():
        lines.append(f"  input    {name}: {'absent' if meta is None else _line(case, name, meta)}")
    for name, spec in instance.outputs.items():
        lines.append(f"  output   {name}: {'absent' if spec is None else _type(*spec)}")
    return "\n".join(lines) + "\n"


def _line(case: Case, name: str, meta: Any) -> str:
    metadata = case.workload.metadata.get(name)
    contents = "" if metadata is None else f" = {metadata.generation}"
    return f"{_type(meta.shape, meta.dtype)}{contents}"


def _short(value: Any) -> str:
    if isinstance(value, list | tuple) and len(value) > 8:
        head = ", ".join(map(str, value[:4]))
        return f"[{head}, ... {len(value)} items]"
    return str(list(value)) if isinstance(value, tuple) else str(value)
