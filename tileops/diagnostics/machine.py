"""Findings for programs: one JSON object, annotations for GitHub, or a SARIF log.

In: diagnostics and the summary of a run. Out: a string. Every form is a contract: the JSON object
carries its version, which changes with the meaning of a field; SARIF is version 2.1.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import TypeAlias
from urllib.parse import quote

from tileops._version import __version__
from tileops.diagnostics.codes import CODES
from tileops.diagnostics.model import Code, Diagnostic, Severity, Span

JSON_VERSION = 1
SARIF_VERSION = "2.1.0"
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None


def to_json(findings: Iterable[Diagnostic], summary: Mapping[str, int | float]) -> str:
    """One object: version, summary, diagnostics in the order given."""
    rows = [_json_row(finding) for finding in findings]
    document = {"version": JSON_VERSION, "summary": dict(summary), "diagnostics": rows}
    return json.dumps(document, indent=2) + "\n"


def _json_row(finding: Diagnostic) -> dict[str, Json]:
    return {
        "code": finding.code.id,
        "name": finding.code.name,
        "severity": finding.code.severity.value,
        **_json_place(finding.span),
        "op": finding.op,
        "field": finding.field,
        "message": finding.message,
        "labels": [{**_json_place(label.span), "text": label.text} for label in finding.labels],
        "help": finding.help,
    }


def _json_place(span: Span) -> dict[str, Json]:
    return {"file": span.file, "line": span.line, "column": span.column}


# --- GitHub ---------------------------------------------------------------------------------------


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


# --- SARIF ----------------------------------------------------------------------------------------


def to_sarif(findings: Iterable[Diagnostic], summary: Mapping[str, int]) -> str:
    """One log with one run; the whole table of codes stands in it as rules."""
    numbers = {code.id: at for at, code in enumerate(CODES)}
    driver: dict[str, Json] = {
        "name": "tileops",
        "version": __version__,
        "rules": [_sarif_rule(code) for code in CODES],
    }
    run: dict[str, Json] = {
        "tool": {"driver": driver},
        # Columns count characters here, not the code units that SARIF counts by default.
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(item, numbers[item.code.id]) for item in findings],
        "properties": dict(summary),
    }
    log: dict[str, Json] = {"$schema": SARIF_SCHEMA, "version": SARIF_VERSION, "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _level(code: Code) -> str:
    return "error" if code.severity is Severity.ERROR else "warning"


def _sarif_rule(code: Code) -> dict[str, Json]:
    return {
        "id": code.id,
        "name": code.name,
        "shortDescription": {"text": code.summary},
        "help": {"text": f"tileops explain {code.id}"},
        "defaultConfiguration": {"level": _level(code)},
    }


def _sarif_result(finding: Diagnostic, number: int) -> dict[str, Json]:
    place: dict[str, Json] = {"physicalLocation": _sarif_place(finding.span)}
    if finding.op:
        name = f"{finding.op}.{finding.field}" if finding.field else finding.op
        place["logicalLocations"] = [{"fullyQualifiedName": name}]
    text = finding.message if not finding.help else f"{finding.message}\n{finding.help}"
    result: dict[str, Json] = {
        "ruleId": finding.code.id,
        "ruleIndex": number,
        "level": _level(finding.code),
        "message": {"text": text},
        "locations": [place],
    }
    if finding.labels:
        result["relatedLocations"] = [
            {
                "id": at,
                "message": {"text": label.text},
                "physicalLocation": _sarif_place(label.span),
            }
            for at, label in enumerate(finding.labels)
        ]
    return result


def _sarif_place(span: Span) -> dict[str, Json]:
    path = PurePath(span.file)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    region: dict[str, Json] = {
        "startLine": span.line,
        "startColumn": span.column,
        "endColumn": span.column + max(span.length, 1),
    }
    return {"artifactLocation": {"uri": uri}, "region": region}
