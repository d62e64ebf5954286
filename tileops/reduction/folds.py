"""What a reduction does with its elements: device functions, and a line of `FOLDS` for each.

A fold keeps up to three states a lane, (a, b, c), and is five functions: `start` gives the states
of no element, `first` those of one, `step` takes one more, `merge` makes one lane of all along
axis 1, `finish` gives the results. A fold that needs fewer states returns some of them unused.
Positions `r` count along the reduced axes; `mask` says which elements exist, others come as
`Fold.identity`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl

from tileops.tiling.device import from_bits

__all__ = ["FOLDS", "Fold", "multiply", "nowhere"]

NOWHERE: tl.constexpr = tl.constexpr(2**31 - 1)
NOWHERE_WIDE: tl.constexpr = tl.constexpr(2**63 - 1)


@triton.jit
def _zeros(ACC: tl.constexpr, WIDE: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_R: tl.constexpr):
    zero = tl.zeros([BLOCK_K, BLOCK_R], dtype=ACC)
    return zero, zero, zero


@triton.jit
def _ones(ACC: tl.constexpr, WIDE: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_R: tl.constexpr):
    one = tl.full([BLOCK_K, BLOCK_R], 1, dtype=ACC)
    return one, one, one


@triton.jit
def lowest(dtype: tl.constexpr):
    """What nothing is below; 32-bit accumulators hold narrower integers."""
    if dtype == tl.int32:
        return -(2**31)
    elif dtype == tl.int64:
        return -(2**63)
    else:
        return float("-inf")


@triton.jit
def highest(dtype: tl.constexpr):
    """What nothing is above."""
    if dtype == tl.int32:
        return 2**31 - 1
    elif dtype == tl.int64:
        return 2**63 - 1
    else:
        return float("inf")


@triton.jit
def _lowest(ACC: tl.constexpr, WIDE: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_R: tl.constexpr):
    low = tl.full([BLOCK_K, BLOCK_R], lowest(ACC), dtype=ACC)
    return low, low, low


@triton.jit
def _highest(ACC: tl.constexpr, WIDE: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_R: tl.constexpr):
    high = tl.full([BLOCK_K, BLOCK_R], highest(ACC), dtype=ACC)
    return high, high, high


@triton.jit
def _same(a, b, c, n, p):
    return a, a


@triton.jit
def _scalar(p, a):
    """A float parameter beside values of a's dtype."""
    if a.dtype == tl.float64:
        return from_bits(p)
    else:
        return p


# --- sums -----------------------------------------------------------------------------------------


@triton.jit
def _total(a):
    """The sum of lanes; those of integers are narrower only where their sum fits them."""
    total = tl.sum(a, axis=1, keep_dims=True)
    if a.dtype.is_int():
        return total.to(tl.int64)
    else:
        return total


@triton.jit
def _sum_merge(a, b, c):
    total = _total(a)
    return total, total, total


@triton.jit
def _sum_step(a, b, c, x, r, mask, p):
    return a + x, b, c


@triton.jit
def _mean_finish(a, b, c, n, p):
    mean = a / n
    return mean, mean


@triton.jit
def _count_step(a, b, c, x, r, mask, p):
    return a + (x != 0).to(a.dtype), b, c


@triton.jit
def _absolute_step(a, b, c, x, r, mask, p):
    return a + tl.abs(x), b, c


@triton.jit
def _square_step(a, b, c, x, r, mask, p):
    return a + x * x, b, c


@triton.jit
def _root_finish(a, b, c, n, p):
    root = tl.sqrt(a)
    return root, root


@triton.jit
def _power_step(a, b, c, x, r, mask, p):
    return a + tl.where(mask, tl.exp2(tl.log2(tl.abs(x)) * _scalar(p, a)), 0.0), b, c


@triton.jit
def _power_finish(a, b, c, n, p):
    root = tl.exp2(tl.log2(a) / _scalar(p, a))
    return root, root


@triton.jit
def multiply(x, y):
    """What a product combines."""
    return x * y


@triton.jit
def _product_step(a, b, c, x, r, mask, p):
    return a * x, b, c


@triton.jit
def _product_merge(a, b, c):
    product = tl.reduce(a, 1, multiply, keep_dims=True)
    return product, product, product


# --- extrema --------------------------------------------------------------------------------------


@triton.jit
def nan_where_any(extremum, a):
    """The extremum of numbers, or NaN where one of them is NaN."""
    if a.dtype.is_floating():
        nans = tl.max((a != a).to(tl.int32), axis=1, keep_dims=True)
        return tl.where(nans != 0, float("nan"), extremum)
    else:
        return extremum


@triton.jit
def _larger(a, x):
    if a.dtype.is_floating():
        return tl.maximum(a, x, propagate_nan=tl.PropagateNan.ALL)
    else:
        return tl.maximum(a, x)


