"""Functions of one element, for the unary kernels: `function(x, p, q, r)`.

`x` is float32 or float64, or an integer where the function keeps integers; `p`, `q` and `r` are the
scalars of its parameters, which most functions leave alone (see `real`).
"""

import triton
import triton.language as tl

from tileops.tiling.device import from_bits


@triton.jit
def real(p, x):
    """A scalar parameter, spread over x in its dtype: kernels take float64 as its bits."""
    if x.dtype == tl.float64:
        return tl.full(x.shape, 0.0, tl.float64) + from_bits(p)
    else:
        return tl.full(x.shape, 0.0, x.dtype) + p


@triton.jit
def divide(a, b):
    """a / b, rounded to nearest: plain division of float32 is approximate on a GPU."""
    if a.dtype == tl.float64:
        return a / b
    else:
        return tl.div_rn(a, b)


@triton.jit
def round_even(x):
    """To the nearest integer, ties to even: adding 2 ** 23 (2 ** 52) leaves no fraction bits."""
    size = tl.abs(x)
    whole = 4503599627370496.0 if x.dtype == tl.float64 else 8388608.0
    rounded = tl.where(size < whole, (size + whole) - whole, size)
    return tl.where(x < 0.0, -1.0 * rounded, tl.where(x == 0.0, x, rounded))


@triton.jit
def exp_of(x):
    """e ** x within two units of the last place, denormal results too.

    The GPU's own power of two is fed a rounded x * log2(e), whose error grows with x.
    """
    if x.dtype == tl.float64:
        return tl.exp(x)
    else:
        x = tl.where(x > 89.0, 89.0, tl.where(x < -104.0, -104.0, x))
        n = tl.floor(x * 1.4426950408889634 + 0.5)
        # ln 2 in two parts; n times the first is exact.
        r = (x - n * 0.693145751953125) - n * 1.428606820309417e-06
        half = tl.floor(n * 0.5)
        return tl.exp2(r * 1.4426950408889634) * tl.exp2(half) * tl.exp2(n - half)


@triton.jit
def power_of_two(n):
    """2 ** n in float32, of whole numbers from -126 to 127 that are floats."""
    return ((n.to(tl.int32) + 127) << 23).to(tl.float32, bitcast=True)


@triton.jit
def expm1_of(x):
    """e ** x - 1 within two units of the last place.

    float32: e ** x is 2 ** n * e ** r, and e ** r - 1 a Chebyshev fit on [-0.35, 0.35].
    float64: near zero the rounding error of e ** x is divided out again.
    """
    if x.dtype == tl.float64:
        u = exp_of(x)
        near = tl.abs(x) < 1.0
        log_u = tl.log(tl.where(near & (u != 1.0), u, 2.0))
        return tl.where(near, tl.where(u == 1.0, x, (u - 1.0) * x / log_u), u - 1.0)
    else:
        bounded = tl.where(x > 89.0, 89.0, tl.where(x < -30.0, -30.0, x))
        n = tl.floor(bounded * 1.4426950408889634 + 0.5)
        # ln 2 in two parts; n times the first is exact.
        r = (bounded - n * 0.693145751953125) - n * 1.428606820309417e-06
        series = 0.00019900443817300073 * r + 0.0013934544518377173
        series = (series * r + 0.008333297063824475) * r + 0.04166645677794851
        series = (series * r + 0.16666666722230106) * r + 0.5000000014291077
        # Half of it, so that the largest n does not overflow before the result does.
        scale = power_of_two(n - 1.0)
        return tl.where(x == 0.0, x, 2.0 * (scale * (series * r * r + r) + (scale - 0.5)))


@triton.jit
def log1p_of(x):
    """log(1 + x); near zero the rounding error of 1 + x is divided out again."""
    u = 1.0 + x
    plain = (u == 1.0) | (u == float("inf"))
    ratio = divide(x, tl.where(plain, 1.0, u - 1.0))
    return tl.where(plain, x, tl.log(u) * ratio)


