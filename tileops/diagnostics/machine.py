"""Findings for programs: one JSON object, or annotations for GitHub.

In: diagnostics and the summary of a run. Out: a string. Both forms are a contract: the JSON object
carries its version, which changes with the meaning of a field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from tileops.diagnostics.model import Diagnostic, Severity

JSON_VERSION = 1


def to_json(findings: Iterable[Diagnostic], summary: Mapping[str, int | float]) -> str:
    """One object: version, summary, diagnostics in the order given."""
    rows = [
        {
            "code": finding.code.id,
            "name": finding.code.name,
            "severity": finding.code.severity.value,
            "file": finding.span.file,
            "line": finding.span.line,
            "column": finding.span.column,
            "op": finding.op,
            "field": finding.field,
            "message": finding.message,
        }
        for finding in findings
    ]
    document = {"version": JSON_VERSION, "summary": dict(summary), "diagnostics": rows}
    return json.dumps(document, indent=2) + "\n"


def to_github(findings: Iterable[Diagnostic]) -> str:
    """One workflow command a line; GitHub shows each beside the line of its file."""
    return "".join(_annotation(finding) for finding in findings)


def _annotation(finding: Diagnostic) -> str:
    span, code = finding.span, finding.code
    level = "error" if code.severity is Severity.ERROR else "warning"
    properties = {
        "file": span.file,
        "line": str(span.line),
        "col": str(span.column),
        "endColumn": str(span.column + span.length),
        "title": f"{code.id} {code.name}",
    }
    written = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    message = finding.message if not finding.help else f"{finding.message}\n{finding.help}"
    return f"::{level} {written}::{_data(message)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
