"""What a compiled graph keeps of a call after AOT: the node, or the reference in its place.

In: a class's `policy`. Out: the answer, per call, whether AOT inlines the reference. Dynamo and
export see one node under either policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tileops.runtime import targets
from tileops.runtime.bound import Bound

POLICIES = ("opaque", "reference")


@dataclass(frozen=True, slots=True)
class Policy:
    """Per device class: "opaque" keeps the node, "reference" lets Inductor fuse the definition."""

    cuda: str = "opaque"
    cpu: str = "opaque"

    def __post_init__(self) -> None:
        for name in (self.cuda, self.cpu):
            if name not in POLICIES:
                raise ValueError(f"a boundary policy must be one of {POLICIES}, got {name!r}")

    def on(self, device_type: str) -> str:
        """The policy for tensors of that device class."""
        return {"cuda": self.cuda, "cpu": self.cpu}.get(device_type, "opaque")


def decider(bound: Bound) -> Callable[[Sequence[Any]], bool]:
    """Whether a call on these tensors is inlined."""

    def inlines(tensors: Sequence[Any]) -> bool:
        policy = getattr(bound.op_class, "policy", None)
        if policy is None or policy == Policy() or targets.default_target() is not None:
            return False
        device = next((t.device for t in tensors if isinstance(t, torch.Tensor)), None)
        return device is not None and policy.on(device.type) == "reference" and _may_decompose()

    return inlines


def _may_decompose() -> bool:
    """Not while an exported program is being kept portable.

    torch.compiler.is_exporting() would be wrong: it also holds while AOTInductor compiles.
    """
    from torch.export._trace import custom_triton_ops_decomposition_disabled

    return not custom_triton_ops_decomposition_disabled()
