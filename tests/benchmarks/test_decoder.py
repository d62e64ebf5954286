"""The decoder that is timed: both spellings are one model, and a step continues a prompt."""

from __future__ import annotations

import dataclasses
import json
import time
from typing import Any

import pytest
import torch

from benchmarks import cold_compile, cold_compile_child, compiling, decoder, end_to_end, host_time
from benchmarks.case import Options, text_of
from tests.devices import gpu

TINY = decoder.Sizes(2, 64, 4, 2, 16, 96, context=8, prompt=8)


@pytest.fixture
def weights() -> decoder.Weights:
    return decoder.Weights(TINY, "cpu", torch.bfloat16)


def layers(spelling: str, weights: decoder.Weights) -> decoder.Layers:
    torch.manual_seed(3)
    return decoder.Layers(TINY, spelling, 3, weights)


def distance(got: torch.Tensor, want: torch.Tensor) -> float:
    return float((got.float() - want.float()).norm() / want.float().norm())


@pytest.mark.parametrize("phase", end_to_end.PHASES)
def test_both_spellings_are_one_model(phase: str, weights: decoder.Weights) -> None:
    with torch.no_grad():
        plain, ours = layers("plain", weights), layers("tileops", weights)
        x = torch.randn(3, 1 if phase == "decode" else 8, 64).bfloat16()
        want, got = getattr(plain, phase)(x), getattr(ours, phase)(x)
    assert got.shape == x.shape and distance(got, want) < end_to_end.ERROR_LIMIT
    # Both wrote the same caches.
    assert distance(ours.keys1, plain.keys1) < 0.02 and torch.equal(ours.values0, plain.values0)


@pytest.mark.parametrize("spelling", decoder.SPELLINGS)
def test_a_step_continues_a_prompt(spelling: str, weights: decoder.Weights) -> None:
    with torch.no_grad():
        x = torch.randn(3, 8, 64).bfloat16()
        whole = layers(spelling, weights).prefill(x)
        parts = layers(spelling, weights)
        parts.prefill(x[:, :7])
        last = parts.decode(x[:, 7:])
    assert distance(last, whole[:, 7:]) < end_to_end.ERROR_LIMIT
    # The control: another last token gives another result.
    assert distance(parts.decode(x[:, :1]), whole[:, 7:]) > end_to_end.ERROR_LIMIT


def test_forms_are_compiled_each_under_its_policy() -> None:
    x, weight = torch.randn(4, 64), torch.randn(64)

    def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.ops.tileops.norm_rms_norm_fwd(x, weight, normalized_shape=[64], eps=1e-6)

    seen: dict[str, list[str]] = {}

    def backend(policy: str) -> Any:
        def compile_graph(module: Any, inputs: Any) -> Any:
            from functorch.compile import make_boxed_func
            from torch._dynamo.backends.common import aot_autograd

            def keep(graph: Any, inputs: Any) -> Any:
                seen[policy] = [str(node.target) for node in graph.graph.nodes]
                return make_boxed_func(graph.forward)

            return aot_autograd(fw_compiler=keep)(module, inputs)

        return compile_graph

    with torch.no_grad(), pytest.MonkeyPatch.context() as patch:
        for policy in ("opaque", "reference"):
            patch.setattr(compiling, "_own_inductor", lambda policy=policy: backend(policy))
            run = compiling.compile_under(policy, norm, (x, weight))
            torch.testing.assert_close(run(x, weight), norm(x, weight))
    assert any("norm_rms_norm_fwd" in name for name in seen["opaque"])
    assert not any("norm_rms_norm_fwd" in name for name in seen["reference"])


