"""torch.compile under a boundary policy, for forms of one function that live side by side.

In: a function and its arguments. Out: its compiled form, compiled already. Dynamo keeps what it
compiled by code object and backend, so that each form gets a backend of its own: without, a form
would be handed what was compiled under another policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def policy_of(name: str) -> AbstractContextManager[Any]:
    """A boundary policy for all operators, or "default", which leaves every one its own."""
    import tileops

    return nullcontext() if name == "default" else tileops.boundary_policy(name)


def compile_under(
    policy: str, function: Callable[..., Any], arguments: Sequence[Any]
) -> Callable[..., Any]:
    """`function` for arguments of these shapes under a policy of `policy_of`."""
    import torch

    compiled = torch.compile(function, fullgraph=True, dynamic=False, backend=_own_inductor())
    with policy_of(policy):
        compiled(*arguments)
    return compiled


def _own_inductor() -> Callable[..., Any]:
    def inductor(module: Any, inputs: Sequence[Any]) -> Any:
        from torch._inductor.compile_fx import compile_fx

        return compile_fx(module, inputs)

    return inductor
