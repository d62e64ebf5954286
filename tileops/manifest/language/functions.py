"""What each primitive computes, on ints and on symbolic sizes alike; `primitives` declares them.

In: values. Out: a value, or `DomainError` outside of the domain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias

from tileops.manifest.dtypes import DTYPES, promote
from tileops.manifest.language import symbolic
from tileops.manifest.language.symbolic import DomainError, choose, demand, known, maximum

Int: TypeAlias = Any  # int or a symbolic size
Ints: TypeAlias = Sequence[Any]

#: More items than this in a list are a mistake, and would take all of the memory.
MAX_ITEMS = 1 << 24


def broadcast(*shapes: Ints) -> tuple[Int, ...]:
    """PyTorch broadcasting; 0 against 1 is 0."""
    if not shapes:
        raise DomainError("broadcast must have at least one shape")
    return reduce(_broadcast_pair, shapes[1:], tuple(shapes[0]))


def _broadcast_pair(a: Ints, b: Ints) -> tuple[Int, ...]:
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    ahead = len(longer) - len(shorter)
    result = list(longer[:ahead])
    # zip(strict=True) costs as much as a comparison, and the lengths are known to agree.
    for left, right in zip(longer[ahead:], shorter):  # noqa: B905
        # Equal ints, and one symbol that stands in both, need no question.
        if left is right or (type(left) is int and type(right) is int and left == right):
            result.append(left)
        elif known(left == 1):
            result.append(right)
        elif known(right == 1):
            result.append(left)
        else:
            if type(left) is int and type(right) is int:
                raise DomainError(f"shapes {list(a)} and {list(b)} do not broadcast")
            demand(left == right, "sizes do not broadcast")
            result.append(left)
    return tuple(result)


def fixed(axes: Any) -> Any:
    """A symbolic axis as its number, which a trace then holds fast: an axis decides what a shape
    looks like."""
    return int(axes) if hasattr(axes, "node") else axes


def normalized_axis(axis: int, rank: int) -> int:
    """The axis counted from the front; at rank 0, 0 and -1 name the one scalar axis."""
    axis = fixed(axis)
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise DomainError(f"an axis must be an integer, got {axis!r}")
    bound = max(rank, 1)
    if not -bound <= axis < bound:
        raise DomainError(f"axis must lie in [{-bound}, {bound - 1}] for rank {rank}, got {axis}")
    return axis % bound


def reduced(shape: Ints, axes: Any, keepdim: bool, empty: str) -> tuple[Int, ...]:
    """The shape after reducing `axes`; see the language reference for None and empty sequences."""
    rank = len(shape)
    axes = fixed(axes)
    if axes is None:
        gone = set(range(rank))
    elif isinstance(axes, int):
        gone = {normalized_axis(axes, rank)}
    else:
        gone = {normalized_axis(axis, rank) for axis in axes}
        if not len(axes):
            if empty == "reject":
                raise DomainError("the axes to reduce must not be empty")
            gone = set(range(rank)) if empty == "full" else set()
    if keepdim:
        return tuple(1 if at in gone else size for at, size in enumerate(shape))
    return tuple(size for at, size in enumerate(shape) if at not in gone)


def valid_axes(axes: Any, rank: int) -> bool:
    """Whether every axis is in range at that rank."""
    axes = fixed(axes)
    if axes is None:
        return True
    try:
        for axis in (axes,) if isinstance(axes, int) else axes:
            normalized_axis(axis, rank)
    except DomainError:
        return False
    return True


def unique_axes(axes: Any, rank: int) -> bool:
    """Whether the normalized axes are distinct."""
    axes = fixed(axes)
    if axes is None:
        return True
    listed = (axes,) if isinstance(axes, int) else axes
    normal = [normalized_axis(axis, rank) for axis in listed]
    return len(set(normal)) == len(normal)


def per_axis(value: Any, i: int, n: int, fallback: Int | None = None) -> Int:
    """Item i of a length-n sequence, a scalar itself, the fallback for None."""
    if not 0 <= i < n:
        raise DomainError(f"an item must be one of {n} axes, got {i}")
    if isinstance(value, list | tuple):
        if len(value) != n:
            raise DomainError(f"a sequence must have {n} items, one per axis, got {len(value)}")
        value = value[i]
    if value is None:
        value = fallback
    if value is None:
        raise DomainError("None must have a fallback value")
    return value


def ceil_div(a: Int, b: Int) -> Int:
    """The quotient rounded up."""
    demand(b > 0, f"the divisor of ceil_div must be positive, got {b}")
    return (a + b - 1) // b


def prod(items: Ints) -> Int:
    return reduce(symbolic.times, items, 1)


def total(items: Ints) -> Int:
    return sum(items)


def extremum(fold: Callable[[Int, Int], Int], word: str) -> Callable[..., Int]:
    def run(items: Ints, default: Int | None = None) -> Int:
        if len(items):
            return reduce(fold, items)
        if default is None:
            raise DomainError(f"{word} of an empty sequence must have a default")
        return default

    return run


def every(items: Sequence[Any]) -> Any:
    """Whether all of the conditions hold."""
    result: Any = True
    for item in items:
        if item is False:
            return False
        if item is not True:
            result = item if result is True else result & item
    return result


def conv_out(length: Int, kernel: Int, stride: Int, padding: Int, dilation: Int) -> Int:
    """The output length of a convolution; may be negative."""
    demand(stride >= 1, f"stride must be at least 1, got {stride}")
    return (length + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def pool_out(
    length: Int, kernel: Int, stride: Int, padding: Int, dilation: Int, ceil_mode: bool
) -> Int:
    """The output length of a pooling window; never negative."""
    demand(stride >= 1, f"stride must be at least 1, got {stride}")
    span = length + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return maximum(span // stride + 1, 0)
    out = (span + stride - 1) // stride + 1
    in_padding = (out - 1) * stride >= length + padding
    return maximum(out - choose(in_padding, 1, 0), 0)


def moe_capacity(layout: Any, rows: Int, experts: Int) -> Int:
    """The rows that a layout of `rows` routed rows over `experts` occupies."""
    if adt_field(layout, "kind") == "masked":
        return experts * adt_field(layout, "max_m")
    if adt_field(layout, "packing") == "tight":
        return rows
    alignment = adt_field(layout, "alignment")
    demand(alignment >= 1, f"alignment must be at least 1, got {alignment}")
    return ceil_div(rows + experts * (alignment - 1), alignment) * alignment


def mhc_expansion(q: Int) -> Int:
    """The positive n with n*n + 2*n == q."""
    n = math.isqrt(int(q) + 1) - 1 if q >= 0 else 0
    if n < 1 or n * n + 2 * n != q:
        raise DomainError(f"n*n + 2*n must be {q} for a positive n")
    return n


def adt_field(value: Any, name: str) -> Any:
    """A field of an ADT value or of the Python object it stands for; enums give their value."""
    item = getattr(value, name)
    return (
        item
        if isinstance(item, int | str) and type(item) in (int, str, bool)
        else getattr(item, "value", item)
    )


def promote_int_to_float(dtype: str) -> str:
    return "float32" if DTYPES[dtype].category == "int" else dtype


def coalesce_dtype(first: str | None, second: str) -> str:
    return second if first is None else first


def promote_types(a: str, b: str) -> str:
    try:
        return promote(a, b)
    except ValueError as error:
        raise DomainError(str(error)) from None


def float_result(dtype: str) -> str:
    return "float32" if DTYPES[dtype].category in ("bool", "int") else dtype


def sum_result(dtype: str) -> str:
    return "int64" if DTYPES[dtype].category in ("bool", "int") else dtype


def real_of(dtype: str) -> str:
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def _bound(count: int) -> None:
    if count > MAX_ITEMS:
        raise DomainError(f"a list must have at most {MAX_ITEMS} items, got {count}")


def balanced_sizes(total: int, count: int) -> tuple[int, ...]:
    """`count` sizes summing to `total`, the first `total % count` one larger."""
    if count <= 0 or total < 0:
        raise DomainError(
            f"balanced_sizes must have a positive count and no negative total, got {total}, {count}"
        )
    _bound(count)
    size, larger = divmod(total, count)
    return (size + 1,) * larger + (size,) * (count - larger)


def repeat(value: int, count: int) -> tuple[int, ...]:
    if count < 0:
        raise DomainError(f"repeat must have a count of at least 0, got {count}")
    _bound(count)
    return (value,) * count


def category(value: Any) -> str:
    """'bool', 'int', 'float' or 'complex', of a number or a dtype name."""
    if isinstance(value, str):
        return DTYPES[value].category
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, float):
        return "float"
    return "complex" if isinstance(value, complex) else "int"


def representable(value: Any, dtype: str) -> bool:
    """Whether a number converts to the dtype without overflow, by PyTorch's scalar conversion."""
    info = DTYPES[dtype]
    if info.category == "bool":
        return True
    if isinstance(value, complex):
        part = real_of(dtype)
        return info.category == "complex" and all(
            representable(x, part) for x in (value.real, value.imag)
        )
    if info.category in ("float", "complex"):
        if isinstance(value, float) and not math.isfinite(value):
            return math.isnan(value) or info.infinite
        return bool(info.low <= value <= info.high)
    if isinstance(value, float):
        return math.isfinite(value) and info.low <= value <= info.high
    low = info.low if info.signed else -info.high
    return bool(low <= value <= info.high)
