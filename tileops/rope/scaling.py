"""How frequencies are scaled, as the numbers that the kernel takes.

In: the parameters of an operator. Out: a `Scaling`, or None where a number of it is not finite. The
references compute the same from the formulas of their models, on tensors, so that sizes may be
open there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["PLAIN", "Scaling", "llama31", "long_amplitude", "yarn", "yarn_amplitude"]


@dataclass(frozen=True, slots=True)
class Scaling:
    """Frequency f becomes f * (t + (1 - t) * clamp(along * slope, 0, 1)).

    (scale, start, slope, t) are `numbers`. `along` is the frequency in turns per position times
    scale less start for the ramp "turns", start less the number of the pair for "pairs". Without a
    ramp, frequencies stay as they are. Cosines and sines are multiplied by `amplitude`.
    """

    ramp: str = ""
    numbers: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    amplitude: float = 1.0


PLAIN = Scaling()


def llama31(
    *,
    scaling_factor: float = 8.0,
    low_freq_factor: float = 1.0,
    high_freq_factor: float = 4.0,
    original_max_position: int = 8192,
) -> Scaling | None:
    """Frequencies of fewer than low_freq_factor turns over the original context are divided, those
    of more than high_freq_factor stay."""
    width = high_freq_factor - low_freq_factor
    # Without a width the ramp is a step, which so steep a slope is.
    slope = 1.0 / width if width > 0 else 1e300
    return _finite("turns", original_max_position, low_freq_factor, slope, scaling_factor)


def yarn(
    size: int,
    base: float,
    *,
    scaling_factor: float = 16.0,
    original_max_position: int = 4096,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    attn_factor: float = 1.0,
) -> Scaling | None:
    """Pairs that turn more than beta_fast times over the original context keep their frequency,
    those of fewer than beta_slow turns have theirs divided."""
    if not (0.0 < beta_slow <= beta_fast < math.inf and 0.0 < base < math.inf and base != 1.0):
        return None

    def pair_of(turns: float) -> float:
        around = original_max_position / (turns * 2 * math.pi)
        return size * math.log(around) / (2 * math.log(base))

    low = float(max(math.floor(pair_of(beta_fast)), 0))
    high = float(min(math.ceil(pair_of(beta_slow)), size - 1))
    if low == high:
        high += 0.001
    amplitude = yarn_amplitude(scaling_factor, attn_factor)
    return _finite("pairs", 0.0, high, 1.0 / (high - low), scaling_factor, amplitude)


def yarn_amplitude(scaling_factor: float, attn_factor: float) -> float:
    """What cosines and sines are multiplied by."""
    longer = 0.1 * math.log(scaling_factor) + 1.0 if scaling_factor > 1.0 else 1.0
    return longer * attn_factor


def long_amplitude(max_position: int, original_max_position: int) -> float:
    """What cosines and sines are multiplied by."""
    longer = max_position / original_max_position
    if longer <= 1.0:
        return 1.0
    return math.sqrt(1.0 + math.log(longer) / math.log(original_max_position))


def _finite(
    ramp: str, scale: float, start: float, slope: float, factor: float, amplitude: float = 1.0
) -> Scaling | None:
    numbers = (float(scale), start, slope, 1.0 / factor)
    if not all(map(math.isfinite, (*numbers, factor, amplitude))):
        return None
    return Scaling(ramp, numbers, amplitude)
