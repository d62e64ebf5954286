"""Greedy generation: a prompt in one piece, then byte after byte on a growing history.

In: the two steps of a model, plain or compiled, and a prompt. Out: the bytes, the logits of every
position, and how long each step took.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

__all__ = ["Generation", "Steps", "generate"]

Step = tuple[torch.Tensor, torch.Tensor]


class Steps(Protocol):
    """What generation needs of a model: logits, and the history for the next call."""

    def prefill(self, tokens: torch.Tensor) -> Step: ...

    def decode(self, tokens: torch.Tensor, history: torch.Tensor) -> Step: ...


@dataclass(frozen=True, slots=True)
class Generation:
    """What was generated; logits are [prompt + generated, 256], on the CPU.

    `prefill_seconds` and the first of `decode_seconds` hold the compilation, where there was one.
    """

    generated: bytes
    logits: torch.Tensor
    prefill_seconds: float
    decode_seconds: tuple[float, ...]

    @property
    def tokens_per_second(self) -> float:
        """Of the decode steps after the first, which may have compiled."""
        steps = self.decode_seconds[1:] or self.decode_seconds
        return len(steps) / max(sum(steps), 1e-9)


def generate(steps: Steps, prompt: bytes, count: int, device: torch.device) -> Generation:
    """Continues the prompt by the `count` most likely bytes, one after the other."""
    tokens = torch.tensor(list(prompt), device=device)
    with torch.no_grad():
        (last, history), prefill = _timed(lambda: steps.prefill(tokens), device)
        logits, generated, seconds = [last], [], []
        for _ in range(count):
            token = last[-1:].argmax(dim=-1)
            generated.append(token)
            past = history
            (last, history), spent = _timed(lambda: steps.decode(token, past), device)  # noqa: B023
            logits.append(last)
            seconds.append(spent)
    return Generation(
        bytes(torch.cat(generated).tolist()), torch.cat(logits).cpu(), prefill, tuple(seconds)
    )


def _timed(step: Callable[[], Step], device: torch.device) -> tuple[Step, float]:
    start = time.perf_counter()
    result = step()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return result, time.perf_counter() - start
