"""The examples of `tileops explain` do what they say: exactly that code, at the marked lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.validator.examples import findings_in, marked
from tests.validator.test_messages import style_fault
from tileops.diagnostics.codes import CODES
from tileops.diagnostics.explain import Block, explain
from tileops.diagnostics.model import Code


def reading(code: Code) -> bool:
    return code.id < "TO120"


def compiles(code: Code) -> bool:
    return code.id >= "TO801"


#: What ends its process, or must be ended, is tried in another one.
APART = ("worker-died", "worker-hung")

#: The examples that were tried and had no findings; the compile checks share a mended one.
clean: set[tuple[Block, ...]] = set()


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.id)
def test_the_failing_example_fails_with_that_code_where_it_is_marked(
    code: Code, tmp_path: Path
) -> None:
    blocks = explain(code).fails
    apart = code.name in APART
    found = findings_in(blocks, tmp_path / code.id, reading(code), compiles(code), apart)
    assert {item.code.id for item in found} == {code.id}, [item.message for item in found]
    places = {(Path(item.span.file).name, item.span.line) for item in found}
    assert places == marked(blocks)
    if compiles(code):
        text = "".join(block.text for block in blocks)
        assert [fault for item in found if (fault := style_fault(item, text))] == []


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.id)
def test_the_mended_example_has_no_findings(code: Code, tmp_path: Path) -> None:
    blocks = explain(code).mended
    if compiles(code) and blocks in clean:
        return
    found = findings_in(blocks, tmp_path / f"{code.id}_mended", reading(code), compiles(code))
    assert [(item.code.id, item.message) for item in found] == []
    if compiles(code):
        clean.add(blocks)
