"""Operators with one fault each, which the checks must catch. None of them is of the package.

Run as a program, it checks the one named: a wrong dtype can corrupt the memory of its process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

NAMESPACE = "tileops_controls"
_library = torch.library.Library(NAMESPACE, "FRAGMENT")


def _define(
    name: str,
    real: Callable[..., Any],
    fake: Callable[..., Any] | None,
    schema: str = "(Tensor x) -> Tensor",
) -> None:
    _library.define(name + schema)
    _library.impl(name, real, "CPU")
    if fake is not None:
        _library._register_fake(name, fake)


def _double(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).contiguous()


def _empty(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(x.shape)


def _add_in_place(x: torch.Tensor) -> torch.Tensor:
    return x.add_(1).clone(memory_format=torch.contiguous_format)


def _branching(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(x.shape) if x.shape[0] > 100 else x.new_empty((x.shape[0], x.shape[1]))


def _counting(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty((int(x.shape[0]), x.shape[1]))


def _shared(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    both = x.repeat(2, 1)
    return both[: x.shape[0]], both[x.shape[0] :]


_define("sound", _double, _empty)
_define("wrong_dtype", _double, lambda x: x.new_empty(x.shape, dtype=torch.float64))
_define("wrong_device", _double, lambda x: x.new_empty(x.shape, device="meta"))
_define("wrong_shape", _double, lambda x: x.new_empty((x.shape[0], x.shape[1] + 1)))
_define("copied_strides", _double, torch.empty_like)
_define("missing_fake", _double, None)
_define("writes_in_secret", _add_in_place, _empty)
_define("branches_on_a_size", _double, _branching)
_define("int_of_a_size", _double, _counting)
_define("returns_its_input", lambda x: x.view(x.shape), _empty)
_define(
    "shared_results",
    _shared,
    lambda x: (x.new_empty(x.shape), x.new_empty(x.shape)),
    "(Tensor x) -> (Tensor, Tensor)",
)

torch.library.register_autograd(
    f"{NAMESPACE}::sound", lambda ctx, gradient: gradient * 2, lib=_library
)

ops: Any = getattr(torch.ops, NAMESPACE)


def make(rows: int) -> tuple[tuple[torch.Tensor], dict[str, Any]]:
    """A call with that many rows."""
    return (torch.arange(rows * 6, dtype=torch.float32).reshape(rows, 6),), {}


def breaks_the_graph(x: torch.Tensor) -> Any:
    """A caller that torch.compile cannot trace in one piece."""
    torch._dynamo.graph_break()
    return ops.sound(x)


def computes_first(x: torch.Tensor) -> Any:
    """A caller that runs eager code before its operator."""
    return ops.sound(x + 1)


if __name__ == "__main__":
    from tileops.testing import check

    print(check(getattr(ops, sys.argv[1]), call=make))
