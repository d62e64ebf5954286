"""Prints every diagnostic that a spoiled copy of the shipped manifest, the text cases and the odd
manifests give.

`python -m tests.validator.determinism`: what it prints must not depend on the hash seed.
"""

from __future__ import annotations

import random
from pathlib import Path

from tests.manifest.mutations import mutate, paths
from tests.manifest.textcases import CASES, SPEC, check_text, read_cases
from tests.validator.odd import rows, signatures, yaml
from tileops.diagnostics.machine import to_github, to_json, to_sarif
from tileops.diagnostics.model import Findings
from tileops.diagnostics.text import render
from tileops.manifest.decode import decode_entry
from tileops.manifest.load import Manifest, load_adts
from tileops.manifest.source import parse_text
from tileops.validator.model import Options, Phase, Subject
from tileops.validator.rules import RULES

#: Changes that are made to each shipped entry.
CHANGES = 2


def spoiled(path: Path, findings: Findings, manifest: Manifest) -> None:
    """Adds the entries of a file, each with fields changed."""
    text = path.read_text("utf-8")
    tree = parse_text(text, path.name, findings)
    assert tree is not None
    manifest.sources[path.name] = text
    rng = random.Random(path.name)
    for key, node in tree.entries:
        for _ in range(CHANGES):
            places = [place for place in paths(node) if len(place) > 1]
            node = mutate(node, rng.choice(places), rng)[1]
        entry = decode_entry(key, node, findings)
        if entry is not None:
            manifest.add(entry)


def main() -> None:
    findings = Findings()
    manifest = Manifest(SPEC, adts=load_adts(SPEC, findings))
    for path in sorted(SPEC.glob("*.yaml")):
        if path.stem != "types":
            spoiled(path, findings, manifest)
    for entry in manifest.entries:
        subject = Subject(manifest, entry, findings, Options())
        for rule in RULES:
            if rule.phase is Phase.STATIC:
                rule.run(subject)
    for path in sorted(CASES.glob("*.yaml")):
        for case in read_cases(path):
            findings.items += check_text(case.text).items
    for group in (yaml, signatures, rows):
        for text in group.CASES.values():
            if isinstance(text, str):
                findings.items += check_text(text).items
    print(to_json(findings, {}), to_github(findings), to_sarif(findings, {}))
    print(render(findings, manifest.sources))


if __name__ == "__main__":
    main()
