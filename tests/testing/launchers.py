"""A small launcher for the tests of the testing tools: y = x * scale (+ w)."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from tileops.runtime.launch import Call


@triton.jit
def scale_kernel(
    x_ptr, y_ptr, w_ptr, length, stride, scale, HAS_W: tl.constexpr, BLOCK: tl.constexpr
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < length
    y = tl.load(x_ptr + offsets * stride, mask=mask).to(tl.float32) * scale
    if HAS_W:
        y += tl.load(w_ptr + offsets, mask=mask).to(tl.float32)
    tl.store(y_ptr + offsets, y, mask=mask)


def launch_scale(
    call: Call, y: torch.Tensor, x: torch.Tensor, w: torch.Tensor | None, *, scale: float
) -> str | None:
    if x.dim() != 1:
        return "only vectors"
    args: tuple[Any, ...] = (x, y, w, x.shape[0], x.stride(0), scale)
    grid = (triton.cdiv(x.shape[0], 256),)
    call.launch(scale_kernel, grid, *args, HAS_W=w is not None, BLOCK=256, num_warps=2)
    return None
