"""What is derived from one entry, for the views of `tileops show`.

In: where the entry stands. Out: its signature, plan and operator; an entry with errors has none of
them, and those errors go to standard error.
"""

from __future__ import annotations

import sys

from tileops.cli.errors import FINDINGS, CommandError
from tileops.cli.output import shows_color
from tileops.codegen.generate import generate
from tileops.codegen.model import Operator
from tileops.codegen.schema_types import Unschematic
from tileops.diagnostics.model import Findings
from tileops.diagnostics.text import render
from tileops.manifest.load import Manifest, load_manifest
from tileops.manifest.outline import OutlineEntry
from tileops.manifest.signature.check import check_entry
from tileops.manifest.signature.model import Signature
from tileops.manifest.signature.plan import build_plan
from tileops.manifest.signature.steps import Plan


def planned(place: OutlineEntry) -> tuple[Signature, Plan]:
    """The checked signature of an entry, and its plan."""
    manifest = load_manifest(place.path.parent)
    entry = manifest.entry(place.op)
    findings = Findings()
    signature = None if entry is None else check_entry(entry, manifest.adts, findings)
    plan = None if signature is None else build_plan(signature, findings)
    if signature is None or plan is None:
        raise _refusal(place, manifest, findings)
    return signature, plan


def operator(place: OutlineEntry) -> Operator:
    """The operator of an entry."""
    try:
        return generate(*planned(place))
    except Unschematic as error:
        raise CommandError(f"{place.op} has no operator: {error}", FINDINGS) from None


def _refusal(place: OutlineEntry, manifest: Manifest, findings: Findings) -> CommandError:
    findings.items += [item for item in manifest.findings.items if item.op == place.op]
    sys.stderr.write(render(findings, manifest.sources, shows_color(sys.stderr)))
    return CommandError(f"{place.op} has errors, so nothing is derived from it", FINDINGS)
