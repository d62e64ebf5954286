"""Activations of one element, for the unary kernels; see `unary_functions`.

Comparisons are written so that NaN takes the branch that keeps it.
"""

import triton
import triton.language as tl

from tileops.elementwise.unary_functions import divide, exp_of, expm1_of, log1p_of, real


@triton.jit
def relu(x, p, q, r):
    return tl.where(x < 0, tl.full(x.shape, 0, x.dtype), x)


@triton.jit
def silu(x, p, q, r):
    return divide(x, 1.0 + exp_of(-1.0 * x))


@triton.jit
def clamp_to_six(x):
    return tl.where(x < 0.0, 0.0, tl.where(x > 6.0, 6.0, x))


@triton.jit
def hardswish(x, p, q, r):
    return x * clamp_to_six(x + 3.0) * 0.16666666666666666


@triton.jit
def hardsigmoid(x, p, q, r):
    return clamp_to_six(x + 3.0) * 0.16666666666666666


@triton.jit
def mish(x, p, q, r):
    """x * tanh(log(1 + e)), where tanh(log(1 + e)) is n / (n + 2) of n = e * (e + 2)."""
    e = exp_of(tl.where(x > 40.0, 40.0, x))
    n = e * (e + 2.0)
    return x * divide(n, n + 2.0)


@triton.jit
def selu(x, p, q, r):
    negative = 1.6732632423543772 * expm1_of(x)
    return 1.0507009873554805 * tl.where(x > 0.0, x, negative)


@triton.jit
def elu(x, p, q, r):
    return tl.where(x > 0.0, x, real(p, x) * expm1_of(x))


@triton.jit
def leaky_relu(x, p, q, r):
    return tl.where(x > 0.0, x, real(p, x) * x)


@triton.jit
def hardtanh(x, p, q, r):
    if x.dtype.is_floating():
        low = real(p, x)
        high = real(q, x)
    else:
        low = tl.full(x.shape, 0, x.dtype) + p
        high = tl.full(x.shape, 0, x.dtype) + q
        low = low.to(x.dtype)
        high = high.to(x.dtype)
    return tl.where(x < low, low, tl.where(x > high, high, x))


@triton.jit
def softplus(x, p, q, r):
    """log(1 + exp(p x)) / p, and x itself where p x is above q."""
    beta = real(p, x)
    scaled = beta * x
    return tl.where(scaled > real(q, x), x, divide(log1p_of(exp_of(scaled)), beta))
