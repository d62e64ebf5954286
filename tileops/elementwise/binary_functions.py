"""Functions of two elements, for the pointwise kernels: `function(a, b, p, q, r)`.

`a` and `b` come as their tensors have them, half precision included, but booleans as 0 and 1; they
may be a column and a tile, and broadcast. `p`, `q` and `r` are the scalars of its parameters.
"""

import triton
import triton.language as tl
from triton.language.extra import libdevice

from tileops.elementwise.unary_functions import divide, real
from tileops.tiling.device import accumulator


@triton.jit
def wide(x):
    """Floats in their accumulator, integers as they are."""
    return accumulator(x) if x.dtype.is_floating() else x


@triton.jit
def as_scalar(p, x):
    """A scalar parameter in x's dtype, or the accumulator of it."""
    if x.dtype.is_floating():
        return real(p, x)
    else:
        return (tl.full(x.shape, 0, tl.int64) + p).to(x.dtype)


@triton.jit
def rounded(x, like):
    """x as a tensor of that dtype holds it."""
    return wide(x.to(like.dtype))


@triton.jit
def is_negative(x):
    """The sign bit of a float."""
    if x.dtype == tl.float64:
        return x.to(tl.int64, bitcast=True) < 0
    else:
        return x.to(tl.int32, bitcast=True) < 0


@triton.jit
def add(a, b, p, q, r):
    return wide(a) + wide(b)


@triton.jit
def add_scaled(a, b, p, q, r):
    b = wide(b)
    return wide(a) + b * as_scalar(p, b)


@triton.jit
def sub(a, b, p, q, r):
    return wide(a) - wide(b)


@triton.jit
def sub_scaled(a, b, p, q, r):
    b = wide(b)
    return wide(a) - b * as_scalar(p, b)


@triton.jit
def mul(a, b, p, q, r):
    return wide(a) * wide(b)


@triton.jit
def div(a, b, p, q, r):
    return divide(accumulator(a), accumulator(b))


@triton.jit
def whole(x):
    """The integer part; the GPU's own instructions take denormals for zeros, which is right."""
    return tl.where(x < 0.0, tl.ceil(x), tl.floor(x))