@triton.jit
def _smaller(a, x):
    if a.dtype.is_floating():
        return tl.minimum(a, x, propagate_nan=tl.PropagateNan.ALL)
    else:
        return tl.minimum(a, x)


@triton.jit
def _max_step(a, b, c, x, r, mask, p):
    return _larger(a, x), b, c


@triton.jit
def _min_step(a, b, c, x, r, mask, p):
    return _smaller(a, x), b, c


@triton.jit
def _max_absolute_step(a, b, c, x, r, mask, p):
    return _larger(a, tl.abs(x)), b, c


@triton.jit
def _min_absolute_step(a, b, c, x, r, mask, p):
    return _smaller(a, tl.abs(x)), b, c


@triton.jit
def _max_merge(a, b, c):
    top = nan_where_any(tl.max(a, axis=1, keep_dims=True), a)
    return top, top, top


@triton.jit
def _min_merge(a, b, c):
    bottom = nan_where_any(tl.min(a, axis=1, keep_dims=True), a)
    return bottom, bottom, bottom


@triton.jit
def _any_step(a, b, c, x, r, mask, p):
    return a | (x != 0).to(a.dtype), b, c


@triton.jit
def _all_step(a, b, c, x, r, mask, p):
    return a & (x != 0).to(a.dtype), b, c


@triton.jit
def _truth(a, b, c, n, p):
    return a != 0, a != 0


# --- places of extrema: a is the value, b its position --------------------------------------------


@triton.jit
def nowhere(like):
    """A position after every position."""
    if like.dtype == tl.int64:
        return NOWHERE_WIDE
    else:
        return NOWHERE


@triton.jit
def _places(WIDE: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_R: tl.constexpr):
    if WIDE:
        return tl.full([BLOCK_K, BLOCK_R], NOWHERE_WIDE, dtype=tl.int64)
    else:
        return tl.full([BLOCK_K, BLOCK_R], NOWHERE, dtype=tl.int32)


@triton.jit
def _argmax_start(
    ACC: tl.constexpr, WIDE: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_R: tl.constexpr
):
    low = tl.full([BLOCK_K, BLOCK_R], lowest(ACC), dtype=ACC)
    return low, _places(WIDE, BLOCK_K, BLOCK_R), low


@triton.jit
def _argmin_start(
    ACC: tl.constexpr, WIDE: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_R: tl.constexpr
):
    high = tl.full([BLOCK_K, BLOCK_R], highest(ACC), dtype=ACC)
    return high, _places(WIDE, BLOCK_K, BLOCK_R), high


@triton.jit
def _arg_first(a, b, c, x, r, mask, p):
    return x, tl.where(mask, r, b), c


@triton.jit
def _taken(a, b, c, x, r, better):
    """The element where it is better, or equal and earlier; NaN is better than any number."""
    earlier = r < b
    if a.dtype.is_floating():
        better |= (x != x) & ((a == a) | earlier)
    better |= (x == a) & earlier
    return tl.where(better, x, a), tl.where(better, r, b), c


@triton.jit
def _argmax_step(a, b, c, x, r, mask, p):
    return _taken(a, b, c, x, r, x > a)


@triton.jit
def _argmin_step(a, b, c, x, r, mask, p):
    return _taken(a, b, c, x, r, x < a)


@triton.jit
def _earliest(best, a, b):
    """The first position of the best value, which may be NaN."""
    match = a == best
    if a.dtype.is_floating():
        match |= (a != a) & (best != best)
    place = tl.min(tl.where(match, b, nowhere(b)), axis=1, keep_dims=True)
    return best, place, best


@triton.jit
def _argmax_merge(a, b, c):
    return _earliest(nan_where_any(tl.max(a, axis=1, keep_dims=True), a), a, b)


@triton.jit
def _argmin_merge(a, b, c):
    return _earliest(nan_where_any(tl.min(a, axis=1, keep_dims=True), a), a, b)


@triton.jit
def _place(a, b, c, n, p):
    return b, b


# --- moments: a is the mean, b the sum of squared deviations from it, c the count -----------------


@triton.jit
def _moments_first(a, b, c, x, r, mask, p):
    return tl.where(mask, x, 0.0), b, c + tl.where(mask, 1.0, 0.0)


@triton.jit
def _moments_step(a, b, c, x, r, mask, p):
    count = c + tl.where(mask, 1.0, 0.0)
    off = tl.where(mask, x - a, 0.0)
    mean = a + off / tl.maximum(count, 1.0)
    return mean, b + off * (x - mean), count


@triton.jit
def _moments_merge(a, b, c):
    count = tl.sum(c, axis=1, keep_dims=True)
    # From what is nearest to 0 between the means: equal elements have a variance of exactly 0, and
    # a mean near 0 loses nothing.
    low = tl.min(tl.where(c > 0, a, float("inf")), axis=1, keep_dims=True)
    high = tl.max(tl.where(c > 0, a, float("-inf")), axis=1, keep_dims=True)
    near = tl.minimum(tl.maximum(low, 0.0), high)
    mean = near + tl.sum(tl.where(c > 0, (a - near) * c, 0.0), axis=1, keep_dims=True) / count
    off = a - mean
    return mean, tl.sum(tl.where(c > 0, b + c * (off * off), 0.0), axis=1, keep_dims=True), count


