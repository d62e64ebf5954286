"""The arithmetic of bands: what counts as a difference, and what does not."""

from __future__ import annotations

import math

from benchmarks import noise


def test_a_band_is_half_of_what_the_repeats_span() -> None:
    found = noise.figure([10.0, 11.0, 9.0, 10.0, 10.5])
    assert found.median == 10.0 and math.isclose(found.band, 0.1)


def test_a_band_has_a_least_width_and_one_repeat_an_assumed_one() -> None:
    assert noise.figure([10.0] * 5).band == noise.LEAST_BAND
    assert noise.figure([10.0]).band == noise.ASSUMED_BAND


def test_ratios_are_taken_repeat_by_repeat() -> None:
    # The machine slows down by half meanwhile, both forms alike.
    ours, other = [1.0, 1.1, 1.2, 1.4, 1.5], [2.0, 2.2, 2.4, 2.8, 3.0]
    found = noise.ratio(other, ours)
    assert math.isclose(found.median, 2.0) and found.band == noise.LEAST_BAND
    # The control: without pairs the same noise widens the band.
    assert noise.ratio(other[:4], ours).band > 0.3


def test_a_tie_counts_as_one_and_a_difference_as_itself() -> None:
    assert noise.Figure(0.99, 0.02).counted == 1.0
    assert noise.Figure(0.97, 0.02).counted == 0.97
    assert noise.Figure(1.03, 0.02).counted == 1.03


def test_the_bands_of_two_runs_add_up() -> None:
    found = noise.change([10.0, 10.0, 10.4], [12.0, 12.0, 12.0])
    assert math.isclose(found.median, 1.2) and math.isclose(found.band, 0.02 + 0.01)


def test_a_geometric_mean_leaves_out_what_is_missing() -> None:
    assert math.isclose(noise.geometric_mean([2.0, None, 0.5, 4.0]) or 0, 4 ** (1 / 3))
    assert noise.geometric_mean([None]) is None
