"""Running an operator's kernels, without the operator, on tensors of a test.

In: an operator class and tensors. Out: written outputs, and the name of the kernel that served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from tileops.runtime.launch import Call
from tileops.runtime.op import Op

__all__ = ["launcher_of", "poisoned", "serve", "stride_variants"]


def launcher_of(op: type[Op], name: str) -> Callable[..., str | None]:
    """The launcher that `kernel_types` names."""
    return op.kernel_types[name].load()


def poisoned(
    shape: Sequence[int], dtype: torch.dtype, device: torch.device | str = "cpu"
) -> torch.Tensor:
    """A tensor whose every element is wrong: NaN, or all bits set."""
    if dtype.is_floating_point:
        return torch.full(tuple(shape), float("nan"), dtype=dtype, device=device)
    return torch.full(tuple(shape), True if dtype == torch.bool else 85, dtype=dtype, device=device)


def serve(
    op: type[Op],
    outputs: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor | None],
    params: Mapping[str, Any] | None = None,
    only: str | None = None,
) -> str:
    """Runs the first kernel that takes the call, or the one named; returns its name.

    On CPU tensors that is Triton's interpreter, which the process must have been started with.
    """
    device = outputs[0].device
    if device.type == "cuda":
        call = Call(device, torch.cuda.get_device_capability(device))
    else:
        from tileops.testing.kernels import require_interpreter

        require_interpreter("serve")
        call = Call(device, None)
    reasons = []
    for name in [only] if only else op.kernel_types:
        reason = launcher_of(op, name)(call, *outputs, *inputs, **dict(params or {}))
        if reason is None:
            return name
        reasons.append(f"{name}: {reason}")
    raise AssertionError(f"no kernel of {op.__name__} took the call: " + "; ".join(reasons))


def stride_variants(x: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors of x's values that lie in memory in other ways: (how, tensor)."""
    yield "contiguous", x.contiguous()
    if x.dim() == 0:
        return
    padded = x.new_zeros(*x.shape[:-1], x.shape[-1] + 3)[..., 1:-2]
    yield "padded rows, odd offset", padded.copy_(x)
    stepped = x.new_zeros(*x.shape[:-1], x.shape[-1] * 2)[..., ::2]
    yield "every other element", stepped.copy_(x)
    if x.dim() >= 2:
        yield "last two axes swapped", x.transpose(-1, -2).contiguous().transpose(-1, -2)
        yield (
            "axes reversed",
            x.permute(*reversed(range(x.dim()))).contiguous().permute(*reversed(range(x.dim()))),
        )
    if x.dim() >= 3:
        yield "first two axes swapped", x.transpose(0, 1).contiguous().transpose(0, 1)
