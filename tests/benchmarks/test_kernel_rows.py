"""What the kernels benchmark times: every form of a row makes the same call, on the CPU and small."""

from __future__ import annotations

import contextlib
import functools
import json
import types
from typing import Any

import pytest
import torch

import tileops
from benchmarks import profile
from benchmarks.case import Case, Options, text_of
from benchmarks.kernels import (
    BENCHMARK,
    device_time,
    judge,
    libraries,
    measure,
    order,
    prepare,
    table,
)
from benchmarks.kernels.baselines import _BY_OP as baselines_of_ours
from benchmarks.kernels.baselines import baselines
from benchmarks.kernels.subject import subject_of
from benchmarks.profile.store import Ceiling
from tests.devices import gpu
from tileops.testing.cases import rows


def shown(rows: dict[str, Any]) -> str:
    return text_of(table.shown(rows))


IMPLEMENTED = [e.name for e in tileops.registry.entries if e.status == "implemented"]


@pytest.mark.parametrize("op", IMPLEMENTED)
def test_the_forms_of_a_row_agree(op: str) -> None:
    row = rows(op)[0]
    with torch.no_grad():
        subject = subject_of(row, "cpu", max_elements=4096)
        error = measure.error_of(subject)
        assert error is not None and error < 1e-6
        assert subject.bytes > 0
        copy = subject.with_copy()
        assert [t.data_ptr() for t in copy.tensors] != [t.data_ptr() for t in subject.tensors] or (
            not subject.tensors
        )
        for baseline in measure.baselines_of(copy):
            # Attention and what the manifest names are judged below.
            if op in baselines_of_ours and op != "GQADenseFwdOp":
                measure._check(baseline.call(), copy)
    assert dict(subject.launchers())


def test_every_implemented_row_is_a_case() -> None:
    found = [case.id for case in BENCHMARK.cases(Options())]
    assert len(found) == len(set(found))
    assert {name.split()[1] + "Op" for name in found} == set(IMPLEMENTED)


def test_most_functions_that_the_manifest_names_are_baselines() -> None:
    """One that is called otherwise is left out when it is measured; that must stay rare."""
    wrong, count = [], 0
    with torch.no_grad():
        for op in IMPLEMENTED:
            subject = subject_of(rows(op)[0], "cpu", max_elements=64)
            for baseline in measure.baselines_of(subject):
                if baseline.name != "torch" or op in baselines_of_ours:
                    continue
                count += 1
                try:
                    measure._check(baseline.call(), subject)
                except (TypeError, ValueError, RuntimeError) as error:
                    wrong.append(f"{op}: {error}")
    assert count > 30 and len(wrong) < 0.2 * count, "\n".join(wrong)


def test_attention_is_held_against_flex_where_it_can_express_the_row() -> None:
    found = 0
    with torch.no_grad():
        for row in rows("GQADenseFwdOp"):
            subject = subject_of(row, "cpu", max_elements=4096)
            for baseline in measure.baselines_of(subject):
                if baseline.name == "flex":
                    assert baseline.compiles
                    measure._check(baseline.call(), subject)
                    found += 1
    assert found


def test_a_baseline_with_wrong_values_does_not_count() -> None:
    with torch.no_grad():
        subject = subject_of(rows("ReLUFwdOp")[0], "cpu", max_elements=4096)
        right = subject.plain()
        measure._check(right, subject)
        for wrong in (right + 0.5, right.double(), right[:-1], right * float("nan")):
            with pytest.raises(ValueError, match="its"):
                measure._check(wrong, subject)


def test_functions_of_torch_come_from_the_manifest() -> None:
    x = torch.randn(4, 4)
    named = {"input": x, "alpha": 0.5, "inplace": False, "target": None}
    found = list(baselines("ELUFwdOp", named, "torch.nn.functional.elu"))
    assert [item.name for item in found] == ["torch"]
    assert torch.equal(found[0].call(), torch.nn.functional.elu(x, 0.5))
    assert not list(baselines("ELUFwdOp", {**named, "inplace": True}, "torch.nn.functional.elu"))
    assert not list(baselines("XFwdOp", named, "flashinfer.activation.x"))


