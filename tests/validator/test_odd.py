"""Odd manifests: what is said of each is under review in tests/golden/validator/odd_*.txt.

Beside the golden text: every form can be read back, messages have one style, and a fault in
types.yaml is said once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.diagnostics.sarif import check_log
from tests.validator.odd import BASE, rows, signatures, types, yaml
from tests.validator.test_messages import style_fault
from tileops.diagnostics.machine import to_github, to_json, to_sarif
from tileops.diagnostics.text import render
from tileops.validator.runner import validate

GROUPS = {"yaml": yaml.CASES, "signatures": signatures.CASES, "rows": rows.CASES}


def said(folder: Path, text: str | bytes, types_text: str | bytes | None = None) -> str:
    """What validating a file finds, once its forms and messages have been looked at."""
    folder.mkdir()
    data = text if isinstance(text, bytes) else text.encode()
    (folder / "toy.yaml").write_bytes(data)
    if types_text is not None:
        encoded = types_text if isinstance(types_text, bytes) else types_text.encode()
        (folder / "types.yaml").write_bytes(encoded)
    report = validate(folder)
    found = list(report.findings)
    assert len(json.loads(to_json(found, report.summary))["diagnostics"]) == len(found)
    check_log(json.loads(to_sarif(found, report.counts)))
    assert len(to_github(found).splitlines()) == len(found)
    source = data.decode("utf-8", "replace")
    assert [item.message for item in found if style_fault(item, source)] == []
    places = [(item.span, item.code, item.message) for item in found]
    assert len(set(places)) == len(places)
    return render(found, report.manifest.sources).replace(f"{folder}/", "")


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_said_of_odd_manifests(
    group: str, tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    parts = [
        f"== {title}\n{said(tmp_path / str(at), text) or 'nothing'}"
        for at, (title, text) in enumerate(GROUPS[group].items())
    ]
    golden(f"validator/odd_{group}.txt", "\n".join(parts))


def test_a_fault_of_types_is_said_once(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    parts = []
    for at, (title, text) in enumerate(types.CASES.items()):
        found = said(tmp_path / str(at), types.ENTRIES, text)
        lines = [line for line in found.splitlines() if line.startswith("toy.yaml:")]
        # The fault of the entry beside it, and nothing that the types cause.
        assert [line.partition(":")[2].split(":")[0] for line in lines] == ["30"], found
        parts.append(f"== {title}\n{found}")
    golden("validator/odd_types.txt", "\n".join(parts))


def test_the_entry_without_a_fault_has_none(tmp_path: Path) -> None:
    assert said(tmp_path / "base", BASE) == ""
