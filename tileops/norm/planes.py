"""Norms of channels and of groups of them: launchers.

Statistics are summed first (moment_kernels.py), in one launch or, where they are few, in two; then
every plane is normalised by them (plane_kernels.py). Groups that fit in registers are read once, as
rows (rows.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from tileops.norm.moment_kernels import merge_kernel, moments_kernel
from tileops.norm.plane_kernels import plane_kernel
from tileops.runtime.launch import Call
from tileops.runtime.processors import processors
from tileops.tiling.config import ceil_div, pow2_at_least, tile_config
from tileops.tiling.plan import plan_of
from tileops.tiling.strides import rows_of
from tileops.tiling.view import view_of

__all__ = ["launch_batch", "launch_batch_backward", "launch_group", "launch_instance"]

EMPTY = "there are no elements"


@dataclass(frozen=True, slots=True)
class Statistics:
    """Mean, and reciprocal deviation or variance, of channels, or of every `group` of them."""

    mean: torch.Tensor
    deviation: torch.Tensor
    group: int = 0
    variance: bool = False
    eps: float = 0.0


@dataclass(frozen=True, slots=True)
class Running:
    """Statistics to bring up to date, from one set of channels or from each of a batch."""

    mean: torch.Tensor
    variance: torch.Tensor
    momentum: float
    batch: int = 1


@dataclass(frozen=True, slots=True)
class Gradient:
    """What a backward reads beside the input, and the sums that it gives."""

    doutput: torch.Tensor
    dweight: torch.Tensor
    dbias: torch.Tensor


def launch_batch(
    call: Call,
    output: torch.Tensor,
    save_mean: torch.Tensor | None,
    save_invstd: torch.Tensor | None,
    input: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    *,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> str | None:
    """Batch normalisation, by the statistics of the batch or by running ones."""
    if _is_empty(input):
        return EMPTY
    if save_mean is None or save_invstd is None:
        assert running_mean is not None and running_var is not None
        known = Statistics(running_mean, running_var, variance=True, eps=eps)
        _launch_planes(call, output, input, known, weight, bias)
        return None
    running = None
    if running_mean is not None and running_var is not None:
        running = Running(running_mean, running_var, momentum)
    axes = [0, *range(2, input.dim())]
    _launch_moments(call, input, axes, save_mean, save_invstd, eps, running)
    _launch_planes(call, output, input, Statistics(save_mean, save_invstd), weight, bias)
    return None


def launch_batch_backward(
    call: Call,
    dinput: torch.Tensor,
    dweight: torch.Tensor,
    dbias: torch.Tensor,
    doutput: torch.Tensor,
    input: torch.Tensor,
    save_mean: torch.Tensor,
    save_invstd: torch.Tensor,
    *,
    weight: torch.Tensor | None = None,
) -> str | None:
    """The gradients of a batch normalisation by the statistics of the batch."""
    if _is_empty(input):
        return EMPTY
    if input.stride() != doutput.stride():
        input, doutput = input.contiguous(), doutput.contiguous()
    mean, invstd = save_mean.contiguous(), save_invstd.contiguous()
    gradient = Gradient(doutput, dweight, dbias)
    axes = [0, *range(2, input.dim())]
    _launch_moments(call, input, axes, mean, invstd, 0.0, None, gradient)
    _launch_planes(call, dinput, input, Statistics(mean, invstd), weight, None, gradient)
    return None


def launch_group(
    call: Call,
    output: torch.Tensor,
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    *,
    num_groups: int,
    eps: float = 1e-5,
) -> str | None:
    """Group normalisation, groups of any size."""
    group = input.shape[1] // num_groups
    grouped = input.unflatten(1, (num_groups, group))
    _launch_groups(call, output, grouped, input, (weight, bias), group, eps, None)
    return None


def launch_instance(
    call: Call,
    output: torch.Tensor,
    input: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    *,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> str | None:
    """Instance normalisation, planes of any size."""
    if _is_empty(input):
        return EMPTY
    running = None
    if running_mean is not None and running_var is not None:
        if not use_input_stats:
            known = Statistics(running_mean, running_var, variance=True, eps=eps)
            _launch_planes(call, output, input, known, weight, bias)
            return None
        running = Running(running_mean, running_var, momentum, input.shape[0])
    _launch_groups(call, output, input, input, (weight, bias), 1, eps, running)
    return None


def _is_empty(x: torch.Tensor) -> bool:
    return any(isinstance(size, int) and size == 0 for size in x.shape)


def _launch_groups(
    call: Call,
    output: torch.Tensor,
    grouped: torch.Tensor,
    x: torch.Tensor,
    affine: tuple[torch.Tensor | None, torch.Tensor | None],
    group: int,
    eps: float,
    running: Running | None,
) -> None:
    """Statistics over all but the first two axes of `grouped`, a view of x, and planes by them."""
    count = grouped.shape[0] * grouped.shape[1]
    mean = call.empty(count, torch.float32)
    rstd = call.empty(count, torch.float32)
    _launch_moments(call, grouped, range(2, grouped.dim()), mean, rstd, eps, running)
    _launch_planes(call, output, x, Statistics(mean, rstd, group), *affine)


def _launch_moments(
    call: Call,
    x: torch.Tensor,
    axes: Sequence[int],
    mean: torch.Tensor,
    rstd: torch.Tensor,
    eps: float,
    running: Running | None,
    gradient: Gradient | None = None,
) -> None:
    """Mean and rstd over the axes, or from those the sums of a gradient."""
    dy = gradient.doutput if gradient else None
    view = view_of(x.shape, x.stride(), axes, ordered=False)
    if view is None:
        x, dy = x.contiguous(), dy if dy is None else dy.contiguous()
        view = view_of(x.shape, x.stride(), axes, ordered=False)
        assert view is not None
    plan = plan_of(view, x.element_size(), 4, 2, processors(call), aligned=False)
    batched = running is not None and running.batch > 1
    alone = plan.parts == 1 and not batched
    partial = None if alone else call.empty(3 * plan.parts * view.kept, torch.float32)
    first, second, steps, momentum = None, None, (1, 1), 0.0
    if running is not None:
        first, second, momentum = running.mean, running.variance, running.momentum
        steps = (first.stride(0), second.stride(0))
    elif gradient is not None:
        first, second = gradient.dweight, gradient.dbias
    common = {"BACKWARD": gradient is not None, "RUNNING": running is not None, "WIDE": view.wide}
    call.launch(
        moments_kernel,
        (ceil_div(view.kept, plan.block_k) * plan.parts,),
        *(mean, rstd, first, second, partial, x, dy),
        *(view.kept, view.n1, view.n2, *view.kept_strides),
        *(view.outer, view.inner, *view.reduced_strides),
        *(plan.tiles, ceil_div(view.inner, plan.block_inner), plan.parts, plan.part_tiles),
        *(*steps, eps, momentum),
        **common,
        PARTIAL=not alone,
        KEPT_RANK=view.kept_rank,
        TWO_AXES=view.outer != 1,
        BLOCK_K=plan.block_k,
        BLOCK_R=plan.block_r,
        BLOCK_INNER=plan.block_inner,
        num_warps=plan.warps,
    )
    if alone:
        return
    batch = running.batch if running is not None else 1
    block = max(1, 2048 // pow2_at_least(plan.parts))
    channels = view.kept // batch
    call.launch(
        merge_kernel,
        (ceil_div(channels, block),),
        *(mean, rstd, first, second, partial, channels, batch, plan.parts, *steps, eps, momentum),
        **common,
        BATCHED=batched,
        BLOCK_K=block,
        BLOCK_P=pow2_at_least(plan.parts),
        num_warps=4,
    )


def _launch_planes(
    call: Call,
    output: torch.Tensor,
    x: torch.Tensor,
    statistics: Statistics,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    gradient: Gradient | None = None,
) -> None:
    """Normalises x by statistics, or gives the gradient for it."""
    plane = math.prod(x.shape[2:])
    by_channel = statistics.group == 0
    # Planes of one element: channels side by side, each with its own statistics.
    columns = bool(plane == 1) and by_channel
    trailing = x.dim() - (1 if columns else 2)
    dy = gradient.doutput if gradient else None
    rows = rows_of(x.shape, [x.stride()], trailing)
    if rows is None:
        x, dy = x.contiguous(), dy if dy is None else dy.contiguous()
        rows = rows_of(x.shape, [x.stride()], trailing)
        assert rows is not None
    channels = x.shape[1]
    config = tile_config(rows.count, rows.length, bool(rows.inner[0] != 1 and rows.length != 1))
    blocks = ceil_div(rows.length, config.block)
    mean, deviation = statistics.mean, statistics.deviation
    call.launch(
        plane_kernel,
        (ceil_div(rows.count, config.rows) * blocks,),
        *(output, x, dy, mean, deviation, weight, bias),
        *((gradient.dweight, gradient.dbias) if gradient else (None, None)),
        *(blocks, rows.count, rows.length, channels, statistics.group, rows.n1, rows.n2),
        *(*rows.row_strides[0], rows.inner[0], mean.stride(0), deviation.stride(0)),
        *(weight.stride(0) if weight is not None else 1, bias.stride(0) if bias is not None else 1),
        *(statistics.eps, float(x.shape[0] * plane) if gradient else 1.0),
        BACKWARD=gradient is not None,
        COLUMNS=columns,
        BY_CHANNEL=by_channel,
        VARIANCE=statistics.variance,
        WEIGHT=weight is not None,
        BIAS=bias is not None,
        RANK=rows.rank,
        WIDE=rows.wide,
        BLOCK_ROWS=config.rows,
        BLOCK_N=config.block,
        num_warps=config.warps,
    )
