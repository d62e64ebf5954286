"""The tolerance helper accepts roundings and refuses everything larger."""

from __future__ import annotations

import math

import pytest
import torch

from tileops.testing.tolerance import assert_close, norm_tolerance, tolerance

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_rounded_reference_passes(dtype: torch.dtype) -> None:
    reference = torch.randn(50, 40, dtype=torch.float64)
    assert_close(reference.to(dtype), reference, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_one_element_off_fails(dtype: torch.dtype) -> None:
    reference = torch.rand(50, 40, dtype=torch.float64) + 1
    actual = reference.to(dtype, copy=True)
    actual[3, 5] *= 1 + 4 * tolerance(dtype)[0]
    with pytest.raises(AssertionError, match=r"1 of 2000 .* at \[3, 5\]"):
        assert_close(actual, reference, dtype)


def test_a_small_bias_everywhere_fails_by_norm() -> None:
    reference = torch.rand(50, 40, dtype=torch.float64) + 1
    actual = (reference * (1 + 1.6 * 2**-7)).to(torch.bfloat16)
    with pytest.raises(AssertionError, match="above"):
        assert_close(actual, reference, torch.bfloat16)


@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_special_values_must_stand_in_place(special: float) -> None:
    reference = torch.tensor([1.0, special, 3.0], dtype=torch.float64)
    assert_close(reference.float(), reference, torch.float32)
    for wrong in (torch.tensor([1.0, 2.0, 3.0]), torch.tensor([special, special, 3.0])):
        with pytest.raises(AssertionError):
            assert_close(wrong, reference, torch.float32)


def test_overflow_of_the_dtype_is_an_infinity() -> None:
    reference = torch.tensor([1e5], dtype=torch.float64)
    assert_close(torch.tensor([math.inf], dtype=torch.float16), reference, torch.float16)


def test_integers_and_booleans_are_exact() -> None:
    assert tolerance(torch.int32, 1000) == (0.0, 0.0) and norm_tolerance(torch.bool) == 0.0
    assert_close(torch.tensor([1, 2]), torch.tensor([1, 2]), torch.int64)
    with pytest.raises(AssertionError, match="1 of 2"):
        assert_close(torch.tensor([1, 3]), torch.tensor([1, 2]), torch.int64)


def test_dtype_and_shape_are_part_of_the_answer() -> None:
    with pytest.raises(AssertionError, match="dtype"):
        assert_close(torch.ones(2), torch.ones(2).double(), torch.float16)
    with pytest.raises(AssertionError, match="shape"):
        assert_close(torch.ones(2), torch.ones(1, 2).double(), torch.float32)


def test_tolerance_grows_with_the_length() -> None:
    assert tolerance(torch.float32, 10_000) > tolerance(torch.float32)
