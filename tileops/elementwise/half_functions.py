"""Functions of one element whose result is rounded to half precision: `function(x, p, q, r)`.

They take the accumulator of an element, as those of `unary_functions` do, and are right to 2 ** -14
of the result at least, an eighth of float16's last place, at the rate of memory: by the GPU's own
power of two, by divisions that are not rounded to nearest, and by polynomials where a difference
near zero would lose its digits.
"""

import triton
import triton.language as tl

from tileops.elementwise.unary_functions import real


@triton.jit
def exp(x, p, q, r):
    return tl.exp2(x * 1.4426950408889634)


@triton.jit
def expm1_of(x):
    """e ** x - 1; six terms of its series within a quarter of zero."""
    near = 0.008333333333333333 * x + 0.041666666666666664
    near = (near * x + 0.16666666666666666) * x + 0.5
    near = (near * x + 1.0) * x
    return tl.where(tl.abs(x) < 0.25, near, tl.exp2(x * 1.4426950408889634) - 1.0)


@triton.jit
def log1p_of(x):
    """log(1 + x); five terms of its series within a sixteenth of zero."""
    near = 0.2 * x - 0.25
    near = (near * x + 0.3333333333333333) * x - 0.5
    near = (near * x + 1.0) * x
    return tl.where(tl.abs(x) < 0.0625, near, tl.log(1.0 + x))


@triton.jit
def expm1(x, p, q, r):
    return expm1_of(x)


@triton.jit
def log1p(x, p, q, r):
    return log1p_of(x)


@triton.jit
def reciprocal(x, p, q, r):
    return 1.0 / x


@triton.jit
def sigmoid(x, p, q, r):
    return 1.0 / (1.0 + tl.exp2(x * -1.4426950408889634))


@triton.jit
def tanh(x, p, q, r):
    """1 - 2 / (e ** 2x + 1); three terms of its series within an eighth of zero."""
    square = x * x
    near = x * ((0.13333333333333333 * square - 0.3333333333333333) * square + 1.0)
    far = 1.0 - 2.0 / (tl.exp2(x * 2.8853900817779268) + 1.0)
    return tl.where(tl.abs(x) < 0.125, near, far)


@triton.jit
def silu(x, p, q, r):
    return x / (1.0 + tl.exp2(x * -1.4426950408889634))


@triton.jit
def mish(x, p, q, r):
    """As `activation_functions.mish`."""
    e = tl.exp2(tl.where(x > 40.0, 40.0, x) * 1.4426950408889634)
    n = e * (e + 2.0)
    return x * (n / (n + 2.0))


@triton.jit
def selu(x, p, q, r):
    return 1.0507009873554805 * tl.where(x > 0.0, x, 1.6732632423543772 * expm1_of(x))


@triton.jit
def elu(x, p, q, r):
    return tl.where(x > 0.0, x, real(p, x) * expm1_of(x))


@triton.jit
def softplus(x, p, q, r):
    """log(1 + exp(s)) is max(s, 0) + log(1 + exp(-|s|)), which cannot overflow; s is p x."""
    beta = real(p, x)
    scaled = beta * x
    rest = log1p_of(tl.exp2(tl.abs(scaled) * -1.4426950408889634))
    return tl.where(scaled > real(q, x), x, (tl.where(scaled > 0.0, scaled, 0.0) + rest) / beta)


@triton.jit
def normal_below(x):
    """The normal distribution function to 5e-5 of itself: cheaper than the error function, which
    takes longer than memory does.

    Below zero it is 2 ** (p(|x|) - x * x / (2 * ln 2)), and p, the logarithm of its ratio to the
    density, is nearly straight: a least-maximum fit on [0, 6], where results round to nothing.
    """
    size = tl.abs(x)
    near = tl.minimum(size, 6.0)
    p = 2.299006068e-05 * near - 6.111001306e-04
    p = p * near + 7.195567128e-03
    p = p * near - 5.118534531e-02
    p = p * near + 2.600756154e-01
    p = p * near - 1.150174273
    p = p * near - 1.000064787
    tail = tl.exp2(p - size * 0.7213475204444817 * size)
    return tl.where(x >= 0.0, 1.0 - tail, tail)


@triton.jit
def gelu_none(x, p, q, r):
    return x * normal_below(x)
