"""Launchers that write their outputs slowly and in place, as a kernel would, without Triton."""

import torch


def never(call, output, x, weight, *, normalized_shape, eps):
    return "x is not to its taste"


def rms_norm(call, output, x, weight, *, normalized_shape, eps):
    output.data.copy_(torch.nn.functional.rms_norm(x, normalized_shape, weight, eps))


def scale(call, output, x, y):
    # Row by row, so that an overlapping source would show.
    with torch.no_grad():
        out = output.data.view(-1)
        left, right = x.detach().reshape(-1), y.detach()
        for i in range(out.numel()):
            out[i] = left[i] * right.view(-1)[out.numel() - 1 - i]


def running(call, output, x, running, *, training):
    mean = x.mean(0)
    output.data.copy_(x - mean if training else x - running)
    if training:
        running.data.mul_(0.9).add_(0.1 * mean)


def shift(call, output, x, by):
    with torch.no_grad():
        out, source = output.data.view(-1), by.detach().view(-1)
        for i in range(out.numel()):
            out[i] += source[source.numel() - 1 - i]