def test_libraries_that_are_there_are_baselines(monkeypatch: Any) -> None:
    class Liger:
        liger_swiglu = staticmethod(lambda a, b: torch.nn.functional.silu(a) * b)

    @contextlib.contextmanager
    def use_gems() -> Any:
        yield

    gems = types.SimpleNamespace(use_gems=use_gems)
    found = {"liger": Liger, "flag_gems": gems}
    monkeypatch.setattr(libraries, "library", found.get)
    assert libraries.available() == ["liger", "flag_gems"]
    with torch.no_grad():
        subject = subject_of(rows("SiLUAndMulFwdOp")[0], "cpu", max_elements=4096)
        monkeypatch.setattr(gems, "silu_and_mul", Liger.liger_swiglu, raising=False)
        calls = {item.name: item for item in measure.baselines_of(subject)}
        assert list(calls) == ["liger", "flag_gems"]
        measure._check(calls["liger"].call(), subject)
        names = [
            item.name for item in measure.baselines_of(subject_of(rows("ExpFwdOp")[0], "cpu", 64))
        ]
        assert names == ["torch", "flag_gems"]


def values(ours: float, other: float, **more: Any) -> dict[str, Any]:
    copy = {"name": "copy", "rate": 4e12, "unit": "B/s"}
    return {
        "op": "AFwdOp", "family": "a", "served": "row", "error": 0.0, "wrong": False,
        "us": {"tileops": ours, "kernel": ours, "compile": other}, "failures": {},
        "flops": 1, "bytes": 1, "bytes_per_s": 1e12, "flops_per_s": 1e12, "bound": "memory",
        "floor_us": 1.0, "of_ceiling": 0.5, "ceiling": copy, "ceilings": [copy], **more,
    }  # fmt: skip


def test_the_table_puts_the_worst_row_first() -> None:
    rows = {"fast": values(1.0, 4.0), "slow": values(2.0, 2.0, wrong=True)}
    text = shown(rows)
    assert text.index("slow") < text.index("fast")
    assert "WRONG VALUES: slow" in text
    family = next(line for line in text.splitlines() if line.startswith("a "))
    assert family.split()[1:3] == ["2", "2"]
    assert "ceilings: copy 4 TB/s" in text


def test_rows_that_fall_short_are_named() -> None:
    big = {"bytes": 10**8, "bytes_per_s": 3e12}
    rows = {"slow": values(2.0, 1.0), "fast": values(1.0, 1.0, **big)}
    text = shown(rows)
    assert "under 0.8 of the best other: slow, 0.50" in text
    assert "under 90% of the copy rate: fast, 75%" in text
    # Neither a row that is fast enough nor a small one.
    fine = {"a": values(1.0, 0.95), "b": values(1.0, 1.0, **{**big, "bytes_per_s": 3.7e12})}
    assert "under 0.8 of" not in shown(fine) and "copy rate:" not in shown(fine)
    small = {"b": values(1.0, 1.0, bytes=10**6, bytes_per_s=1e12)}
    assert "copy rate:" not in shown(small)


def test_a_tie_within_the_band_counts_as_one() -> None:
    def repeated(ours: list[float], other: list[float]) -> dict[str, Any]:
        more = {"repeats": {"tileops": ours, "compile": other}}
        return values(sorted(ours)[2], sorted(other)[2], **more)

    tied = repeated([1.0, 1.1, 1.0, 1.0, 1.0], [0.97] * 5)
    lost = repeated([1.0] * 5, [0.5] * 5)
    assert judge.against(tied).tie and not judge.loses(tied)  # type: ignore[union-attr]
    assert judge.loses(lost) and judge.flagged(lost)
    mean = judge.mean_against([tied, lost])
    assert mean is not None and abs(mean.median - 0.5**0.5) < 1e-9
    # Its band is that of the mean over rows, repeat by repeat.
    assert abs(mean.band - (0.97**0.5 - (0.97 / 1.1) ** 0.5) / (2 * 0.97**0.5)) < 1e-9
    # The control: with the same medians and no noise it is a loss.
    assert judge.loses(repeated([1.0] * 5, [0.97] * 5))


def test_the_first_round_has_every_operator_and_families_take_turns() -> None:
    found = [case.id for case in BENCHMARK.cases(Options())]
    first = [name.split()[1] for name in found[: len(IMPLEMENTED)]]
    assert len(set(first)) == len(IMPLEMENTED)
    families = {name.split()[0] for name in found}
    assert {name.split()[0] for name in found[: len(families)]} == families
    assert list(order.in_turn(["ab", "c", "def"])) == list("acdbef")


def test_a_row_is_compiled_ahead() -> None:
    name = next(case.id for case in BENCHMARK.cases(Options()) if "ReLU" in case.id)
    assert prepare.compile_row(name, compiling=False, size=4096) is None
    reason = prepare.compile_row("no row", compiling=False, size=4096)
    assert reason is not None and "KeyError" in reason


