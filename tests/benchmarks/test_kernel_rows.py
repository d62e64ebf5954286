"""What the kernels benchmark times: every form of a row makes the same call, on the CPU and small."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest
import torch

import tileops
from benchmarks.case import Options
from benchmarks.kernels import BENCHMARK, device_time, measure, table
from benchmarks.kernels.baselines import baselines
from benchmarks.kernels.subject import subject_of
from tests.devices import gpu
from tileops.testing.cases import rows

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
        for _, run in baselines(op, copy.values):
            try:
                other = run()
            except RuntimeError:
                continue  # a backend that only a GPU has
            want = subject.plain()
            want = want.transpose(1, 2) if op == "GQADenseFwdOp" else want
            torch.testing.assert_close(other.float(), want.float(), rtol=2e-2, atol=2e-2)
    assert dict(subject.launchers())


def test_every_implemented_row_is_a_case() -> None:
    found = [case.id for case in BENCHMARK.cases(Options())]
    assert len(found) == len(set(found))
    assert {name.split()[1] + "Op" for name in found} == set(IMPLEMENTED)


def test_the_table_puts_the_worst_row_first() -> None:
    def values(ours: float, other: float, **more: Any) -> dict[str, Any]:
        return {
            "op": "AFwdOp", "family": "a", "served": "row", "error": 0.0, "wrong": False,
            "us": {"tileops": ours, "kernel": ours, "compile": other}, "failures": {},
            "flops": 1, "bytes": 1, "bytes_per_s": 1e12, "flops_per_s": 1e12, "bound": "memory",
            "floor_us": 1.0, "of_ceiling": 0.5, "copy_bytes_per_s": 4e12,
            "matmul_flops_per_s": 7e14, "matmul_dtype": "bfloat16", **more,
        }  # fmt: skip

    rows = {"fast": values(1.0, 4.0), "slow": values(2.0, 2.0, wrong=True)}
    text = table.shown(rows)
    assert text.index("slow") < text.index("fast")
    assert "WRONG VALUES: slow" in text
    family = next(line for line in text.splitlines() if line.startswith("a "))
    assert family.split()[1:4] == ["2", "2", "2"]


@pytest.mark.parametrize("op", ["RMSNormFwdOp", "SinusoidalFwdOp"])
def test_the_measurement_of_a_row_without_a_gpu(op: str, monkeypatch: Any) -> None:
    def once(calls: Any) -> float:
        for call in calls:
            call()
        return 2.0

    small = functools.partial(subject_of, max_elements=4096)
    monkeypatch.setattr(measure, "subject_of", small)
    monkeypatch.setattr(measure, "serving", lambda subject: None)
    monkeypatch.setattr(device_time, "device", lambda: "cpu")
    monkeypatch.setattr(device_time, "graph_us", once)
    monkeypatch.setattr(device_time, "copy_bytes_per_s", lambda: 4e12)
    monkeypatch.setattr(device_time, "matmul_flops_per_s", lambda dtype: 7e14)
    values = measure.measure(rows(op)[0], compiling=False)
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert not values["wrong"] and values["failures"] == {}
    assert values["bytes_per_s"] == values["bytes"] / 2e-6
    assert "geometric means" in table.shown({"row": values})


@gpu
def test_a_row_is_measured() -> None:
    found = measure.measure(rows("RMSNormFwdOp")[0], compiling=False)
    assert found["us"]["tileops"] > 0 and not found["wrong"] and found["failures"] == {}
