"""The examples of `tileops explain` do what they say: exactly that code, at the marked lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.validator.examples import findings_of, marked
from tileops.diagnostics.codes import CODES
from tileops.diagnostics.explain import explain
from tileops.diagnostics.model import Code


def reading(code: Code) -> bool:
    return code.id < "TO120"


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.id)
def test_the_failing_example_fails_with_that_code_where_it_is_marked(
    code: Code, tmp_path: Path
) -> None:
    blocks = explain(code).fails
    found = findings_of(blocks, tmp_path / code.id, reading(code))
    assert {item.code.id for item in found} == {code.id}, [item.message for item in found]
    places = {(Path(item.span.file).name, item.span.line) for item in found}
    assert places == marked(blocks)


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.id)
def test_the_mended_example_has_no_findings(code: Code, tmp_path: Path) -> None:
    found = findings_of(explain(code).mended, tmp_path / f"{code.id}_mended", reading(code))
    assert [(item.code.id, item.message) for item in found] == []
