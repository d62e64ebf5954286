"""Shipped entries with a field changed give diagnostics or pass, and never raise.

`TILEOPS_PROFILE=long` changes every field of every entry; otherwise a sample that stays the same, and
that `TILEOPS_SEED` and `TILEOPS_SAMPLE` change.
"""

from __future__ import annotations

import os
import random
import traceback

import pytest

from tests.manifest.mutations import mutate, paths
from tests.manifest.textcases import SPEC, adts
from tileops.codegen.generate import generate
from tileops.codegen.schema_types import Unschematic
from tileops.diagnostics.model import Findings
from tileops.manifest.decode import decode_entry
from tileops.manifest.nodes import Node, ScalarNode
from tileops.manifest.signature.check import check_entry
from tileops.manifest.signature.plan import build_plan
from tileops.manifest.source import parse_text
from tileops.manifest.workload.check import check_workloads

LONG = os.environ.get("TILEOPS_PROFILE") == "long"
FILES = sorted(path.stem for path in SPEC.glob("*.yaml") if path.stem != "types")
#: Changes per file in the quick profile.
SAMPLE = int(os.environ.get("TILEOPS_SAMPLE", "25"))


def attempt(key: ScalarNode, node: Node, types: dict[str, object]) -> None:
    findings = Findings()
    entry = decode_entry(key, node, findings)
    if entry is None:
        assert findings.errors
        return
    signature = check_entry(entry, types, findings)  # type: ignore[arg-type]
    if signature is None:
        assert findings.errors
        return
    plan = build_plan(signature, findings)
    if plan is None:
        assert findings.errors
        return
    str(plan)
    check_workloads(signature, plan, findings, contents=False)
    try:
        operator = generate(signature, plan)
    except Unschematic as error:
        assert str(error)
    else:
        compile(operator.source, "generated", "exec")


@pytest.mark.parametrize("stem", FILES)
@pytest.mark.rule("ENT-5")
def test_a_changed_field_is_a_diagnostic_or_passes(stem: str) -> None:
    types = adts()
    tree = parse_text((SPEC / f"{stem}.yaml").read_text("utf-8"), f"{stem}.yaml", Findings())
    assert tree is not None
    rng = random.Random(os.environ.get("TILEOPS_SEED", stem))
    places = [(key, node, path) for key, node in tree.entries for path in paths(node)]
    weights = [1 if _in_rows(node, path) else 12 for _, node, path in places]
    chosen = places if LONG else rng.choices(places, weights, k=SAMPLE)
    failures = []
    for key, node, path in chosen:
        words, changed = mutate(node, path, rng)
        try:
            attempt(key, changed, types)  # type: ignore[arg-type]
        except Exception:
            failures.append(f"{key.value}: {words} at {path}\n{traceback.format_exc(limit=-6)}")
    assert not failures, f"{len(failures)} failures\n" + "\n".join(failures[:10])


def _in_rows(node: Node, path: tuple[int, ...]) -> bool:
    return bool(node.entries[path[0]][0].value == "workloads")  # type: ignore[union-attr]