@triton.jit
def tanh_of(x):
    """expm1(2 |x|) / (expm1(2 |x|) + 2), with x's sign."""
    e = expm1_of(2.0 * tl.abs(x))
    far = e > 1.0
    ratio = tl.where(far, 2.0, e) / (e + 2.0)
    t = tl.where(far, 1.0 - ratio, ratio)
    return tl.where(x < 0.0, -1.0 * t, tl.where(x == 0.0, x, t))


@triton.jit
def exp(x, p, q, r):
    return exp_of(x)


@triton.jit
def log(x, p, q, r):
    return tl.log(x)


@triton.jit
def sqrt(x, p, q, r):
    if x.dtype == tl.float64:
        return tl.sqrt(x)
    else:
        return tl.sqrt_rn(x)


@triton.jit
def rsqrt(x, p, q, r):
    if x.dtype == tl.float64:
        return tl.rsqrt(x)
    else:
        # The GPU's own instruction takes denormals for zeros.
        tiny = tl.abs(x) < 1.1754943508222875e-38
        return tl.rsqrt(tl.where(tiny, x * 16777216.0, x)) * tl.where(tiny, 4096.0, 1.0)


@triton.jit
def absolute(x, p, q, r):
    return tl.abs(x)


@triton.jit
def neg(x, p, q, r):
    # Not 0 - x, which has the wrong sign at zero.
    if x.dtype.is_floating():
        return x * -1.0
    else:
        return (x * 0 - x).to(x.dtype)


@triton.jit
def reciprocal(x, p, q, r):
    return divide(tl.full(x.shape, 1.0, x.dtype), x)


@triton.jit
def sign(x, p, q, r):
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


@triton.jit
def sin(x, p, q, r):
    return tl.sin(x)


@triton.jit
def cos(x, p, q, r):
    return tl.cos(x)


@triton.jit
def floor(x, p, q, r):
    if x.dtype.is_floating():
        whole = tl.floor(x)
        # The GPU's own instruction takes denormals for zeros.
        return tl.where((whole == 0.0) & (x < 0.0), -1.0, whole)
    else:
        return x


@triton.jit
def ceil(x, p, q, r):
    if x.dtype.is_floating():
        whole = tl.ceil(x)
        return tl.where((whole == 0.0) & (x > 0.0), 1.0, whole)
    else:
        return x


@triton.jit
def trunc(x, p, q, r):
    return tl.where(x < 0.0, tl.ceil(x), tl.floor(x)) if x.dtype.is_floating() else x


@triton.jit
def round_units(x, p, q, r):
    return round_even(x) if x.dtype.is_floating() else x


@triton.jit
def round_fraction(x, p, q, r):
    """To a multiple of 1 / p."""
    scale = real(p, x)
    return divide(round_even(x * scale), scale)


@triton.jit
def round_multiple(x, p, q, r):
    """To a multiple of p."""
    scale = real(p, x)
    return round_even(divide(x, scale)) * scale


@triton.jit
def erf(x, p, q, r):
    return tl.erf(x)


@triton.jit
def log1p(x, p, q, r):
    return log1p_of(x)


@triton.jit
def expm1(x, p, q, r):
    return expm1_of(x)


@triton.jit
def sigmoid(x, p, q, r):
    return reciprocal(1.0 + exp_of(-1.0 * x), p, q, r)


@triton.jit
def tanh(x, p, q, r):
    return tanh_of(x)


@triton.jit
def logical_not(x, p, q, r):
    return x == 0


@triton.jit
def bitwise_not(x, p, q, r):
    return ~x


@triton.jit
def isnan(x, p, q, r):
    return x != x


@triton.jit
def isinf(x, p, q, r):
    return tl.abs(x) == float("inf")


@triton.jit
def isfinite(x, p, q, r):
    return tl.abs(x) < float("inf")


@triton.jit
def gelu_none(x, p, q, r):
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.jit
def gelu_tanh(x, p, q, r):
    # (1 + tanh(u)) / 2 is sigmoid(2 u), which keeps its digits where tanh is near -1.
    doubled = 1.5957691216057308 * (x + 0.044715 * x * x * x)
    return x / (1.0 + tl.exp(-doubled))
