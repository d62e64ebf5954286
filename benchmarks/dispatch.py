"""Host time of one call: what checks, choice and output checks cost over a bare operator.

In: small tensors, on the CPU and on a GPU where there is one. Out: microseconds of this thread for
each form of the call (dispatch_operators.py), eager in each grad mode, compiled as an opaque node
and compiled with its reference or its kernels inlined, and ratios to the operator without checks of
the same work.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.case import Benchmark, Case, Options, Shown, Table, Unmeasurable, Values
from benchmarks.host_time import repeats_us

MODES = ("no_grad", "grad mode", "inference", "gradient wanted")
# The bar: a checked eager call of RMSNorm, on the CPU against the bare operator, and on a GPU,
# where launching is the work, against aten's.
RATIO_LIMIT = 2.0
# The bar: a call that was compiled and inlined, against an opaque node of custom_op.
INLINED_LIMIT = 0.65
OURS = ["tileops", "class", "inlined", "kernel inlined"]
RATIOS = {"ratio": "tileops", "class_ratio": "class", "inlined_ratio": "inlined"}
CHAIN = 8


def _mode(name: str) -> Any:
    import torch

    if name == "no_grad":
        return torch.no_grad()
    return torch.inference_mode() if name == "inference" else contextlib.nullcontext()


def _settle(device: str) -> Callable[[], Any] | None:
    import torch

    return torch.cuda.synchronize if device == "cuda" else None


def _values(repeats: dict[str, list[float]], each: int = 1) -> Values:
    """The least of all repeats counts; `each` calls were timed as one."""
    repeats = {name: [us / each for us in items] for name, items in repeats.items()}
    times = {name: min(items) for name, items in repeats.items()}
    values: Values = {"us": times, "repeats": repeats, "against": "bare", "ours": OURS}
    for name, form in RATIOS.items():
        if form in times:
            values[name] = times[form] / times["bare"]
    if "aten" in times:
        values["aten_ratio"] = times["tileops"] / times["aten"]
    if "inlined" in times:
        values["inlined_to_custom_op"] = times["inlined"] / times["custom_op"]
    return values


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
        return _values(repeats_us(calls, rounds=rounds, count=count, settle=_settle(device)))


def compiled(make: Callable[[], Any], device: str, rounds: int, count: int) -> Values:
    """A compiled chain of calls, per call: opaque nodes, and ours inlined in each way there is."""
    import torch

    from benchmarks.compiling import compile_under

    torch.set_num_threads(1)
    torch._dynamo.reset()
    subject = make()
    variants = {name: (name, "opaque") for name in ("tileops", "class", "bare", "custom_op")}
    variants["inlined"] = ("tileops", "reference")
    if device == "cuda":
        variants["kernel inlined"] = ("tileops", "kernel")
    calls = {}
    with torch.no_grad():
        try:
            for name, (form, policy) in variants.items():
                chain = _chain(subject.forms[form])
                run = compile_under(policy, chain, subject.tensors)
                calls[name] = functools.partial(run, *subject.tensors)
        except torch._inductor.exc.InductorError as error:
            raise Unmeasurable(f"Inductor cannot compile here: {str(error)[:80]}") from None
        times = repeats_us(calls, rounds=rounds, count=count, settle=_settle(device))
    return _values(times, CHAIN)


def _chain(form: Callable[..., Any]) -> Callable[..., Any]:
    def chain(x: Any, *others: Any) -> Any:
        for _ in range(CHAIN):
            x = form(x, *others)
        return x

    return chain


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


def shown(values: dict[str, Values]) -> Shown:
    """Microseconds for each form, and the ratios."""
    forms = (
        "tileops", "class", "bare", "custom_op", "inlined", "kernel inlined", "reference", "aten",
    )  # fmt: skip
    table = Table(("call, us", *forms, "ratio", "class ratio", "to aten", "inlined to custom_op"))
    for name, item in values.items():
        cells = [item["us"].get(form) for form in forms]
        further = (item.get(key) for key in ("aten_ratio", "inlined_to_custom_op"))
        table.add(name, *cells, item["ratio"], item["class_ratio"], *further)
    lines: list[Table | str] = [table, "ratios are to the bare operator, which checks nothing"]
    for device, key, other in (
        ("cpu", "ratio", "the bare operator"),
        ("cuda", "aten_ratio", "aten"),
    ):
        bars = [
            item[key]
            for name, item in values.items()
            if name.startswith(f"{device}, RMSNorm") and not name.endswith(("wanted", "compiled"))
        ]
        if bars:
            verdict = "reached" if max(bars) <= RATIO_LIMIT else "missed"
            lines.append(
                f"RMSNorm on {device} at most {RATIO_LIMIT} times {other}: "
                f"{verdict}, {max(bars):.2f} at worst"
            )
    bars = [v["inlined_to_custom_op"] for v in values.values() if "inlined_to_custom_op" in v]
    if bars:
        verdict = "reached" if max(bars) <= INLINED_LIMIT else "missed"
        lines.append(
            f"inlined at most {INLINED_LIMIT:.0%} of custom_op: {verdict}, {max(bars):.0%} at worst"
        )
    return lines


BENCHMARK = Benchmark("dispatch", "host time of a call, microseconds of CPU", cases, shown)