@triton.jit
def div_trunc(a, b, p, q, r):
    """The quotient is rounded to its dtype before its fraction is dropped, as torch does."""
    if a.dtype.is_floating():
        return whole(rounded(divide(wide(a), wide(b)), a))
    else:
        return (a // b).to(a.dtype)


@triton.jit
def smaller_multiple(r, d, FAR: tl.constexpr):
    """d times a power of two, at most r, that leaves a quotient below 2 ** 50."""
    if FAR:
        for _ in tl.static_range(2):
            d = tl.where(r >= d * 1.0715086071862673e301, d * 1.0715086071862673e301, d)
        d = tl.where(r >= d * 3.273390607896142e150, d * 3.273390607896142e150, d)
        d = tl.where(r >= d * 1.8092513943330656e75, d * 1.8092513943330656e75, d)
    d = tl.where(r >= d * 1.4272476927059599e45, d * 1.4272476927059599e45, d)
    d = tl.where(r >= d * 1.2676506002282294e30, d * 1.2676506002282294e30, d)
    return tl.where(r >= d * 1125899906842624.0, d * 1125899906842624.0, d)


@triton.jit
def fmod(a, b):
    """What division towards zero leaves, exactly, with a's sign; float32 or float64.

    By long division in float64: a quotient below 2 ** 53 is too large by one at most, so that the
    fused product leaves an exact difference. Of float32 numbers the first step takes the quotient
    in float32, off by one at most where it is below 2 ** 21, and nearly always is the last.
    """
    a, b = tl.broadcast(a, b)
    size = tl.abs(a.to(tl.float64))
    divisor = tl.abs(b.to(tl.float64))
    plain = (size < float("inf")) & (divisor > 0.0) & (divisor < float("inf"))
    divisor = tl.where(plain, divisor, 1.0)
    left = tl.where(plain, size, 0.0)
    if a.dtype == tl.float32:
        times = tl.floor(tl.abs(a) / tl.abs(b))
        near = plain & (times < 2097152.0)
        first = tl.fma(-tl.where(near, times, 0.0).to(tl.float64), divisor, left)
        first = tl.where(first < 0.0, first + divisor, first)
        first = tl.where(first >= divisor, first - divisor, first)
        left = tl.where(near, first, left)
    while tl.max((left >= divisor).to(tl.int32)) > 0:
        step = smaller_multiple(left, divisor, a.dtype == tl.float64)
        quotient = tl.floor(left / step)
        left = tl.fma(-quotient, step, left)
        left = tl.where(left < 0.0, left + step, left)
        # Where nothing is left to do, the quotient was zero.
    result = left.to(a.dtype)
    result = tl.where(a == 0.0, a, tl.where(a < 0.0, -1.0 * result, result))
    # An infinite divisor leaves a; a zero, a NaN or an infinite a has no remainder.
    kept = (tl.abs(b) == float("inf")) & (tl.abs(a) < float("inf"))
    return tl.where(plain, result, tl.where(kept, a, float("nan")))


@triton.jit
def remainder(a, b, p, q, r):
    """What is left has the divisor's sign, as in Python."""
    if a.dtype.is_floating():
        a = wide(a)
        b = wide(b)
        left = fmod(a, b)
    else:
        left = (a % b).to(a.dtype)
    other_sign = (left != 0) & ((b < 0) != (left < 0))
    return tl.where(other_sign, left + b, left)


@triton.jit
def floor_divide(a, b, p, q, r):
    """By torch's way through the remainder; half precision in float32, as torch does on a GPU."""
    if a.dtype.is_floating():
        x = wide(a)
        y = wide(b)
        left = fmod(x, y)
        quotient = divide(x - left, y)
        other_sign = (left != 0) & ((y < 0) != (left < 0))
        quotient = tl.where(other_sign, quotient - 1.0, quotient)
        down = tl.floor(quotient)
        down = tl.where((down == 0.0) & (quotient < 0.0), -1.0, down)
        down = tl.where(quotient - down > 0.5, down + 1.0, down)
        # A product, since Triton makes no constant of a negative zero.
        zero = tl.where(is_negative(x) != is_negative(y), -1.0, 1.0) * 0.0
        result = tl.where(quotient != 0.0, down, zero)
        return tl.where(y == 0.0, divide(x, y), result)
    else:
        quotient = (a // b).to(a.dtype)
        below = ((a % b) != 0) & ((a < 0) != (b < 0))
        return (quotient - below.to(a.dtype)).to(a.dtype)


@triton.jit
def integer_power(a, b):
    """By squares; negative powers are 0 but for bases of 1 and -1, as in torch."""
    a, b = tl.broadcast(a, b)
    left = tl.where(b < 0, 0, b).to(b.dtype)
    result = tl.full(a.shape, 1, a.dtype)
    base = a
    while tl.max(left.to(tl.int64)) > 0:
        result = tl.where((left & 1) != 0, result * base, result)
        base = base * base
        left = left >> 1
    if a.dtype.is_int_signed():
        odd = (b & 1) != 0
        unit = tl.where(a == 1, 1, tl.where(a == -1, tl.where(odd, -1, 1), 0)).to(a.dtype)
        result = tl.where(b < 0, unit, result)
    return result


@triton.jit
def with_signs(size, a, b):
    """A power from that of |a|, by the rules of IEEE 754."""
    size = tl.where((b == 0.0) | (a == 1.0), 1.0, size)
    size = tl.where((tl.abs(a) == 1.0) & (tl.abs(b) == float("inf")), 1.0, size)
    integer = tl.floor(b) == b
    odd = integer & (tl.floor(b * 0.5) * 2.0 != b) & (tl.abs(b) < float("inf"))
    undefined = (a < 0.0) & (a > float("-inf")) & (b == b) & (tl.floor(b) != b)
    size = tl.where(undefined, float("nan"), size)
    return tl.where(odd & is_negative(a), -1.0 * size, size)


@triton.jit
def pow(a, b, p, q, r):
    """Half precision by way of float32, whose logarithm is exact enough; float32 of float64."""
    if a.dtype.is_floating():
        if a.dtype == tl.float32:
            x = a.to(tl.float64)
            y = b.to(tl.float64)
        else:
            x = wide(a)
            y = wide(b)
        x, y = tl.broadcast(x, y)
        return with_signs(tl.exp2(y * tl.log2(tl.abs(x))), x, y)
    else:
        return integer_power(a, b)


@triton.jit
def pow_double(a, b, p, q, r):
    a, b = tl.broadcast(a, b)
    return libdevice.pow(a, b)


@triton.jit
def maximum(a, b, p, q, r):
    if a.dtype.is_floating():
        return tl.maximum(wide(a), wide(b), propagate_nan=tl.PropagateNan.ALL)
    else:
        return tl.where(a > b, a, b)


@triton.jit
def minimum(a, b, p, q, r):
    if a.dtype.is_floating():
        return tl.minimum(wide(a), wide(b), propagate_nan=tl.PropagateNan.ALL)
    else:
        return tl.where(a < b, a, b)


@triton.jit
def eq(a, b, p, q, r):
    return wide(a) == wide(b)


@triton.jit
def ne(a, b, p, q, r):
    return wide(a) != wide(b)


@triton.jit
def gt(a, b, p, q, r):
    return wide(a) > wide(b)


@triton.jit
def lt(a, b, p, q, r):
    return wide(a) < wide(b)


@triton.jit
def ge(a, b, p, q, r):
    return wide(a) >= wide(b)


@triton.jit
def le(a, b, p, q, r):
    return wide(a) <= wide(b)


@triton.jit
def logical_and(a, b, p, q, r):
    return (wide(a) != 0) & (wide(b) != 0)


@triton.jit
def logical_or(a, b, p, q, r):
    return (wide(a) != 0) | (wide(b) != 0)


@triton.jit
def bitwise_and(a, b, p, q, r):
    return a & b


@triton.jit
def bitwise_or(a, b, p, q, r):
    return a | b


@triton.jit
def bitwise_xor(a, b, p, q, r):
    return a ^ b


@triton.jit
def interpolated(a, b, weight):
    """From the nearer end, as torch does: exact at both. Fused, so that no product overflows."""
    a, b = tl.broadcast(a, b)
    a, weight = tl.broadcast(a, weight)
    b, weight = tl.broadcast(b, weight)
    near = tl.abs(weight) < 0.5
    return tl.fma(tl.where(near, weight, weight - 1.0), b - a, tl.where(near, a, b))


@triton.jit
def lerp_scalar(a, b, p, q, r):
    a = wide(a)
    return interpolated(a, wide(b), real(p, a))


@triton.jit
def prelu(a, b, p, q, r):
    a = wide(a)
    return tl.where(a > 0.0, a, wide(b) * a)


@triton.jit
def masked_fill_scalar(a, b, p, q, r):
    """Elements are moved, not computed with, so that they keep their bits."""
    value = real(p, wide(a)) if a.dtype.is_floating() else as_scalar(p, a)
    return tl.where(b != 0, value.to(a.dtype), a)
