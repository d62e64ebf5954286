"""The reductions in plain PyTorch: their CPU implementation, and what kernels are tested with.

Each is named as its kernels are told; `dim` is as a class takes it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logsumexp",
    "mean",
    "norm",
    "prod",
    "softmax",
    "std",
    "sum",
    "var",
    "var_mean",
]

Tensor = torch.Tensor
Axes = int | Sequence[int] | None


def softmax(x: Tensor, *, dim: int | None = None, dtype: torch.dtype | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along `dim`, the last axis by default."""
    return torch.softmax(x, -1 if dim is None else dim, dtype=dtype).contiguous()


def log_softmax(
    input: Tensor, *, dim: int | None = None, dtype: torch.dtype | None = None
) -> Tensor:
    """log(softmax) along `dim`, by default torch's implicit axis."""
    axis = (0 if input.dim() in (0, 1, 3) else 1) if dim is None else dim
    return torch.log_softmax(input, axis, dtype=dtype).contiguous()


def sum(
    input: Tensor, *, dim: Axes = None, keepdim: bool = False, dtype: torch.dtype | None = None
) -> Tensor:
    """The sum along `dim`."""
    return torch.sum(input, dim=dim, keepdim=keepdim, dtype=dtype).contiguous()


def mean(
    input: Tensor, *, dim: Axes = None, keepdim: bool = False, dtype: torch.dtype | None = None
) -> Tensor:
    """The mean along `dim`."""
    return torch.mean(input, dim=dim, keepdim=keepdim, dtype=dtype).contiguous()


def amax(input: Tensor, *, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """The largest element along `dim`."""
    return torch.amax(input, () if dim is None else dim, keepdim).contiguous()


def amin(input: Tensor, *, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """The smallest element along `dim`."""
    return torch.amin(input, () if dim is None else dim, keepdim).contiguous()


def prod(
    input: Tensor, *, dim: int, keepdim: bool = False, dtype: torch.dtype | None = None
) -> Tensor:
    """The product along `dim`."""
    return torch.prod(input, dim, keepdim, dtype=dtype).contiguous()


def var(
    input: Tensor, *, dim: Axes = None, correction: float | None = 1, keepdim: bool = False
) -> Tensor:
    """The variance along `dim`."""
    return torch.var(input, dim=dim, correction=correction, keepdim=keepdim).contiguous()


def std(
    input: Tensor, *, dim: Axes = None, correction: float | None = 1, keepdim: bool = False
) -> Tensor:
    """The standard deviation along `dim`."""
    return torch.std(input, dim=dim, correction=correction, keepdim=keepdim).contiguous()


def var_mean(
    input: Tensor, *, dim: Axes = None, correction: float | None = 1, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    """The variance and the mean along `dim`."""
    var, mean = torch.var_mean(input, dim=dim, correction=correction, keepdim=keepdim)
    return var.contiguous(), mean.contiguous()


def argmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Where the largest element is."""
    return torch.argmax(input, dim, keepdim).contiguous()


def argmin(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Where the smallest element is."""
    return torch.argmin(input, dim, keepdim).contiguous()


def all(input: Tensor, *, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """Whether every element along `dim` is true."""
    return torch.all(input, dim=dim, keepdim=keepdim).contiguous()


def any(input: Tensor, *, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """Whether some element along `dim` is true."""
    return torch.any(input, dim=dim, keepdim=keepdim).contiguous()


def count_nonzero(input: Tensor, *, dim: Axes = None) -> Tensor:
    """How many elements along `dim` are not zero."""
    return torch.count_nonzero(input, dim=dim).contiguous()


def norm(
    x: Tensor,
    *,
    ord: float = 2,
    dim: Axes = None,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """The norm of order `ord` along `dim`."""
    return torch.linalg.vector_norm(x, ord, dim, keepdim, dtype=dtype).contiguous()


def logsumexp(input: Tensor, *, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials along `dim`."""
    return torch.logsumexp(input, dim, keepdim).contiguous()


def cumsum(input: Tensor, *, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    """The sum of every element and those before it along `dim`."""
    return torch.cumsum(input, dim, dtype=dtype).contiguous()


def cumprod(input: Tensor, *, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    """The product of every element and those before it along `dim`."""
    return torch.cumprod(input, dim, dtype=dtype).contiguous()
