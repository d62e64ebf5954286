"""Integer arrays in bulk: what generators build and predicates read, without third-party code.

In: lengths, bounds, sizes. Out: `Values`, a shape with the flat contents of a metadata tensor.
Nothing here loops over single elements in Python: rows with tens of millions of values are
assembled from slices and repetitions.
"""

from __future__ import annotations

import math
import random
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tileops.manifest.language.symbolic import DomainError

#: The dtypes of a generated tensor, with the typecode of the `array` that holds its contents.
TYPECODES = {"int32": "i", "int64": "q"}

#: Distinct random pieces that large random arrays are drawn from.
_POOL = 1024


@dataclass(frozen=True, slots=True)
class Values:
    """Contents of a metadata tensor in row-major order."""

    shape: tuple[int, ...]
    dtype: str
    data: array[int]

    def __str__(self) -> str:
        head = ", ".join(map(str, self.data[:8]))
        return f"[{head}{', ...' if len(self.data) > 8 else ''}]"


@dataclass(slots=True)
class Builder:
    """Makes arrays of one dtype, drawing from a random generator of its own."""

    dtype: str
    random: random.Random

    @property
    def code(self) -> str:
        return TYPECODES[self.dtype]

    def of(self, items: Iterable[int] = ()) -> array[int]:
        """An array of the items, which must fit the dtype."""
        try:
            return array(self.code, items)
        except OverflowError:
            raise self.overflow() from None

    def overflow(self) -> DomainError:
        return DomainError(f"a value must fit {self.dtype}, got one that does not")

    def constant(self, value: int, count: int) -> array[int]:
        return self.of((value,)) * count

    def counting(self, count: int) -> array[int]:
        """0, 1, ... count - 1."""
        if count <= 1 << 16 or count >= 1 << 31:
            return self.of(range(count))
        # Halves of 16 bits repeat, so a long run is copied together instead of counted.
        size = array(self.code).itemsize // 2
        blocks = -(-count // (1 << 16))
        halves = array("H", bytes(2 * size * blocks << 16))
        low = 0 if sys.byteorder == "little" else size - 1
        high = 1 if sys.byteorder == "little" else size - 2
        halves[low::size] = array("H", range(1 << 16)) * blocks
        upper = array("H")
        for block in range(blocks):
            upper.extend(array("H", (block,)) * (1 << 16))
        halves[high::size] = upper
        result = array(self.code)
        result.frombytes(memoryview(halves).cast("B")[: count * result.itemsize])
        return result

    def pairs(self, counts: Sequence[int]) -> array[int]:
        """(i, j) for every i and every j below counts[i]."""
        total = sum(counts)
        firsts, seconds = self.of(), self.of()
        base = self.counting(max(counts, default=0))
        for at, count in enumerate(counts):
            firsts.extend(self.constant(at, count))
            seconds.extend(base[:count])
        result = self.constant(0, 2 * total)
        result[0::2] = firsts
        result[1::2] = seconds
        return result

    def rows(self, count: int, draw: Iterator[array[int]]) -> array[int]:
        """`count` rows, each one of at most `_POOL` rows that `draw` yields."""
        pool = [next(draw).tobytes() for _ in range(min(count, _POOL))]
        if count > _POOL:
            pool += map(pool.__getitem__, self._picks(count - _POOL))
        result = self.of()
        result.frombytes(b"".join(pool))
        return result

    def _picks(self, count: int) -> Iterator[int]:
        return map((_POOL - 1).__and__, array("H", self.random.randbytes(2 * count)))

    def walk(self, count: int, bound: int) -> Iterable[int]:
        """`count` distinct values below `bound`, in an order that jumps about."""
        if not count:
            return ()
        step = 1 + int(self.random.random() * (bound - 1))
        while math.gcd(step, bound) != 1:
            step += 1
        start = int(self.random.random() * bound)
        # bound.__rmod__(x) is x % bound, without a Python frame for each element.
        return map(bound.__rmod__, range(start, start + step * count, step))

    def stride(
        self, into: array[int], base: array[int], count: int, bound: int, *, ascending: bool = False
    ) -> None:
        """Appends `count` distinct values below `bound` to `into`; `base` counts up from 0."""
        if not count:
            return
        step = 1 + int(self.random.random() * (bound // count))
        step = min(step, bound // count)
        if ascending:
            start = int(self.random.random() * (bound - (count - 1) * step))
            into.extend(base[start : start + (count - 1) * step + 1 : step])
            return
        start = int(self.random.random() * bound)
        ahead = min(count, (bound - 1 - start) // step + 1)
        into.extend(base[start : start + (ahead - 1) * step + 1 : step])
        if ahead < count:
            # The walk is shorter than one round, so what wraps around meets nothing twice.
            start = start + ahead * step - bound
            into.extend(base[start : start + (count - ahead - 1) * step + 1 : step])
