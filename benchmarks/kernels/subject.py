"""One row of an entry as everything that is timed for it.

In: a row with its tensors. Out: the same call through torch.ops, through the kernel that serves it,
as the reference, and as what torch has (baselines.py); its flops and bytes by the entry's roofline.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tileops.manifest.roofline import price
from tileops.runtime import library
from tileops.runtime.bound import Layout
from tileops.runtime.launch import call_on
from tileops.testing import Call
from tileops.testing.cases import Row

Thunk = Callable[[], Any]


@dataclass(frozen=True)
class Subject:
    """A row with real tensors; `with_copy` is the same call on other memory."""

    row: Row
    layout: Layout
    call: Call
    flops: int
    bytes: int
    inputs: tuple[Any, ...]
    keywords: Mapping[str, Any]
    values: Mapping[str, Any]

    @property
    def tensors(self) -> tuple[torch.Tensor, ...]:
        return tuple(self.call.tensors.values())

    @property
    def reference(self) -> Callable[..., Any]:
        return self.row.bound.implementation().reference  # type: ignore[attr-defined, no-any-return]

    def with_copy(self) -> Subject:
        return _subject(self.row, self.call.cloned(), self.flops, self.bytes)

    def ours(self) -> Any:
        """Through torch.ops."""
        return self.call()

    def outputs(self) -> tuple[Any, ...]:
        """What the reference gives: every output, and what inputs that are no output become. A call
        that writes its inputs gets copies of them."""
        written = self.layout.overload.written
        subject = self.with_copy() if written else self
        results = subject.ours()
        returned = iter(results if isinstance(results, tuple) else (results,))
        if not written:
            return tuple(returned)
        layout = self.layout
        outputs = (subject.values[n] if n else next(returned) for n in layout.bound_outputs)
        return (*outputs, *(subject.values[name] for name in layout.unbound))

    def plain(self) -> Any:
        """The reference as it is."""
        return self.reference(*self.inputs, **self.keywords)

    def launchers(self) -> Iterator[tuple[str, Callable[..., str | None]]]:
        """The kernels of the class in the order in which they are tried."""
        for name, kernel in self.row.bound.implementation().kernel_types.items():  # type: ignore[attr-defined]
            yield name, kernel.load()

    def launch(self, launcher: Callable[..., str | None]) -> Callable[[], str | None]:
        """A launcher on outputs of its own, which start out wrong in every element."""
        arguments = [self.values.get(name) for name in self.layout.inferred]
        device, specs, _ = self.row.bound.functions["infer"](*arguments)
        outputs = [None if spec is None else _poisoned(*spec, device) for spec in specs]
        call = call_on(device)

        def launch() -> str | None:
            return launcher(call, *outputs, *self.inputs, **self.keywords)

        return launch


def _poisoned(shape: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    value: Any = float("nan") if dtype.is_floating_point else 85
    return torch.full(tuple(shape), value, device=device).to(dtype)


def subject_of(row: Row, device: str, max_elements: int | None = None) -> Subject:
    """The row at full size, or shrunk, with random tensors."""
    case = row.tensors(device, max_elements=max_elements)
    workload = case.instance.case.workload
    flops, size = 0, sum(tensor.nbytes for tensor in case.call.tensors.values())
    if workload.roofline is not None:
        cost = price(
            workload.roofline,
            case.instance.priced(),
            workload.signature,
            workload.discriminants,
            case.instance.case.point,
            _cost_function,
        )
        flops, size = (flops, size) if cost is None else cost
    return _subject(row, case.call, flops, size)


def _cost_function(path: str) -> Any:
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError:
        return None


def _subject(row: Row, call: Call, flops: int, size: int) -> Subject:
    bound = row.bound
    overload = next(item for item in bound.header.overloads if item.name == row.overload)
    layout = bound.layout(overload, library.schema_text(bound.header, overload))
    defaults = {a.name: a.default for a in layout.arguments if not a.required}
    values = {**defaults, **layout.infinite, **call.arguments}
    split = layout.split()
    ordered = [values.get(argument.name) for argument in layout.arguments]
    inputs = tuple(ordered[at] for at in split.positional)
    keywords = {keyword.name: keyword.of(ordered) for keyword in split.keywords}
    return Subject(row, layout, call, flops, size, inputs, keywords, values)