@triton.jit
def _var_finish(a, b, c, n, p):
    var = b / tl.maximum(n - _scalar(p, a), 0.0)
    # The mean of one infinity is that, but nothing deviates from it by a number.
    return var, a


@triton.jit
def _std_finish(a, b, c, n, p):
    var, mean = _var_finish(a, b, c, n, p)
    return tl.sqrt(var), mean


# --- logarithms of sums of exponentials: a is the maximum, b the sum of exponentials less it ------


@triton.jit
def _lse_start(ACC: tl.constexpr, WIDE: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_R: tl.constexpr):
    zero = tl.zeros([BLOCK_K, BLOCK_R], dtype=ACC)
    return tl.full([BLOCK_K, BLOCK_R], float("-inf"), dtype=ACC), zero, zero


@triton.jit
def _lse_first(a, b, c, x, r, mask, p):
    return tl.where(mask, x, a), b + 1.0, c


@triton.jit
def _lse_step(a, b, c, x, r, mask, p):
    x = tl.where(mask, x, float("-inf"))
    # One of the two exponentials that the sum needs is that of zero.
    off = tl.where(x == a, 0.0, x - a)
    e = tl.exp(-tl.abs(off))
    return tl.where(off > 0, x, a), tl.where(off > 0, b * e + 1.0, b + e), c


@triton.jit
def _lse_merge(a, b, c):
    top = tl.max(a, axis=1, keep_dims=True)
    total = tl.sum(b * tl.exp(tl.where(a == top, 0.0, a - top)), axis=1, keep_dims=True)
    return top, total, total


@triton.jit
def _lse_finish(a, b, c, n, p):
    y = a + tl.log(b)
    return y, y


@dataclass(frozen=True, slots=True)
class Fold:
    """The device functions of a fold and what its kernel must know.

    `kind` is what accumulates: "sum" and "product" (floats, or integers in 64 bits), "count" (a sum
    of ones), "extremum" (as narrow as 32 bits), "truth" (32-bit integers), "float", "double"
    (float64 whatever comes). `identity` is what stands for elements
    that do not exist: 0, 1, "lowest" or "highest".
    """

    start: Any
    step: Any
    merge: Any
    finish: Any = _same
    kind: str = "sum"
    identity: int | str = 0
    states: int = 1
    first: Any = None
    places: bool = False
    """Whether the second state is a position, which counts along the axes as they come."""


_MOMENTS = {"kind": "float", "states": 3, "first": _moments_first}

FOLDS = {
    "sum": Fold(_zeros, _sum_step, _sum_merge),
    "mean": Fold(_zeros, _sum_step, _sum_merge, _mean_finish),
    "prod": Fold(_ones, _product_step, _product_merge, kind="product", identity=1),
    "amax": Fold(_lowest, _max_step, _max_merge, kind="extremum", identity="lowest"),
    "amin": Fold(_highest, _min_step, _min_merge, kind="extremum", identity="highest"),
    "argmax": Fold(_argmax_start, _argmax_step, _argmax_merge, _place, "extremum", "lowest",
                   2, _arg_first, places=True),
    "argmin": Fold(_argmin_start, _argmin_step, _argmin_merge, _place, "extremum", "highest",
                   2, _arg_first, places=True),
    "any": Fold(_zeros, _any_step, _max_merge, _truth, "truth"),
    "all": Fold(_ones, _all_step, _min_merge, _truth, "truth", 1),
    "count_nonzero": Fold(_zeros, _count_step, _sum_merge, kind="count"),
    "var": Fold(_zeros, _moments_step, _moments_merge, _var_finish, **_MOMENTS),
    "std": Fold(_zeros, _moments_step, _moments_merge, _std_finish, **_MOMENTS),
    "var_mean": Fold(_zeros, _moments_step, _moments_merge, _var_finish, **_MOMENTS),
    "logsumexp": Fold(_lse_start, _lse_step, _lse_merge, _lse_finish, "float", "lowest", 2,
                      _lse_first),
    "norm_p": Fold(_zeros, _power_step, _sum_merge, _power_finish, "double"),
    "norm_0": Fold(_zeros, _count_step, _sum_merge, kind="float"),
    "norm_1": Fold(_zeros, _absolute_step, _sum_merge, kind="float"),
    "norm_2": Fold(_zeros, _square_step, _sum_merge, _root_finish, "float"),
    "norm_inf": Fold(_zeros, _max_absolute_step, _max_merge, kind="float"),
    "norm_-inf": Fold(_highest, _min_absolute_step, _min_merge, kind="float", identity="highest"),
}  # fmt: skip
