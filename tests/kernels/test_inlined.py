"""What Inductor is handed where kernels go into its graphs by default: arguments that it takes.

Everything else would keep the node, silently, or fail while a model is compiled on a GPU.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tileops
from benchmarks.kernels.subject import subject_of
from tests.devices import compiles
from tileops.runtime import inlining
from tileops.runtime.dispatch import allocate
from tileops.testing.cases import rows


def inlined_rows():
    """One row for each overload and dtype case of the operators whose kernels are inlined; what
    writes keeps its node."""
    for entry in tileops.registry.entries:
        if entry.status != "implemented":
            continue
        bound = tileops.registry.bound(entry.name)
        written = {item.name for item in bound.header.overloads if item.written}
        if bound.op_class.policy.cuda == "kernel":
            found = [row for row in rows(entry.name) if row.overload not in written]
            yield from {(row.overload, str(row.case.dtypes)): row for row in found}.values()


class Recorder:
    """Stands for a kernel in a graph."""

    def __init__(self, launched: list[Any]) -> None:
        self.launched = launched

    def __getitem__(self, grid: Any) -> Any:
        return lambda *args, **options: self.launched.append((*args, *options.values()))


@compiles
@pytest.mark.parametrize("row", list(inlined_rows()), ids=str)
def test_inductor_takes_the_arguments(row, monkeypatch) -> None:
    subject = subject_of(row, "meta")
    launched: list[Any] = []
    monkeypatch.setattr(torch.library, "wrap_triton", lambda kernel: Recorder(launched))
    call = inlining._GraphCall(torch.device("meta"), (9, 0))
    arguments = [subject.values.get(name) for name in subject.layout.inferred]
    device, specs, _ = row.bound.functions["infer"](*arguments)
    outputs = allocate(device, specs)
    reasons = {}
    for name, launcher in subject.launchers():
        reasons[name] = launcher(call, *outputs, *subject.inputs, **subject.keywords)
        if reasons[name] is None:
            break
    assert None in reasons.values(), reasons
    assert launched
    numbers = [v for args in launched for v in args if isinstance(v, int)]
    assert all(-(2**31) <= number < 2**31 for number in numbers), numbers
