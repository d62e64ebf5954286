"""A decoder's layers, prompt and step: tileops against the same model in plain PyTorch.

In: decoder.py, small on the CPU and with the layers of Llama 3 8B on a GPU. Out: milliseconds of a
call, all forms compiled and timed in turn: plain, and tileops under each boundary policy; on a GPU
by the clock, each of them also replayed by a CUDA graph, on the CPU those of one thread. "default"
is what a user gets: the policies of the operators' classes.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.case import Benchmark, Case, Options, Shown, Table, Values
from benchmarks.noise import REPEATS, figure, ratio

BATCHES = (1, 32)
PHASES = ("decode", "prefill")
# What one repeat of one form takes at least, and how many calls at least.
REPEAT_S = 0.1
LEAST_CALLS = 3
#: Relative distance of the results beyond which a form is wrong: bfloat16 rounds in every layer.
ERROR_LIMIT = 5e-2
# A prompt of 32 sequences needs no more tokens than that to fill a GPU.
MOST_TOKENS = 16384


def measure(device: str, phase: str, batch: int, quick: bool) -> Values:
    """All forms of one phase at one batch size."""
    import torch

    from benchmarks import decoder

    # On the CPU one thread's own time, which other jobs on the machine change least.
    torch.set_num_threads(1)
    sizes = decoder.LLAMA3_8B if device == "cuda" and not quick else decoder.SMALL
    torch._dynamo.reset()
    with torch.no_grad():
        weights = decoder.Weights(sizes, device, torch.bfloat16)
        length = 1 if phase == "decode" else min(sizes.prompt, MOST_TOKENS // batch)
        x = torch.randn(batch, length, sizes.width, device=device, dtype=torch.bfloat16)
        forms, errors, failures = _forms(sizes, weights, phase, x)
        clock = time.perf_counter if device == "cuda" else time.thread_time
        repeats = _repeats(forms, clock, _settle(device), 1 if quick else REPEATS)
    if device == "cuda":
        torch.cuda.empty_cache()
    return {
        "model": f"{sizes}, bfloat16, {length} of {sizes.context} positions",
        "ms": {form: statistics.median(items) for form, items in repeats.items()},
        "repeats": repeats,
        "ours": [form for form in repeats if form.startswith("tileops")],
        "errors": errors,
        "wrong": [form for form, error in errors.items() if not error <= ERROR_LIMIT],
        "failures": failures,
    }


def _policies(device: str) -> tuple[str, ...]:
    return ("default", "opaque", "reference", *(("kernel",) if device == "cuda" else ()))


def _forms(
    sizes: Any, weights: Any, phase: str, x: Any
) -> tuple[dict[str, Callable[[], Any]], dict[str, float], dict[str, str]]:
    """Compiled forms by name, their distances from the plain one, and what could not be made."""
    import torch

    from benchmarks import decoder
    from benchmarks.compiling import compile_under

    wanted = [("plain", "opaque")]
    wanted += [("tileops", policy) for policy in _policies(x.device.type)]
    forms: dict[str, Callable[[], Any]] = {}
    errors: dict[str, float] = {}
    failures: dict[str, str] = {}
    first = None
    for spelling, policy in wanted:
        name = spelling if spelling == "plain" else f"{spelling} {policy}"
        try:
            torch.manual_seed(20)
            layers = decoder.Layers(sizes, spelling, x.shape[0], weights)
            run = functools.partial(compile_under(policy, getattr(layers, phase), (x,)), x)
            result = run().float()
            first = result if first is None else first
            errors[name] = float((result - first).norm() / first.norm())
            forms[name] = run
            if x.device.type == "cuda":
                forms[f"{name}, CUDA graph"] = _graph(run)
        except Exception as error:
            if spelling == "plain":
                raise
            # What failed stands in the second line of what Dynamo says about it.
            text = " ".join(str(error).split()[:60])
            failures[name] = f"{type(error).__name__}: {text}"
    return forms, errors, failures


def _graph(run: Callable[[], Any]) -> Callable[[], Any]:
    """The replay of a CUDA graph of the call; it keeps what it reads and writes."""
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = run()

    def replay() -> Any:
        graph.replay()
        return kept

    return replay


def _settle(device: str) -> Callable[[], Any]:
    import torch

    return torch.cuda.synchronize if device == "cuda" else lambda: None


def _repeats(
    forms: dict[str, Callable[[], Any]],
    clock: Callable[[], float],
    settle: Callable[[], Any],
    repeats: int,
) -> dict[str, list[float]]:
    """Milliseconds of a call of each form, in turn."""

    def timed(call: Callable[[], Any], count: int) -> float:
        settle()
        begun = clock()
        for _ in range(count):
            call()
        settle()
        return (clock() - begun) / count * 1e3

    counts = {}
    for name, call in forms.items():
        timed(call, 1)
        counts[name] = max(LEAST_CALLS, int(REPEAT_S * 1e3 / timed(call, LEAST_CALLS)))
    found: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(repeats):
        for name, call in forms.items():
            found[name].append(timed(call, counts[name]))
    return found


def cases(options: Options) -> Iterable[Case]:
    """Both phases at both batch sizes, on the GPU where there is one and on the CPU otherwise."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if not options.compiling:
        return
    for batch in BATCHES[: 1 if options.quick else None]:
        for phase in PHASES[: 1 if options.quick else None]:
            run = functools.partial(measure, device, phase, batch, options.quick)
            yield Case(f"{device}, {phase}, batch {batch}", run)


def pairs(item: Values) -> Iterable[tuple[str, str]]:
    """Each form of ours with the plain one that runs the same way."""
    for form in item["ms"]:
        if form.startswith("tileops"):
            graph = ", CUDA graph" if form.endswith(", CUDA graph") else ""
            yield form, f"plain{graph}"


def shown(values: dict[str, Values]) -> Shown:
    """A row for each form, and its ratio to the plain one."""
    table = Table(("phase and form", "ms", "band", "plain ms", "plain to ours", "band", "verdict"))
    lines = []
    for name, item in values.items():
        for form, plain in pairs(item):
            found = ratio(item["repeats"][plain], item["repeats"][form])
            verdict = "tie" if found.tie else "faster" if found.median > 1 else "slower"
            verdict = "WRONG" if form.removesuffix(", CUDA graph") in item["wrong"] else verdict
            band = figure(item["repeats"][form]).band
            table.add(f"{name}: {form}", item["ms"][form], f"{band:.1%}", item["ms"][plain],
                      found.median, f"{found.band:.1%}", verdict)  # fmt: skip
        lines += [f"failed: {name}, {what}: {why}" for what, why in item["failures"].items()]
    models = [f"{name}: {item['model']}" for name, item in values.items()]
    return [table, *models, *lines]


BENCHMARK = Benchmark("end_to_end", "layers of a decoder, milliseconds of a call", cases, shown)
