"""torch.compile under a boundary policy, for forms of one function that live side by side.

In: a function and its arguments. Out: its compiled form, compiled already. Dynamo keeps what it
compiled by code object and backend, so that each form gets a backend of its own: without, a form
would be handed what was compiled under another policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def compile_under(
    policy: str, function: Callable[..., Any], arguments: Sequence[Any]
) -> Callable[..., Any]:
    """`function` for arguments of these shapes; `policy` is "opaque", "reference" or "kernel"."""
    import torch

    import tileops

    compiled = torch.compile(function, fullgraph=True, dynamic=False, backend=_own_inductor())
    with tileops.boundary_policy(policy):
        compiled(*arguments)
    return compiled


def _own_inductor() -> Callable[..., Any]:
    def inductor(module: Any, inputs: Sequence[Any]) -> Any:
        from torch._inductor.compile_fx import compile_fx

        return compile_fx(module, inputs)

    return inductor
