"""`tileops explain`: a page for every code, and a reference that is up to date."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tileops.cli import main
from tileops.diagnostics.codes import CODES
from tileops.diagnostics.explain import MARK, explain, explanations, find_code, reference_page


def test_every_code_has_a_page() -> None:
    assert list(explanations()) == [code.id for code in CODES]


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.id)
def test_a_page_is_complete(code) -> None:
    page = explain(code)
    assert page.what.endswith(".") and page.why.endswith(".")
    assert page.fails and page.mended and page.fails != page.mended
    assert all(MARK not in block.text for block in page.mended)


def test_a_code_is_found_by_id_and_name() -> None:
    assert find_code("TO301") is find_code("to301") is find_code("unsolved-index") is not None
    assert find_code("TO999") is None


def test_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "unsolved-index"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("TO301 unsolved-index (error)\n\nNo input solves an index")
    assert "\nFails:\n" in out and "\nMended:\n" in out and f"   {MARK}\n" in out
    assert main(["explain"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(CODES) + 1
    assert main(["explain", "unsolved-indx"]) == 2
    assert "close to it: unsolved-index" in capsys.readouterr().err


def test_the_reference_is_up_to_date(golden: Callable[[str, str], None]) -> None:
    golden("../../docs/diagnostics.md", reference_page())
