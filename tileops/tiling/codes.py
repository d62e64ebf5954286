"""Device functions of quantization: largest magnitudes, scales, quotients, codes."""

import torch
import triton
import triton.language as tl

from tileops.runtime.launch import Call

__all__ = ["code", "encoded", "magnitude", "nearest", "quotient", "scale_of"]


@triton.jit
def magnitude(x):
    """|x| as the integer of its float32 bits, which order as magnitudes do, NaN above infinity."""
    return x.to(tl.int32, bitcast=True) & 0x7FFFFFFF


@triton.jit
def scale_of(largest, LIMIT: tl.constexpr):
    """The scale of elements whose largest magnitude is this, in bits."""
    largest = largest.to(tl.float32, bitcast=True)
    scale = tl.div_rn(largest, tl.full(largest.shape, LIMIT, tl.float32))
    return tl.where(scale == 0.0, 1.0, scale)


@triton.jit
def quotient(x, scale):
    """x / scale rounded once, for many x of magnitudes up to 448 scales.

    Two corrections of x times the inverse, each exact but for its last rounding, take fewer
    instructions than a division; a tiny scale is lifted, so that no remainder is denormal. Where
    the scale is not finite the product is the quotient, and of a zero it has the sign.
    """
    lift = tl.where(scale < 1e-28, 18446744073709551616.0, 1.0)
    divisor = scale * lift
    inverse = tl.div_rn(tl.full(divisor.shape, 1.0, tl.float32), divisor)
    negative = 0.0 - divisor
    finite = scale < float("inf")
    x = x * lift
    first = x * inverse
    second = tl.fma(tl.fma(first, negative, x), inverse, first)
    third = tl.fma(tl.fma(second, negative, x), inverse, second)
    return tl.where(finite & (x != 0.0), third, first)


@triton.jit
def code(y, scale, dtype: tl.constexpr):
    """A quotient as it is stored; uint8 stands for the bits of a float8_e4m3fn."""
    if dtype == tl.int8:
        y = tl.minimum(tl.maximum(y, -127.0), 127.0)
        return tl.where(scale < float("inf"), nearest(y), 0).to(tl.int8)
    elif dtype == tl.uint8:
        return e4m3_bits(y)
    else:
        # Saturates, and keeps NaN.
        return y.to(dtype)


@triton.jit
def nearest(y):
    """The integer nearest to y, ties to even, in the low byte of an int32, for |y| < 2 ** 22.

    1.5 * 2 ** 23 leaves no bits for a fraction.
    """
    return (y + 12582912.0).to(tl.int32, bitcast=True)


@triton.jit
def e4m3_bits(y):
    """The bits of a float32 as float8_e4m3fn, saturated: for devices without the instruction."""
    bits = y.to(tl.int32, bitcast=True)
    size = tl.minimum(bits & 0x7FFFFFFF, 0x43E00000)
    # Half of the last place kept, less one where that place is even; the exponents' biases differ
    # by 120.
    normal = (size + 0x7FFFF + ((size >> 20) & 1) - (120 << 23)) >> 20
    # Below 2 ** -6 the step is 2 ** -9, the last place of 2 ** 14.
    small = (size.to(tl.float32, bitcast=True) + 16384.0).to(tl.int32, bitcast=True) - 0x46800000
    result = tl.where(size < 0x3C800000, small, normal)
    result = tl.where(y != y, 0x7F, result) | ((bits >> 24) & 0x80)
    return result.to(tl.uint8)


def encoded(call: Call, q: torch.Tensor) -> torch.Tensor:
    """Codes as a kernel writes them: a device without eight-bit floats makes their bits."""
    if q.dtype == torch.int8 or (call.capability or (0, 0)) >= (8, 9):
        return q
    return q.view(torch.uint8)
