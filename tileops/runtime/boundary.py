"""What a compiled graph keeps of a call after AOT: the node, its kernels, or its reference.

In: a class's `policy` and what `boundary_policy` put over it. Out: the answer, per call. Dynamo,
export and saved programs see one node under every policy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Any

import torch

from tileops.runtime import cache_tag, targets
from tileops.runtime.bound import Bound
from tileops.runtime.errors import CallError
from tileops.runtime.registry import registries

POLICIES = ("opaque", "kernel", "reference")


@dataclass(frozen=True, slots=True)
class Policy:
    """Per device class: "opaque" keeps the node; "kernel" puts its Triton launches into the graph,
    for Inductor to make; "reference" puts the PyTorch definition there, for Inductor to fuse.

    A call that cannot be inlined stays opaque.
    """

    cuda: str = "opaque"
    cpu: str = "opaque"

    def __post_init__(self) -> None:
        for name in (self.cuda, self.cpu):
            if name not in POLICIES:
                raise CallError(
                    f"boundary policy must be one of {', '.join(POLICIES)}, got {name!r}"
                )

    def on(self, device_type: str) -> str:
        """The policy for tensors of that device class."""
        return {"cuda": self.cuda, "cpu": self.cpu}.get(device_type, "opaque")


_OPAQUE = Policy()
_EVERY = ""
#: Policies by class name, or for every class, over those of the classes.
Overrides = Mapping[str, Policy]

_lock = threading.Lock()
_process: Overrides = {}
_context: ContextVar[Overrides | None] = ContextVar("tileops_boundary", default=None)


class boundary_policy:
    """Sets the boundary policy of graphs compiled from now on, over what the classes say.

    `policy` is a word for every device class, a `Policy`, or None, which takes away what was set:
    for the operators that are named, or all of it. `ops` are class names or classes, none meaning
    every operator; what is set for one counts before that. Called, it holds for the process;
    under `with`, for the context. Graphs that are compiled already stay as they are.

    Errors: CallError for a policy or an operator that does not exist.
    """

    def __init__(self, policy: str | Policy | None, *ops: str | type) -> None:
        global _process
        if isinstance(policy, str):
            policy = Policy(policy, policy)
        names = [_known(op) for op in ops] or [_EVERY]
        self._change = dict.fromkeys(names, policy)
        self._token: Token[Overrides | None] | None = None
        with _lock:
            self._before = _process
            _process = self._changed(_process)
            cache_tag.set_policy(_process, everywhere=True)

    def _changed(self, overrides: Overrides) -> Overrides:
        """The later word counts: one for every operator takes those for single ones away."""
        kept = {} if _EVERY in self._change else overrides
        changed = {**kept, **self._change}
        return {name: policy for name, policy in changed.items() if policy is not None}

    def __enter__(self) -> boundary_policy:
        global _process
        with _lock:
            _process = self._before
            cache_tag.set_policy(_process, everywhere=True)
        self._token = _context.set(self._changed(_overrides()))
        cache_tag.set_policy(_overrides(), everywhere=False)
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._token is not None:
            _context.reset(self._token)
            self._token = None
            cache_tag.set_policy(_overrides(), everywhere=False)


def _overrides() -> Overrides:
    inner = _context.get()
    return _process if inner is None else inner


def _known(op: str | type) -> str:
    """The name of an operator that some registry has."""
    name = op if isinstance(op, str) else op.__name__
    if not any(name in registry for registry in registries()):
        raise CallError(f"boundary policy: {name!r} must be the name of a registered operator")
    return name


def policy_of(op_class: type | None, name: str) -> Policy:
    """The policy that holds here for the operator of that class name."""
    overrides = _overrides()
    found = overrides.get(name) or overrides.get(_EVERY)
    return found or getattr(op_class, "policy", _OPAQUE)


def decider(bound: Bound) -> Callable[[Sequence[Any]], str]:
    """What AOT makes of a call on these tensors: one of POLICIES."""

    def decide(tensors: Sequence[Any]) -> str:
        policy = policy_of(bound.op_class, bound.header.op)
        if policy == _OPAQUE or targets.default_target() is not None:
            return "opaque"
        device = next((t.device for t in tensors if isinstance(t, torch.Tensor)), None)
        if device is None or not _may_decompose():
            return "opaque"
        word = policy.on(device.type)
        if word == "kernel" and not getattr(bound.op_class, "inductor_compiles_kernels", True):
            return "opaque"
        return word

    return decide


def _may_decompose() -> bool:
    """Not while an exported program is being kept portable.

    torch.compiler.is_exporting() would be wrong: it also holds while AOTInductor compiles.
    """
    from torch.export._trace import custom_triton_ops_decomposition_disabled

    return not custom_triton_ops_decomposition_disabled()
