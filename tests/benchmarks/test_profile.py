"""Ceilings: measured once per device model, kept, and named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import profile, results
from benchmarks.case import Unmeasurable
from benchmarks.profile import gpu as gpu_rates
from benchmarks.profile import host, store
from benchmarks.profile.store import Ceiling
from tests.devices import gpu

COPY = Ceiling("copy", 4.2e12, "B/s")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("TILEOPS_CACHE_DIR", str(tmp_path))


def test_a_rate_is_measured_once_for_a_model(tmp_path: Path) -> None:
    measured: list[str] = []

    def measure(name: str) -> Ceiling:
        measured.append(name)
        return COPY

    assert store.rate_of("GPU A", "copy", measure) == COPY
    assert store.rate_of("GPU A", "copy", measure) == COPY
    assert measured == ["copy"]
    assert store.rate_of("GPU B", "copy", measure) == COPY and measured == ["copy", "copy"]
    assert {path.name for path in (tmp_path / "profiles").iterdir()} == {"gpu-a.json", "gpu-b.json"}
    kept = json.loads((tmp_path / "profiles" / "gpu-a.json").read_text("utf-8"))
    assert kept["ceilings"]["copy"]["rate"] == 4.2e12 and kept["date"]


def test_another_torch_or_a_damaged_file_measures_again(tmp_path: Path, monkeypatch: Any) -> None:
    store.keep("GPU", COPY)
    assert store.load("GPU") == {"copy": COPY}
    monkeypatch.setattr(results, "versions", lambda: {"torch": "another"})
    assert store.load("GPU") == {}
    monkeypatch.undo()
    monkeypatch.setenv("TILEOPS_CACHE_DIR", str(tmp_path))
    (tmp_path / "profiles" / "gpu.json").write_text('{"torch": ', "utf-8")
    assert store.load("GPU") == {}


def test_a_dtype_without_products_is_held_against_another(monkeypatch: Any) -> None:
    def measure(name: str) -> Ceiling:
        if name == "float8_e4m3fn":
            raise Unmeasurable("too old")
        return Ceiling(f"{name} matmul", 1e14, "FLOP/s")

    monkeypatch.setattr(results, "gpu", lambda: "GPU")
    monkeypatch.setattr(gpu_rates, "measure", measure)
    profile.matrix_ceiling.cache_clear()
    try:
        names = [profile.matrix_ceiling(n) for n in ("float16", "float8_e5m2", "int64", "uint8")]
        assert [item and item.name for item in names] == [
            "float16 matmul", "bfloat16 matmul", None, "int8 matmul",
        ]  # fmt: skip
        tf32 = profile.matrix_ceiling("float32", tf32=True)
        assert tf32 is not None and str(tf32) == "tf32 matmul 100 TFLOP/s"
    finally:
        profile.matrix_ceiling.cache_clear()


def test_the_processor_has_rates() -> None:
    assert host.measure("copy", size=2**20).unit == "B/s"
    found = host.measure("float32", width=64)
    assert found.rate > 0 and found.name == "float32 matmul"


@pytest.mark.parametrize("name", gpu_rates.MATRIX)
def test_the_products_that_a_gpu_is_timed_with(name: str) -> None:
    try:
        found = gpu_rates._product(name, 32, "cpu")()
    except (RuntimeError, NotImplementedError):
        assert name == "float8_e4m3fn"
        return
    assert found.shape == (32, 32) and (found.dtype == torch.int32) == (name == "int8")


def test_the_loops_that_a_gpu_is_timed_with(monkeypatch: Any) -> None:
    monkeypatch.setattr(gpu_rates, "_best_s", lambda actions: [run() for run in actions] and 1e-3)
    size = 2**20
    assert gpu_rates._memory("copy", size, "cpu") == 2 * size / 1e-3
    assert gpu_rates._memory("read", size, "cpu") == size / 1e-3
    assert gpu_rates._memory("write", size, "cpu") == size / 1e-3


@gpu
def test_the_rates_of_a_gpu() -> None:
    copy = gpu_rates.measure("copy")
    assert copy.rate > 1e11 and gpu_rates.measure("bfloat16").rate > 1e12
