"""The demo from beginning to end, as one list of steps.

In: settings, the spelling to compile (tests hand in wrong ones), and where lines go. Out: one
sentence for each thing that is wrong; none means that the compiled model is the plain one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from tileops.demo.compare import Record, comparing, difference, logits_fault
from tileops.demo.compiled import Compiled, CompileError, Plain, cold_caches
from tileops.demo.generate import Generation, generate
from tileops.demo.model import Config, Decoder, Weights
from tileops.demo.report import Measured, Progress, Speed, operator_table, speed_table
from tileops.demo.spelling import PLAIN, TILEOPS, Spelling
from tileops.demo.text import Text, fill
from tileops.demo.weights import build_weights, look_back
from tileops.runtime.dispatch import Served, record_implementations

__all__ = ["Settings", "run_demo"]

# Bytes generated after the second prompt: its first step could recompile, the next ones as well.
SECOND_STEPS = 4
FULL = Config()


@dataclass(frozen=True, slots=True)
class Settings:
    """What to run; `prompt` and `tokens` count bytes."""

    device: torch.device
    backend: str
    prompt: int = 512
    tokens: int = 64
    config: Config = FULL

    @property
    def second_prompt(self) -> int:
        """Another length, no multiple of what kernels like."""
        return self.prompt * 5 // 8 + 1


def run_demo(
    settings: Settings,
    text: Text,
    write: Callable[[str], None],
    spelling: Spelling = TILEOPS,
) -> list[str]:
    """Runs both models, writes the progress and the tables, and returns what is wrong."""
    demo = _Demo(settings, text, Progress(write), spelling)
    with cold_caches():
        try:
            problems = demo.run()
        except CompileError as error:
            return [str(error)]
    write("\n" + demo.tables(settings.backend) + "\n")
    return problems


class _Demo:
    def __init__(
        self, settings: Settings, text: Text, progress: Progress, spelling: Spelling
    ) -> None:
        self.settings = settings
        self.text = text
        self.progress = progress
        self.spelling = spelling
        self.records: dict[str, Record] = {}
        self.plain: Generation | None = None
        self.first: Generation | None = None
        self.served: list[Served] = []

    def run(self) -> list[str]:
        """The steps in order; a CompileError ends them early."""
        settings, progress, config = self.settings, self.progress, self.settings.config
        prompt = fill(self.text.data, settings.prompt)
        progress(f"{len(prompt)} bytes of {self.text.name} ({self.text.size} bytes)")
        progress(
            f"building a decoder of {config.layers} layers, width {config.width}, "
            f"{config.query_heads} query and {config.key_heads} key heads, in bfloat16 "
            f"on {settings.device}"
        )
        weights = build_weights(config, settings.device)
        progress(f"tileops: compiling cold with {settings.backend} and fullgraph=True, generating")
        self.compiled = Compiled(Decoder(weights, self.spelling), settings.backend)
        # First of all: cold means that no operator ran in this process before.
        self.first = self._generate(self.compiled, prompt, settings.tokens)
        progress(f"plain PyTorch: generating {settings.tokens} bytes")
        self.plain = self._generate(Plain(Decoder(weights, PLAIN)), prompt, settings.tokens)
        progress("comparing each operator with plain PyTorch on the model's activations")
        problems = self._compare(weights, prompt)
        problems += _disagreements(self.first, self.plain, config, "")
        problems += self._second(weights, prompt)
        progress(
            f"done: each byte was found {look_back(config)} bytes back: "
            f"{_shown(self.first.generated)}"
        )
        return problems + self._graphs()

    def _compare(self, weights: Weights, prompt: bytes) -> list[str]:
        """The prompt and one step through the comparing spelling."""
        spelling, self.records = comparing(self.spelling)
        self._generate(Plain(Decoder(weights, spelling)), prompt, 1)
        # A wrong operator disagrees at every call; its first is enough.
        return [record.faults[0] for record in self.records.values() if record.faults]

    def _second(self, weights: Weights, prompt: bytes) -> list[str]:
        """Another length through the graphs that there are, and who serves them."""
        length = self.settings.second_prompt
        self.progress(f"tileops: a second prompt of {length} bytes through the same graphs")
        prompt = fill(prompt, length)
        plain = self._generate(Plain(Decoder(weights, PLAIN)), prompt, SECOND_STEPS)
        with record_implementations() as served:
            second = self._generate(self.compiled, prompt, SECOND_STEPS)
        self.served = served
        return _disagreements(second, plain, self.settings.config, " after the second prompt")

    def _generate(self, steps: Plain | Compiled, prompt: bytes, count: int) -> Generation:
        return generate(steps, prompt, count, self.settings.device)

    def _graphs(self) -> list[str]:
        """What is wrong with the graphs: how many there are, and which nodes they hold."""
        problems = []
        frames = {
            "the prompt": self.compiled.prefill_frames,
            "a step": self.compiled.decode_frames,
        }
        for name, frame in frames.items():
            if frame.count != 1:
                problems.append(
                    f"another length recompiles: {name} was compiled {frame.count} times"
                )
            for operator, record in self.records.items():
                # The comparison ran each step once.
                expected, found = record.calls // 2, frame.nodes[operator]
                if found != expected:
                    problems.append(
                        f"the graph of {name} holds {found} nodes of {operator}, which the model "
                        f"calls {expected} times"
                    )
        return problems

    def tables(self, backend: str) -> str:
        """The tables, and how far the logits are apart."""
        assert self.plain is not None and self.first is not None
        prefill, decode = self.compiled.prefill_frames, self.compiled.decode_frames
        served = _by_operator(self.served)
        rows = [
            Measured(record, prefill.nodes[name], decode.nodes[name], served.get(name, []))
            for name, record in self.records.items()
        ]
        seconds = self.first.prefill_seconds + self.first.decode_seconds[0]
        speeds = [
            Speed("plain PyTorch", "", "", self.plain.tokens_per_second),
            Speed(
                f"tileops, {backend}",
                f"{prefill.size} + {decode.size}",
                f"{seconds:.1f}",
                self.first.tokens_per_second,
            ),
        ]
        error = difference(self.first.logits, self.plain.logits)
        agree = "equal" if self.first.generated == self.plain.generated else "NOT equal"
        return (
            f"{operator_table(rows)}\n{speed_table(speeds)}\n"
            f"{len(self.first.generated)} tokens {agree}; logits at most {error:.2g} apart, "
            f"the largest {float(self.plain.logits.abs().max()):.2g}\n"
        )


def _disagreements(actual: Generation, plain: Generation, config: Config, when: str) -> list[str]:
    """Tokens that differ and logits out of tolerance, one sentence each."""
    problems = []
    if actual.generated != plain.generated:
        pairs = zip(actual.generated, plain.generated, strict=True)
        place = next(index for index, (a, b) in enumerate(pairs) if a != b)
        problems.append(
            f"token {place}{when} must be {plain.generated[place]}, as in plain PyTorch, "
            f"got {actual.generated[place]}"
        )
    if fault := logits_fault(actual.logits, plain.logits, config.width):
        problems.append(f"logits{when} disagree with plain PyTorch: {fault}")
    return problems


def _by_operator(served: Sequence[Served]) -> dict[str, list[str]]:
    """The implementations of each operator, the most frequent first."""
    counts = Counter((item.operator, item.target, item.implementation) for item in served)
    found: dict[str, list[str]] = {}
    for (operator, target, implementation), _ in counts.most_common():
        found.setdefault(operator, []).append(f"{target}: {implementation}")
    return found


def _shown(data: bytes) -> str:
    """Bytes as Python writes them: generation may end inside a character."""
    return repr(data).removeprefix("b")
