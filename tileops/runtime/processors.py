"""How many streaming multiprocessors a call may fill.

In: a call. Out: a count; launchers size persistent grids and splits by it.
"""

from __future__ import annotations

import functools

import torch

from tileops.runtime.launch import Call

# The full chip of each generation, for launches that are recorded and compiled without a GPU.
_BY_MAJOR = {8: 108, 9: 132, 10: 148, 12: 170}


def processors(call: Call) -> int:
    """Multiprocessors of the call's device; without a GPU, those of its generation's full chip."""
    if call.capability is None:
        return 4  # the interpreter: few, so that small cases already loop and split
    known = _BY_MAJOR.get(call.capability[0], 108)
    return known if call.device.type != "cuda" else _count(call.device.index, known)


@functools.cache
def _count(index: int | None, known: int) -> int:
    if not torch.cuda.is_available():
        return known
    return torch.cuda.get_device_properties(index).multi_processor_count