def test_the_forms_are_held_against_the_plain_one(monkeypatch: Any) -> None:
    monkeypatch.setattr(compiling, "compile_under", lambda policy, function, arguments: function)
    monkeypatch.setattr(decoder, "SMALL", TINY)
    monkeypatch.setattr(end_to_end, "REPEAT_S", 0.0)
    values = end_to_end.measure("cpu", "decode", 2, quick=True)
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert values["wrong"] == [] and values["failures"] == {}
    assert values["ours"] == ["tileops default", "tileops opaque", "tileops reference"]
    assert set(values["ms"]) == {"plain", *values["ours"]}

    wrong = dataclasses.replace(decoder.TILEOPS, silu_and_mul=lambda x: x.chunk(2, dim=-1)[0])
    monkeypatch.setitem(decoder.SPELLINGS, "tileops", wrong)
    values = end_to_end.measure("cpu", "decode", 2, quick=True)
    assert values["wrong"] == values["ours"]
    assert "WRONG" in text_of(end_to_end.shown({"a": values}))


def test_a_form_that_cannot_be_made_leaves_the_others(monkeypatch: Any) -> None:
    def compile_under(policy: str, function: Any, arguments: Any) -> Any:
        if policy == "reference":
            raise RuntimeError("no such policy here")
        return function

    monkeypatch.setattr(compiling, "compile_under", compile_under)
    monkeypatch.setattr(decoder, "SMALL", TINY)
    monkeypatch.setattr(end_to_end, "REPEAT_S", 0.0)
    values = end_to_end.measure("cpu", "prefill", 1, quick=True)
    assert values["ours"] == ["tileops default", "tileops opaque"]
    assert values["failures"] == {"tileops reference": "RuntimeError: no such policy here"}


def test_ours_is_compared_with_the_plain_form_that_runs_alike() -> None:
    names = ("plain", "plain, CUDA graph", "tileops kernel", "tileops kernel, CUDA graph")
    found = dict(end_to_end.pairs({"ms": dict.fromkeys(names, 1.0)}))
    assert found == {
        "tileops kernel": "plain",
        "tileops kernel, CUDA graph": "plain, CUDA graph",
    }


def test_host_times_come_in_repeats() -> None:
    calls = {"a": lambda: None, "b": lambda: sum(range(100))}
    found = host_time.repeats_us(calls, rounds=10, count=20)
    assert {name: len(items) for name, items in found.items()} == {"a": 5, "b": 5}
    assert min(found["a"]) < min(found["b"])


def test_a_first_call_in_a_fresh_process(monkeypatch: Any) -> None:
    def child(form: str, device: str, size: str, folder: Any) -> dict[str, float]:
        assert size == "small" and folder.is_dir()
        cold = not (folder / "seen").exists()
        (folder / "seen").touch()
        return {"import_s": 0.5, "first_call_s": 10.0 if cold else 2.0}

    monkeypatch.setattr(cold_compile, "_child", child)
    monkeypatch.setattr(cold_compile, "gpu", lambda: None)
    found = {case.id: case.measure() for case in cold_compile.cases(Options())}
    assert list(found) == [f"cpu, {form}" for form in ("plain", "default", "opaque", "reference")]
    assert found["cpu, opaque"]["seconds"] == {"cold": 10.5, "disk": 2.5}
    assert found["cpu, plain"]["ours"] == [] and found["cpu, opaque"]["ours"] == ["cold", "disk"]
    text = text_of(cold_compile.shown(found))
    assert "cpu, reference, disk" in text and "small model" in text
    assert cold_compile.forms("cuda")[-1] == "kernel"


def test_the_process_that_compiles_times_its_parts(monkeypatch: Any) -> None:
    monkeypatch.setattr(decoder, "SMALL", TINY)
    monkeypatch.setattr(torch, "compile", lambda function, **options: function)
    begun = time.perf_counter()
    found = cold_compile_child.measure("reference", "cpu", "small")
    assert set(found) == {"import_s", "first_call_s"}
    assert 0 <= found["first_call_s"] < time.perf_counter() - begun


def test_nothing_is_compiled_when_that_is_not_wanted() -> None:
    assert not list(end_to_end.cases(Options(compiling=False)))
    assert not list(cold_compile.cases(Options(compiling=False)))


@gpu
def test_a_step_is_replayed_by_a_graph() -> None:
    values = end_to_end.measure("cuda", "decode", 1, quick=True)
    assert values["wrong"] == [] and values["failures"] == {}
    assert "tileops kernel, CUDA graph" in values["ms"]
