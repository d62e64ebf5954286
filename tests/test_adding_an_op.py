"""What docs/adding-an-op.md tells the reader to do, done with the text of the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

import tileops
from tileops.testing.tolerance import assert_close

PAGE = (Path(__file__).parent.parent / "docs" / "adding-an-op.md").read_text()


def blocks(language: str) -> list[str]:
    """The fenced blocks of the page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> type:
    """The class of the page, with its entry loaded under a namespace of its own."""
    folder = tmp_path_factory.mktemp("manifest")
    (entry,) = blocks("yaml")
    (folder / "toy.yaml").write_text(entry)
    names: dict[str, object] = {}
    for text in blocks("python"):
        exec(compile(text, "docs/adding-an-op.md", "exec"), names)
    cls = names["ScaleShiftFwdOp"]
    assert isinstance(cls, type)
    registry = tileops.load_manifest(folder, "toy_page", classes=[cls])
    assert [item.operators for item in registry.entries] == [("toy_page::toy_scale_shift_fwd",)]
    assert registry.skipped == ()
    return cls


def test_operator_and_class_give_the_formula(toy: type) -> None:
    x, shift = torch.randn(3, 5, 8), torch.randn(8)
    expected = x.double() * 2.0 + shift.double()
    assert_close(torch.ops.toy_page.toy_scale_shift_fwd(x, shift, scale=2.0), expected, x.dtype)
    assert_close(toy(scale=2.0)(x, shift), expected, x.dtype)


def test_a_model_compiles_to_one_node(toy: type) -> None:
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph: torch.fx.GraphModule, inputs: object) -> object:
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    x = torch.randn(4, 8)
    compiled = torch.compile(toy(scale=3.0), fullgraph=True, backend=backend)
    torch.testing.assert_close(compiled(x), x * 3.0)
    (graph,) = graphs
    calls = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
    assert calls == ["toy_page.toy_scale_shift_fwd.default"]


def test_a_wrong_call_is_one_sentence(toy: type) -> None:
    with pytest.raises(tileops.CallError) as caught:
        toy()(torch.randn(4, 8), torch.randn(7))
    assert str(caught.value) == (
        "toy_scale_shift_fwd: shift axis 0 must be N = 8, got 7 (x: [4, 8], shift: [7])"
    )


def test_the_gradient_is_the_references(toy: type) -> None:
    x = torch.randn(4, 8, requires_grad=True)
    toy(scale=3.0)(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.full_like(x, 3.0))


def test_load_manifest_refuses_what_cannot_be(toy: type, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="namespace must be"):
        tileops.load_manifest(tmp_path, "tileops")
    with pytest.raises(ValueError, match="ScaleShiftFwdOp must have an entry"):
        tileops.load_manifest(tmp_path, "toy_empty", classes=[toy])
