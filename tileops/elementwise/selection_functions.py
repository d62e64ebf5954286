"""Functions of three elements, for the pointwise kernels: `function(a, b, c, p, q, r)`; see
`binary_functions`."""

import triton
import triton.language as tl

from tileops.elementwise.binary_functions import interpolated, wide


@triton.jit
def where(a, b, c, p, q, r):
    return tl.where(a != 0, b, c)


@triton.jit
def masked_fill(a, b, c, p, q, r):
    return tl.where(b != 0, c, a)


@triton.jit
def lerp_tensor(a, b, c, p, q, r):
    return interpolated(wide(a), wide(b), wide(c))


@triton.jit
def held(x, low, high):
    """x between bounds, the upper one where they cross; a NaN among the three is the result."""
    x = tl.where((x < low) | (low != low), low, x)
    return tl.where((x > high) | (high != high), high, x)


@triton.jit
def clamp(a, b, c, p, q, r):
    return held(wide(a), wide(b), wide(c))
