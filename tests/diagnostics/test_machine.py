"""The forms of findings for programs, pinned."""

import json

import expecttest
import pytest

from tests.diagnostics.sarif import check_log
from tileops.diagnostics import codes
from tileops.diagnostics.machine import to_github, to_json, to_sarif
from tileops.diagnostics.model import Findings, Label, Span

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
        labels=(Label(Span("spec/norm.yaml", 2, 3, 6), "first given here"),),
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
      "message": "Two\\nlines.",
      "labels": [],
      "help": ""
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
      "message": "a mapping must have distinct keys, got 'family' again",
      "labels": [
        {
          "file": "spec/norm.yaml",
          "line": 2,
          "column": 3,
          "text": "first given here"
        }
      ],
      "help": "remove one: 100% safe"
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

    def test_sarif(self) -> None:
        log = json.loads(to_sarif(sample(), {"errors": 2}))
        check_log(log)
        (run,) = log["runs"]
        assert run["properties"] == {"errors": 2}
        assert len(run["tool"]["driver"]["rules"]) == len(codes.CODES)
        self.assertExpectedInline(
            json.dumps(run["results"], indent=1),
            """\
[
 {
  "ruleId": "TO101",
  "ruleIndex": 0,
  "level": "error",
  "message": {
   "text": "Two\\nlines."
  },
  "locations": [
   {
    "physicalLocation": {
     "artifactLocation": {
      "uri": "a%2Cb%3Ac.yaml"
     },
     "region": {
      "startLine": 1,
      "startColumn": 1,
      "endColumn": 2
     }
    }
   }
  ]
 },
 {
  "ruleId": "TO102",
  "ruleIndex": 1,
  "level": "error",
  "message": {
   "text": "a mapping must have distinct keys, got 'family' again\\nremove one: 100% safe"
  },
  "locations": [
   {
    "physicalLocation": {
     "artifactLocation": {
      "uri": "spec/norm.yaml"
     },
     "region": {
      "startLine": 3,
      "startColumn": 3,
      "endColumn": 9
     }
    },
    "logicalLocations": [
     {
      "fullyQualifiedName": "RMSNormFwdOp.family"
     }
    ]
   }
  ],
  "relatedLocations": [
   {
    "id": 0,
    "message": {
     "text": "first given here"
    },
    "physicalLocation": {
     "artifactLocation": {
      "uri": "spec/norm.yaml"
     },
     "region": {
      "startLine": 2,
      "startColumn": 3,
      "endColumn": 9
     }
    }
   }
  ]
 }
]""",
        )


def test_the_check_of_sarif_can_fail() -> None:
    log = json.loads(to_sarif(sample(), {}))
    log["runs"][0]["results"][0]["ruleIndex"] = 5
    with pytest.raises(AssertionError):
        check_log(log)


def test_absolute_paths_are_uris() -> None:
    findings = Findings()
    findings.add(codes.YAML_SYNTAX, Span("/a b/c#.yaml", 1, 1), "no")
    log = json.loads(to_sarif(findings, {}))
    check_log(log)
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "file:///a%20b/c%23.yaml"


def test_json_of_nothing_is_one_object() -> None:
    assert json.loads(to_json(Findings(), {})) == {"version": 1, "summary": {}, "diagnostics": []}
