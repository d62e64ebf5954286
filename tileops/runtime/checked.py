"""A forward written by hand, with the checks of its entry around it.

In: the function. Out: the same function, which in an eager call checks the inputs first and the
results after, and remembers the call for `eval_roofline`. In a compiled region it only runs, and
the operators that it calls check themselves there.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tileops.runtime import stub
from tileops.runtime.bound import Bound
from tileops.runtime.reference import ImplementationError


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with the checks around it; its signature stays what `inspect` shows."""
    shape = inspect.signature(function)

    @functools.wraps(function)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        cls = type(self)
        if torch.compiler.is_compiling():
            held = {
                name: self.__dict__[name]
                for name in cls.injected_parameters
                if self.__dict__.get(name) is not None
            }
            if held:
                stub.refuse_held(self, held)
            return function(self, *args, **kwargs)
        # Under a mode tensors may be fake ones, whose sizes a comparison would fix.
        if torch._C._len_torch_dispatch_stack() > 0 or not cls.has_entry():
            return function(self, *args, **kwargs)
        given = shape.bind(self, *args, **kwargs).arguments
        bound: Bound = cls.bound()
        names = stub.input_names(bound)
        inputs = {name: given.get(name) for name in names}
        arguments = stub.generated(cls, "infer_arguments")(self, *inputs.values())
        device, specs, _ = bound.functions["infer"](*arguments)
        result = function(self, *args, **kwargs)
        _check_results(bound, device, specs, result)
        stub.remember(cls)(self, *inputs.values())
        return result

    return forward


def _check_results(
    bound: Bound, device: torch.device | None, specs: Sequence[Any], result: Any
) -> None:
    """Shape, dtype and device of what a forward returned."""
    results = result if isinstance(result, tuple) else () if not specs else (result,)
    subject = bound.header.op
    if len(results) != len(specs):
        raise ImplementationError(
            f"{subject}: forward must return {len(specs)} results, got {len(results)}"
        )
    for output, spec, item in zip(bound.operator.outputs, specs, results, strict=True):
        if spec is None or not isinstance(item, torch.Tensor):
            if not (spec is None and item is None):
                wanted = "None" if spec is None else "a tensor"
                raise ImplementationError(
                    f"{subject}: forward must give {wanted} for {output.name}, got {type(item)}"
                )
            continue
        place = item.device if device is None else device
        fits = tuple(item.shape) == tuple(spec[0]) and item.dtype is spec[1]
        if not fits or item.device != place:
            raise ImplementationError(
                f"{subject}: forward must give {spec[1]}{list(spec[0])} on {place} for "
                f"{output.name}, got {item.dtype}{list(item.shape)} on {item.device}"
            )
