"""The demo on a tiny model: it passes, and it notices each thing that it must notice.

Each control hands in a spelling with one fault of the kind that the demo is there to find.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
import torch

import tileops
from tileops.demo.compiled import Compiled, CompileError, Plain
from tileops.demo.generate import generate
from tileops.demo.model import Config, Decoder
from tileops.demo.run import Settings, run_demo
from tileops.demo.spelling import OPERATORS, PLAIN, TILEOPS, Spelling
from tileops.demo.text import Text
from tileops.demo.weights import build_weights, look_back
from tileops.runtime.boundary import policy_of

CPU = torch.device("cpu")
TINY = Config(layers=2, width=256, query_heads=4, key_heads=2, head=32, hidden=96)
SETTINGS = Settings(CPU, "aot_eager", prompt=48, tokens=12, config=TINY)
DATA = b"the quick brown fox jumps over the lazy dog, and the dog sleeps on."
TEXT = Text("a text", DATA, len(DATA))


def run(spelling: Spelling = TILEOPS, settings: Settings = SETTINGS) -> tuple[list[str], str]:
    lines: list[str] = []
    problems = run_demo(settings, TEXT, lines.append, spelling)
    return problems, "".join(lines)


def test_the_model_recites_its_prompt() -> None:
    weights = build_weights(TINY, CPU)
    result = generate(Plain(Decoder(weights, PLAIN)), DATA[:48], 12, CPU)
    back = look_back(TINY)
    text = DATA[:48] + result.generated
    assert result.generated == bytes(text[48 - back + i] for i in range(12))


def test_greedy_choices_are_far_from_rounding() -> None:
    # At full size: a first byte whose margin is small would make equal tokens a matter of luck.
    weights = build_weights(Config(), CPU)
    with torch.no_grad():
        logits, _ = Decoder(weights, PLAIN)(torch.randint(256, (96,)))
    best = logits.float().topk(2, dim=1).values
    assert float((best[:, 0] - best[:, 1]).min()) > 0.15
    assert float(best[:, 0].min()) > 0.9


def test_a_step_continues_what_a_prompt_began() -> None:
    weights = build_weights(TINY, CPU)
    tokens = torch.tensor(list(DATA[:40]))
    model = Decoder(weights, TILEOPS)
    with torch.no_grad():
        whole, history = model(tokens)
        _, past = model(tokens[:33])
        for place in range(33, 40):
            logits, past = model(tokens[place : place + 1], past)
            assert torch.allclose(logits[0].float(), whole[place].float(), atol=0.01)
    assert past.shape == history.shape == (2, 2, 1, 40, 2, 32)


def test_the_demo_passes_and_says_what_it_did() -> None:
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    problems, text = run()
    assert problems == []
    lines = text.splitlines()
    assert sum(line.startswith("[") for line in lines) == 7
    rows = {line.split()[0]: line for line in lines if line.split()}
    # What the boundary policies leave to the compiler no implementation serves.
    inlined = {name for name in rows if "inlined by the compiler" in rows[name]}
    served = {name for name in rows if "eager: reference" in rows[name]}
    policies = {
        operator: policy_of(tileops.registry.bound(entry.name).op_class, entry.name).cpu
        for entry in tileops.registry.entries
        for operator in OPERATORS.values()
        if entry.operators[0] == f"tileops::{operator}"
    }
    assert policies.keys() == set(OPERATORS.values())
    assert inlined == {name for name, policy in policies.items() if policy == "reference"}
    assert served == {name for name, policy in policies.items() if policy == "opaque"}, text
    assert "9 + 9" in rows["gemm_fwd"]
    assert "12 tokens equal" in text
    assert os.environ.get("TORCHINDUCTOR_CACHE_DIR") == folder


@pytest.mark.slow
def test_the_demo_passes_with_inductor() -> None:
    assert run(settings=replace(SETTINGS, backend="inductor"))[0] == []


def test_a_wrong_operator_is_noticed() -> None:
    def wrong(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return TILEOPS.add(x, y) * 1.05

    problems, text = run(replace(TILEOPS, add=wrong))
    assert any(p.startswith("elementwise_add_fwd disagrees with plain PyTorch") for p in problems)
    (row,) = (line for line in text.splitlines() if line.startswith("elementwise_add_fwd"))
    assert row.endswith("!")


def test_wrong_values_of_the_compiled_model_alone_are_noticed() -> None:
    def wrong(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        y = TILEOPS.gemm(x, weight)
        return y * 1.02 if torch.compiler.is_compiling() else y

    problems, _ = run(replace(TILEOPS, gemm=wrong))
    assert [p.partition(" with plain")[0] for p in problems] == [
        "logits disagree",
        "logits after the second prompt disagree",
    ]


def test_other_tokens_are_noticed() -> None:
    def wrong(x: torch.Tensor) -> torch.Tensor:
        return TILEOPS.rope(x).roll(1, dims=1)

    # Queries and keys move together in a prompt, and apart in a step: only bytes can tell.
    problems, text = run(replace(TILEOPS, rope=wrong))
    assert any(p.startswith("token ") and "as in plain PyTorch, got" in p for p in problems)
    assert "tokens NOT equal" in text


def test_nan_is_noticed() -> None:
    def wrong(x: torch.Tensor) -> torch.Tensor:
        return TILEOPS.silu_and_mul(x) * float("nan")

    problems, _ = run(replace(TILEOPS, silu_and_mul=wrong))
    assert any("NaN on one side only" in problem for problem in problems)


def test_a_graph_break_is_noticed() -> None:
    def breaking(x: torch.Tensor) -> torch.Tensor:
        if torch.compiler.is_compiling():
            torch._dynamo.graph_break()
        return TILEOPS.rope(x)

    (problem,), _ = run(replace(TILEOPS, rope=breaking))
    assert problem.startswith("the graph breaks: ")
    assert "\n" not in problem


def test_a_length_that_the_graph_fixes_is_noticed() -> None:
    def fixing(x: torch.Tensor) -> torch.Tensor:
        return TILEOPS.rope(x) * (1.0 if x.shape[1] == SETTINGS.prompt else 1)

    (problem,), _ = run(replace(TILEOPS, rope=fixing))
    assert problem.startswith("a dynamic length is fixed by the graph: ")


def test_a_second_length_that_recompiles_is_noticed() -> None:
    def branching(x: torch.Tensor) -> torch.Tensor:
        # True for the first prompt and its history, false for the second prompt.
        return TILEOPS.rope(x) + (0.0 if x.shape[1] >= 48 else -0.0)

    problems, _ = run(replace(TILEOPS, rope=branching))
    assert "another length recompiles: the prompt was compiled 2 times" in problems
    assert "another length recompiles: a step was compiled 2 times" in problems


def test_a_step_that_recompiles_every_time_is_noticed() -> None:
    class Count:
        calls = 0.5

    def counting(x: torch.Tensor) -> torch.Tensor:
        Count.calls += 1.0
        return TILEOPS.silu_and_mul(x) * (Count.calls / Count.calls)

    (problem,), _ = run(replace(TILEOPS, silu_and_mul=counting))
    assert problem.startswith("a second length recompiles: ")


def test_a_missing_node_is_noticed() -> None:
    def plain_when_compiled(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y if torch.compiler.is_compiling() else TILEOPS.add(x, y)

    problems, _ = run(replace(TILEOPS, add=plain_when_compiled))
    assert problems == [
        f"the graph of {name} holds 0 nodes of elementwise_add_fwd, which the model calls 1 times"
        for name in ("the prompt", "a step")
    ]


def test_a_call_that_the_operator_refuses_is_one_sentence() -> None:
    def wrong(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return TILEOPS.gemm(x, weight.t())

    compiled = Compiled(
        Decoder(build_weights(TINY, CPU), replace(TILEOPS, gemm=wrong)), "aot_eager"
    )
    with pytest.raises(CompileError, match=r"^the model does not compile: gemm_fwd: ") as caught:
        generate(compiled, DATA[:16], 1, CPU)
    assert "\n" not in str(caught.value)
