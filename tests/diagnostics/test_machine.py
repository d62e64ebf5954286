"""The forms of findings for programs, pinned."""

import json

import expecttest
import pytest

from tileops.diagnostics import codes
from tileops.diagnostics.machine import to_github, to_json
from tileops.diagnostics.model import Findings, Span

pytestmark = pytest.mark.golden


def sample() -> Findings:
    findings = Findings()
    findings.add(
        codes.DUPLICATE_KEY,
        Span("spec/norm.yaml", 3, 3, 6),
        "a mapping must have distinct keys, got 'family' again",
        op="RMSNormFwdOp",
        field="family",
        help="remove one: 100% safe",
    )
    findings.add(codes.YAML_SYNTAX, Span("a,b:c.yaml", 1, 1), "Two\nlines.")
    return findings


class TestForms(expecttest.TestCase):
    def test_json(self) -> None:
        summary = {"entries": 2, "errors": 2, "advisories": 0, "seconds": 0.5}
        self.assertExpectedInline(
            to_json(sample(), summary),
            """\
{
  "version": 1,
  "summary": {
    "entries": 2,
    "errors": 2,
    "advisories": 0,
    "seconds": 0.5
  },
  "diagnostics": [
    {
      "code": "TO101",
      "name": "yaml-syntax",
      "severity": "error",
      "file": "a,b:c.yaml",
      "line": 1,
      "column": 1,
      "op": "",
      "field": "",
      "message": "Two\\nlines."
    },
    {
      "code": "TO102",
      "name": "duplicate-key",
      "severity": "error",
      "file": "spec/norm.yaml",
      "line": 3,
      "column": 3,
      "op": "RMSNormFwdOp",
      "field": "family",
      "message": "a mapping must have distinct keys, got 'family' again"
    }
  ]
}
""",
        )

    def test_github(self) -> None:
        self.assertExpectedInline(
            to_github(sample()),
            """\
::error file=a%2Cb%3Ac.yaml,line=1,col=1,endColumn=2,title=TO101 yaml-syntax::Two%0Alines.
::error file=spec/norm.yaml,line=3,col=3,endColumn=9,title=TO102 duplicate-key::a mapping must have distinct keys, got 'family' again%0Aremove one: 100%25 safe
""",
        )


def test_json_of_nothing_is_one_object() -> None:
    assert json.loads(to_json(Findings(), {})) == {"version": 1, "summary": {}, "diagnostics": []}
