"""Holds results against plain PyTorch.

In: a spelling, and the plain one. Out: a spelling that does the first one's work and compares every
call's outputs with the plain formula, in float64 on the very same activations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from tileops.demo.spelling import OPERATORS, PLAIN, Spelling
from tileops.testing.tolerance import assert_close

__all__ = ["Record", "comparing", "difference", "logits_fault"]


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


def _compared(
    function: Callable[..., Any], plain: Callable[..., Any], record: Record
) -> Callable[..., Any]:
    def call(*inputs: torch.Tensor) -> Any:
        actual = function(*inputs)
        expected = plain(*(x.double() for x in inputs))
        record.calls += 1
        length = _reduction_length(record.operator, inputs)
        pairs = [(actual, expected)] if torch.is_tensor(actual) else zip(actual, expected, strict=True)
        for got, want in pairs:
            if got.shape == want.shape:
                record.error = max(record.error, difference(got, want))
            if fault := _fault(got, want, inputs[0].dtype, length):
                record.faults.append(f"{record.operator} disagrees with plain PyTorch: {fault}")
        return actual

    return call


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
