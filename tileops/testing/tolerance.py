"""How far a result may be from its float64 reference: the one place where tests take a tolerance.

In: a dtype and the length of the longest sum behind one element. Out: bounds, or an AssertionError
that shows the worst element.
"""

from __future__ import annotations

import torch

__all__ = ["assert_close", "norm_tolerance", "tolerance"]


def tolerance(dtype: torch.dtype, reduction_length: int = 1) -> tuple[float, float]:
    """(rtol, atol) of one element; atol is for values of order one and shrinks with smaller ones.

    Sums of half-precision values are taken to run in float32, whose rounding errors grow with
    the square root of the length. Integers and booleans are exact.
    """
    if not dtype.is_floating_point:
        return 0.0, 0.0
    own, accumulated = _epsilons(dtype, reduction_length)
    # One rounding to the dtype is half an epsilon; a second one covers a value next to a tie.
    # Wide types have no slack to hide the hardware's approximate exp and rsqrt in: 2**-20.
    roundings = 2.0 if own > 1e-5 else 16.0
    return roundings * own + 8.0 * accumulated, own + 8.0 * accumulated


def norm_tolerance(dtype: torch.dtype, reduction_length: int = 1) -> float:
    """Bound on ||actual - reference|| / ||reference||."""
    if not dtype.is_floating_point:
        return 0.0
    own, accumulated = _epsilons(dtype, reduction_length)
    return (1.0 if own > 1e-5 else 8.0) * own + 4.0 * accumulated


def assert_close(
    actual: torch.Tensor,
    reference: torch.Tensor,
    dtype: torch.dtype,
    reduction_length: int = 1,
) -> None:
    """Checks `actual`, of `dtype`, against a reference computed in float64.

    NaNs and infinities must stand where the reference has them once rounded to `dtype`; finite
    elements meet `tolerance` one by one and `norm_tolerance` together. Integer and boolean
    tensors are equal.
    """
    if actual.dtype != dtype:
        raise AssertionError(f"dtype is {actual.dtype}, not {dtype}")
    if actual.shape != reference.shape:
        raise AssertionError(f"shape is {list(actual.shape)}, not {list(reference.shape)}")
    if actual.numel() == 0:
        return
    reference = reference.detach().to(actual.device)
    if not dtype.is_floating_point:
        _require(actual == reference.to(dtype), actual, reference, "differ from the reference")
        return
    got = actual.detach().to(torch.float64)
    want = reference.to(torch.float64)
    rounded = reference.to(dtype).to(torch.float64)
    _require(got.isnan() == rounded.isnan(), got, rounded, "are NaN on one side only")
    infinite = got.isinf() | rounded.isinf()
    _require(~infinite | (got == rounded), got, rounded, "differ in an infinity")
    finite = got.isfinite()
    zero = torch.zeros((), dtype=torch.float64, device=got.device)
    got, want = torch.where(finite, got, zero), torch.where(finite, want, zero)
    _compare_finite(got, want, dtype, reduction_length)


def _compare_finite(
    got: torch.Tensor, want: torch.Tensor, dtype: torch.dtype, reduction_length: int
) -> None:
    rtol, atol = tolerance(dtype, reduction_length)
    largest = float(want.abs().max())
    error = (got - want).abs()
    bound = rtol * want.abs() + atol * min(1.0, largest) + _smallest_step(dtype)
    _require(error <= bound, got, want, f"exceed rtol {rtol:.2g}, atol {atol:.2g}")
    floor = _smallest_step(dtype) * got.numel() ** 0.5
    distance, size = float(error.norm()), float(want.norm())
    limit = norm_tolerance(dtype, reduction_length)
    if distance > limit * size + floor:
        raise AssertionError(
            f"||actual - reference|| / ||reference|| is {distance / max(size, 1e-300):.3g}, "
            f"above {limit:.3g}"
        )


def _epsilons(dtype: torch.dtype, reduction_length: int) -> tuple[float, float]:
    """The dtype's epsilon, and the accumulator's times the square root of the length."""
    accumulator = torch.float64 if dtype == torch.float64 else torch.float32
    growth = float(max(reduction_length, 1)) ** 0.5 if reduction_length > 1 else 0.0
    return torch.finfo(dtype).eps, torch.finfo(accumulator).eps * growth


def _smallest_step(dtype: torch.dtype) -> float:
    """What may be lost near zero: a denormal's spacing, or all of it where GPUs flush them."""
    info = torch.finfo(dtype)
    return info.tiny if info.tiny < 1e-30 else info.tiny * info.eps


def _require(good: torch.Tensor, got: torch.Tensor, want: torch.Tensor, what: str) -> None:
    if bool(good.all()):
        return
    bad = (~good).nonzero()
    error = (got.double() - want.double()).abs()
    error = torch.where(good, torch.zeros_like(error), error.nan_to_num(float("inf")))
    worst = torch.unravel_index(error.argmax(), good.shape)
    place = tuple(int(i) for i in worst)
    raise AssertionError(
        f"{len(bad)} of {good.numel()} elements {what}; the worst, at {list(place)}: "
        f"{got[place].item()!r} against {want[place].item()!r}"
    )
