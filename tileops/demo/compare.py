"""Holds results against plain PyTorch.

In: a spelling, and the plain one. Out: a spelling that does the first one's work and compares every
call's outputs with the plain formula, in float64 on the very same activations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from tileops.demo.spelling import OPERATORS, PLAIN, Pair, Spelling
from tileops.testing.tolerance import assert_close

__all__ = ["Record", "comparing", "difference", "logits_fault"]


Function = Callable[..., torch.Tensor | Pair]


@dataclass(slots=True)
class Record:
    """What was seen of one operator."""

    operator: str
    calls: int = 0
    error: float = 0.0
    faults: list[str] = field(default_factory=list)


def comparing(spelling: Spelling) -> tuple[Spelling, dict[str, Record]]:
    """The comparing spelling, and its records by operator."""
    records = {operator: Record(operator) for operator in OPERATORS.values()}
    functions = {
        name: _compared(getattr(spelling, name), getattr(PLAIN, name), records[operator])
        for name, operator in OPERATORS.items()
    }
    return Spelling(**functions), records


def _compared(function: Function, plain: Function, record: Record) -> Function:
    def call(*inputs: torch.Tensor) -> torch.Tensor | Pair:
        actual = function(*inputs)
        expected = plain(*(x.double() for x in inputs))
        record.calls += 1
        length = _reduction_length(record.operator, inputs)
        for got, want in zip(_outputs(actual), _outputs(expected), strict=True):
            if got.shape == want.shape:
                record.error = max(record.error, difference(got, want))
            if fault := _fault(got, want, inputs[0].dtype, length):
                record.faults.append(f"{record.operator} disagrees with plain PyTorch: {fault}")
        return actual

    return call


def _outputs(result: torch.Tensor | Pair) -> tuple[torch.Tensor, ...]:
    return (result,) if isinstance(result, torch.Tensor) else result


def _reduction_length(operator: str, inputs: tuple[torch.Tensor, ...]) -> int:
    """The longest sum behind one element of the result."""
    if operator == OPERATORS["gqa"]:
        q, k = inputs[:2]
        return max(q.shape[-1], k.shape[1])
    summing = (OPERATORS["rms_norm"], OPERATORS["fused_add_rms_norm"], OPERATORS["gemm"])
    return inputs[0].shape[-1] if operator in summing else 1


def difference(actual: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest distance of two elements; NaN when one of them is."""
    return float((actual.double() - expected.double()).abs().max())


def _fault(
    actual: torch.Tensor, expected: torch.Tensor, dtype: torch.dtype, length: int
) -> str | None:
    try:
        assert_close(actual, expected, dtype, length)
    except AssertionError as error:
        return str(error)
    return None


def logits_fault(actual: torch.Tensor, expected: torch.Tensor, width: int) -> str | None:
    """What is wrong with the logits, a sum over the width, or None."""
    return _fault(actual, expected, actual.dtype, width)
