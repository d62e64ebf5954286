"""Device functions that kernels of several families call."""

import triton
import triton.language as tl


@triton.jit
def row_offset(row, n1, n2, s0, s1, s2, RANK: tl.constexpr):
    """Offset of a row's first element; see `tileops.tiling.strides.Rows`."""
    if RANK == 1:
        return row * s2
    elif RANK == 2:
        return (row // n2) * s1 + (row % n2) * s2
    else:
        outer = row // n2
        return (outer // n1) * s0 + (outer % n1) * s1 + (row % n2) * s2


@triton.jit
def widen(index, WIDE: tl.constexpr):
    """int64 where offsets may pass 2**31 - 1, as it is elsewhere."""
    if WIDE:
        return index.to(tl.int64)
    else:
        return index


@triton.jit
def accumulator(x):
    """Floats as arithmetic takes them: float64 as it is, all others in float32."""
    if x.dtype == tl.float64:
        return x
    else:
        return x.to(tl.float32)


@triton.jit
def from_bits(bits):
    """The float64 whose bits came as an integer argument; see `config.float64_bits`."""
    # Under Inductor an integer may come as a constant, which has no method.
    return tl.cast(bits, tl.int64).to(tl.float64, bitcast=True)


@triton.jit
def from_words(high, low):
    """The float64 whose words came as integer arguments; see `config.float64_words`."""
    return from_bits((tl.cast(high, tl.int64) << 32) | (tl.cast(low, tl.int64) & 0xFFFFFFFF))


@triton.jit
def turns_per_position(pair, octaves):
    """Turns from one position to the next, in float64, of rotary or sinusoidal pair `pair`.

    The frequency is 2 ** (-pair * octaves) radians; 2.651... is the logarithm of a turn.
    """
    return tl.exp2(-pair.to(tl.float64) * octaves - 2.651496129472319)


@triton.jit
def sin_cos_of_turns(turns):
    """Sine and cosine, in float32, of an angle given in float64 turns.

    Whole quarters are taken off in float64, so the error stays near one float32 rounding however
    large the angle; what is left, within an eighth of a turn, takes the Taylor series. libdevice's
    own functions reduce float32 radians, and spill to the stack to do so.
    """
    quarters = tl.floor(turns * 4.0 + 0.5)
    r = (turns * 4.0 - quarters).to(tl.float32) * 1.5707963267948966
    quadrant = quarters.to(tl.int64).to(tl.int32) & 3
    r2 = r * r
    sine = -1.0 / 39916800.0 * r2 + 1.0 / 362880.0
    sine = sine * r2 - 1.0 / 5040.0
    sine = sine * r2 + 1.0 / 120.0
    sine = sine * r2 - 1.0 / 6.0
    sine = r + r * (r2 * sine)
    cosine = 1.0 / 479001600.0 * r2 - 1.0 / 3628800.0
    cosine = cosine * r2 + 1.0 / 40320.0
    cosine = cosine * r2 - 1.0 / 720.0
    cosine = cosine * r2 + 1.0 / 24.0
    cosine = cosine * r2 - 0.5
    cosine = 1.0 + r2 * cosine
    swap = (quadrant & 1) == 1
    s = tl.where(swap, cosine, sine)
    c = tl.where(swap, sine, cosine)
    s = tl.where(quadrant >= 2, -s, s)
    c = tl.where((quadrant == 1) | (quadrant == 2), -c, c)
    return s, c
