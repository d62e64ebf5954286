"""The structure of SARIF 2.1.0 that code scanners rely on, written down as a check.

In: a log. Out: nothing; an AssertionError names what is not in the standard's form.
"""

from __future__ import annotations

from typing import Any

LEVELS = ("none", "note", "warning", "error")


def check_log(log: dict[str, Any]) -> None:
    """Sections 3.13 and 3.14: the log and its runs."""
    assert log["version"] == "2.1.0" and log["$schema"].startswith("https://")
    assert set(log) == {"$schema", "version", "runs"} and isinstance(log["runs"], list)
    for run in log["runs"]:
        assert set(run) <= {"tool", "results", "columnKind", "properties", "invocations"}
        assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
        driver = run["tool"]["driver"]
        assert isinstance(driver["name"], str) and isinstance(driver["version"], str)
        for rule in driver["rules"]:
            _rule(rule)
        ids = [rule["id"] for rule in driver["rules"]]
        assert len(set(ids)) == len(ids)
        for result in run["results"]:
            _result(result, ids)


def _rule(rule: dict[str, Any]) -> None:
    """Section 3.49: a reporting descriptor."""
    assert isinstance(rule["id"], str) and isinstance(rule["name"], str)
    for key in ("shortDescription", "help"):
        assert isinstance(rule[key]["text"], str) and rule[key]["text"]
    assert rule["defaultConfiguration"]["level"] in LEVELS


def _result(result: dict[str, Any], ids: list[str]) -> None:
    """Section 3.27: a result; its index and its id name one rule."""
    allowed = {"ruleId", "ruleIndex", "level", "message", "locations", "relatedLocations"}
    assert set(result) <= allowed
    assert ids[result["ruleIndex"]] == result["ruleId"]
    assert result["level"] in LEVELS and isinstance(result["message"]["text"], str)
    assert result["locations"]
    for place in result["locations"]:
        _place(place["physicalLocation"])
        for name in place.get("logicalLocations", []):
            assert isinstance(name["fullyQualifiedName"], str)
    for at, place in enumerate(result.get("relatedLocations", [])):
        assert place["id"] == at and isinstance(place["message"]["text"], str)
        _place(place["physicalLocation"])


def _place(place: dict[str, Any]) -> None:
    """Sections 3.29 and 3.30: a URI reference and a region that counts from 1."""
    uri = place["artifactLocation"]["uri"]
    assert isinstance(uri, str) and not any(char in uri for char in ' <>"{}|\\^`')
    region = place["region"]
    assert region["startLine"] >= 1 and 1 <= region["startColumn"] < region["endColumn"]
