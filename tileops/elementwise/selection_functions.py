"""Functions that choose, hold and mix elements, for the pointwise kernels.

Those of three elements are `function(a, b, c, p, q, r)`; see `binary_functions`.
"""

import triton
import triton.language as tl

from tileops.elementwise.binary_functions import as_scalar, interpolated, wide
from tileops.elementwise.unary_functions import real


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


@triton.jit
def clamp_scalar(x, p, q, r):
    return held(x, as_scalar(p, x), as_scalar(q, x))


@triton.jit
def nan_to_num(x, p, q, r):
    if x.dtype.is_floating():
        x = tl.where(x == float("inf"), real(q, x), tl.where(x == float("-inf"), real(r, x), x))
        return tl.where(x != x, real(p, x), x)
    else:
        return x