@pytest.mark.slow
def test_rows_are_compiled_ahead_by_processes(capsys: Any) -> None:
    name = next(case.id for case in BENCHMARK.cases(Options()) if "ReLU" in case.id)
    prepare.prepare([Case(name, dict)] * 2, Options(compiling=False, workers=2), size=64)
    assert "2 rows compiled ahead by 2 processes" in capsys.readouterr().err
    # One alone is not worth a process.
    prepare.prepare([Case(name, dict)], Options(compiling=False, workers=2), size=64)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("op", ["RMSNormFwdOp", "SinusoidalFwdOp"])
def test_the_measurement_of_a_row_without_a_gpu(op: str, monkeypatch: Any) -> None:
    def once(calls: Any) -> Any:
        return [call() for call in calls]

    small = functools.partial(subject_of, max_elements=4096)
    monkeypatch.setattr(measure, "subject_of", small)
    monkeypatch.setattr(measure, "serving", lambda subject: (None, {"row": "no GPU"}))
    monkeypatch.setattr(device_time, "device", lambda: "cpu")
    monkeypatch.setattr(device_time, "record", once)
    repeats = [2.0, 2.2, 1.9, 2.0, 2.1]
    monkeypatch.setattr(device_time, "repeats_us", lambda forms: dict.fromkeys(forms, repeats))
    monkeypatch.setattr(profile, "memory_ceiling", lambda name: Ceiling(name, 4e12, "B/s"))
    monkeypatch.setattr(
        profile, "matrix_ceiling", lambda dtype, tf32: Ceiling(f"{dtype} matmul", 7e14, "FLOP/s")
    )
    values = measure.measure(rows(op)[0], compiling=False)
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert not values["wrong"] and values["failures"] == {}
    assert values["bytes_per_s"] == values["bytes"] / 2e-6
    assert values["repeats"]["tileops"] == repeats
    assert values["ceiling"]["name"] == "copy" and values["declined"] == {"row": "no GPU"}
    assert "geometric means" in shown({"row": values})


class FakeCuda:
    """Streams, events and graphs on a clock of its own; replaying takes a tenth of calling."""

    def __init__(self) -> None:
        self.now, self.recording = 0.0, False
        self.Stream = self.Event = self.CUDAGraph = self.stream = lambda *args, **kwargs: (
            self.Thing(self)
        )
        self.current_stream = self.Stream

    class Thing:
        def __init__(self, cuda: Any) -> None:
            self.cuda, self.at, self.work = cuda, 0.0, 0.0

        def __enter__(self) -> None: ...

        def __exit__(self, *_: Any) -> None: ...

        def wait_stream(self, other: Any) -> None: ...

        def synchronize(self) -> None: ...

        def record(self) -> None:
            self.at = self.cuda.now

        def elapsed_time(self, other: Any) -> float:
            return float(other.at - self.at)

        def replay(self) -> None:
            self.cuda.now += self.work

    @contextlib.contextmanager
    def graph(self, graph: Any, stream: Any) -> Any:
        before, self.recording = self.now, True
        yield
        graph.work, self.now, self.recording = (self.now - before) / 10, before, False


def test_graphs_replay_calls_over_all_sets(monkeypatch: Any) -> None:
    cuda = FakeCuda()
    monkeypatch.setattr(device_time, "torch", types.SimpleNamespace(cuda=cuda))
    seen: list[str] = []

    def call(name: str, ms: float) -> Any:
        def run() -> str:
            cuda.now += ms
            if cuda.recording:
                seen.append(name)
            return name

        return run

    # Four sets, each four times, so that a graph holds enough calls.
    short = device_time.record([call(name, 0.1) for name in "abcd"])
    assert seen == list("abcd") * 4 and short.calls == 16
    assert abs(short.us() - 10.0) < 1e-9
    # Calls that take long fill the budget sooner: fewer sets, once.
    seen.clear()
    long = device_time.record([call(name, 20.0) for name in "abcd"])
    assert seen == list("ab") and long.calls == 2
    times = device_time.repeats_us({"short": short, "long": long}, repeats=3)
    assert {name: len(items) for name, items in times.items()} == {"short": 3, "long": 3}
    assert all(abs(us - 2000.0) < 1e-6 for us in times["long"])


@gpu
def test_a_row_is_measured() -> None:
    found = measure.measure(rows("RMSNormFwdOp")[0], compiling=False)
    assert found["us"]["tileops"] > 0 and not found["wrong"] and found["failures"] == {}
