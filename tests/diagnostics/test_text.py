"""The text form of findings, pinned."""

import expecttest
import pytest

from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings, Label, Span
from tileops.diagnostics.text import render, split_lines

pytestmark = pytest.mark.golden

SOURCE = """\
RMSNormFwdOp:
  family: norm
  family: norms
"""


def show(text: str, span: Span, message: str = "A thing must be so, got otherwise.", **more) -> str:
    findings = Findings()
    findings.add(codes.DUPLICATE_KEY, span, message, **more)
    return render(findings, {"norm.yaml": text})


class TestRender(expecttest.TestCase):
    def test_labels_and_help(self) -> None:
        first = Label(Span("norm.yaml", 2, 3, 6), "first given here")
        out = show(SOURCE, Span("norm.yaml", 3, 3, 6), labels=(first,), help="Remove one of them.")
        self.assertExpectedInline(
            out,
            """\
norm.yaml:3:3: error[TO102] A thing must be so, got otherwise.
3 |   family: norms
  |   ^^^^^^
  = norm.yaml:2:3: first given here
2 |   family: norm
  |   ------
  = help: Remove one of them.
""",
        )

    def test_order_is_by_place(self) -> None:
        findings = Findings()
        for line in (3, 1, 2):
            findings.add(codes.YAML_SYNTAX, Span("norm.yaml", line, 1), f"Line {line} is odd.")
        self.assertExpectedInline(
            render(findings, {}),
            """\
norm.yaml:1:1: error[TO101] Line 1 is odd.
norm.yaml:2:1: error[TO101] Line 2 is odd.
norm.yaml:3:1: error[TO101] Line 3 is odd.
""",
        )

    def test_control_characters_and_tabs(self) -> None:
        out = show("a:\t\x1b[31mred\n", Span("norm.yaml", 1, 9, 3), "Got '\x1b[31m'.")
        self.assertExpectedInline(
            out,
            """\
norm.yaml:1:9: error[TO102] Got '\\x1b[31m'.
1 | a: \\x1b[31mred
  |            ^^^
""",
        )

    def test_long_line(self) -> None:
        out = show("x" * 400 + "HERE" + "y" * 400, Span("norm.yaml", 1, 401, 4))
        self.assertExpectedInline(
            out,
            """\
norm.yaml:1:401: error[TO102] A thing must be so, got otherwise.
1 | xxxxxxxxxxxxxxxxxxxxxxxxxHEREyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy
  |                          ^^^^
""",
        )

    def test_long_span(self) -> None:
        out = show("x" * 400, Span("norm.yaml", 1, 381, 400))
        self.assertExpectedInline(
            out,
            """\
norm.yaml:1:381: error[TO102] A thing must be so, got otherwise.
1 | xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
  |                                                                                 ^^^^^^^^^^^^^^^^^^^^
""",
        )

    def test_color(self) -> None:
        findings = Findings()
        findings.add(codes.DUPLICATE_KEY, Span("norm.yaml", 2, 3, 6), "Twice.")
        out = render(findings, {"norm.yaml": SOURCE}, color=True)
        self.assertExpectedInline(
            repr(out),
            """'\\x1b[1mnorm.yaml:2:3\\x1b[0m: \\x1b[1;31merror[TO102]\\x1b[0m Twice.\\n\\x1b[36m2 |\\x1b[0m   family: norm\\n\\x1b[36m  |\\x1b[0m   \\x1b[1m^^^^^^\\x1b[0m\\n'""",
        )


def test_place_outside_the_text_has_no_excerpt() -> None:
    assert show(SOURCE, Span("norm.yaml", 99, 1)).count("\n") == 1
    assert show(SOURCE, Span("other.yaml", 1, 1)).count("\n") == 1


def test_lines_are_those_of_yaml() -> None:
    assert split_lines("a\r\nb\rc\nd\x85e\u2028f\x0bg") == ["a", "b", "c", "d", "e", "f\x0bg"]


def test_the_caret_stands_under_wide_and_combining_characters() -> None:
    line, carets = show("名前: e\u0301x\n", Span("norm.yaml", 1, 5, 3)).splitlines()[1:]
    assert line == "1 | 名前: e\u0301x"
    # Two double-width characters, a colon and a space stand before; the accent takes no column.
    assert carets == "  |       ^^"
