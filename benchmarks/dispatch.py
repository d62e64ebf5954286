"""Host time of one call: what checks, choice and output checks cost over a bare operator.

In: small tensors, on the CPU and on a GPU where there is one. Out: microseconds of this thread for
each form of the call (dispatch_operators.py), eager in each grad mode and compiled as an opaque
node, and ratios to the operator without checks of the same work.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.case import Benchmark, Case, Options, Table, Unmeasurable, Values
from benchmarks.host_time import best_us

MODES = ("no_grad", "grad mode", "inference", "gradient wanted")
# The bar: a checked eager call of RMSNorm on the CPU, against the bare operator.
RATIO_LIMIT = 2.0
CHAIN = 8


def _mode(name: str) -> Any:
    import torch

    if name == "no_grad":
        return torch.no_grad()
    return torch.inference_mode() if name == "inference" else contextlib.nullcontext()


def _settle(device: str) -> Callable[[], Any] | None:
    import torch

    return torch.cuda.synchronize if device == "cuda" else None


def _values(times: dict[str, float]) -> Values:
    return {
        "us": times,
        "ratio": times["tileops"] / times["bare"],
        "class_ratio": times["class"] / times["bare"],
    }


def eager(make: Callable[[], Any], device: str, mode: str, rounds: int, count: int) -> Values:
    """Every form called in one grad mode."""
    import torch

    torch.set_num_threads(1)
    subject = make()
    tensors = subject.tensors
    with _mode(mode):
        forms = dict(subject.forms)
        if mode == "gradient wanted":
            tensors = tuple(t.detach().requires_grad_() for t in tensors)
            # Without a backward these two say nothing about a call whose gradient is wanted.
            del forms["custom_op"]
        calls = {name: functools.partial(form, *tensors) for name, form in forms.items()}
        return _values(best_us(calls, rounds=rounds, count=count, settle=_settle(device)))


def compiled(make: Callable[[], Any], device: str, rounds: int, count: int) -> Values:
    """A compiled chain of calls, each one opaque node, per call."""
    import torch

    torch.set_num_threads(1)
    subject = make()
    first, *rest = subject.tensors
    calls = {}
    for name in ("tileops", "class", "bare", "custom_op"):
        form = subject.forms[name]

        def chain(x: torch.Tensor, *others: torch.Tensor, form: Any = form) -> torch.Tensor:
            for _ in range(CHAIN):
                x = form(x, *others)
            return x

        torch._dynamo.reset()
        run = torch.compile(chain, fullgraph=True, dynamic=False)
        calls[name] = functools.partial(run, first, *rest)
    with torch.no_grad():
        try:
            times = best_us(calls, rounds=rounds, count=count, settle=_settle(device))
        except torch._inductor.exc.InductorError as error:
            raise Unmeasurable(f"Inductor cannot compile here: {str(error)[:80]}") from None
    return _values({name: us / CHAIN for name, us in times.items()})


def cases(options: Options) -> Iterable[Case]:
    """Subjects in every mode, on every device."""
    import torch

    from benchmarks.dispatch_operators import subjects

    for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
        # A loop on a GPU must not fill the queue of launches, which holds about a thousand.
        rounds, count = (2, 5) if options.quick else (60, 100 if device == "cpu" else 40)
        for name, make in subjects(device)[: 1 if options.quick else None]:
            for mode in MODES[: 1 if options.quick else None]:
                run = functools.partial(eager, make, device, mode, rounds, count)
                yield Case(f"{device}, {name}, {mode}", run)
            if options.compiling and not options.quick:
                run = functools.partial(compiled, make, device, rounds, max(1, count // 4))
                yield Case(f"{device}, {name}, compiled", run)


def shown(values: dict[str, Values]) -> str:
    """Microseconds for each form, and the ratios."""
    forms = ("tileops", "class", "bare", "custom_op", "reference", "aten")
    table = Table(("call, us", *forms, "ratio", "class ratio"))
    for name, item in values.items():
        cells = [item["us"].get(form) for form in forms]
        table.add(name, *cells, item["ratio"], item["class_ratio"])
    lines = [str(table), "ratios are to the bare operator, which checks nothing"]
    bars = [
        item["ratio"]
        for name, item in values.items()
        if name.startswith("cpu, RMSNorm") and not name.endswith(("wanted", "compiled"))
    ]
    if bars:
        verdict = "reached" if max(bars) <= RATIO_LIMIT else "missed"
        lines.append(
            f"RMSNorm on the CPU at most {RATIO_LIMIT} times the bare operator: "
            f"{verdict}, {max(bars):.2f} at worst"
        )
    return "\n".join(lines)


BENCHMARK = Benchmark("dispatch", "host time of a call, microseconds of CPU", cases, shown)
