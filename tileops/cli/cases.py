"""`tileops cases`: every call that the workload rows of a manifest denote, without torch.

A failing entry or row is named on stderr and the others are still listed, so that a manifest in
work can be read; the status then says that there are findings.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections import Counter
from collections.abc import Iterator

from tileops.cli.errors import FINDINGS, OK, unknown
from tileops.cli.manifest_option import (
    add_import_option,
    add_spec_option,
    chosen_folder,
    may_import,
)
from tileops.cli.output import shows_color, table, write
from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings
from tileops.diagnostics.text import render
from tileops.manifest.entry import Entry
from tileops.manifest.load import Manifest, load_manifest
from tileops.manifest.roofline import Cost, CostFunction, RooflineError
from tileops.manifest.signature.check import check_entry
from tileops.manifest.signature.plan import build_plan
from tileops.manifest.workload.case import CaseFails, Instance
from tileops.manifest.workload.check import cases
from tileops.manifest.workload.instantiate import instantiate
from tileops.manifest.workload.text import HEADER, cost_of, record, summary


def configure(parser: argparse.ArgumentParser) -> None:
    add_spec_option(parser)
    add_import_option(parser)
    parser.add_argument("--op", metavar="NAME", help="only the cases of this entry")
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="json: one line for each case"
    )


def run(args: argparse.Namespace) -> int:
    manifest = load_manifest(chosen_folder(args.spec))
    # A name that two entries have stands for neither, as at import.
    count = Counter(entry.op for entry in manifest.entries)
    entries = [entry for entry in manifest.entries if count[entry.op] == 1]
    if args.op is not None:
        entries = [entry for entry in entries if entry.op == args.op]
        if not entries and not count[args.op]:
            raise unknown("op", args.op, [entry.op for entry in manifest.entries])
    resolve = _Resolver(may_import(args))
    rows: list[tuple[str, ...]] = []
    for entry in entries:
        for instance in _instances(entry, manifest):
            resolve.implemented = entry.status is not None and entry.status.text == "implemented"
            cost = _cost(instance, resolve, manifest.findings)
            if args.format == "json":
                write(json.dumps(record(instance, cost)) + "\n")
            else:
                rows.append(summary(instance, cost))
    if args.format == "text":
        write(table(HEADER, rows))
    sys.stderr.write(render(manifest.findings, manifest.sources, shows_color(sys.stderr)))
    return FINDINGS if manifest.findings.errors else OK


def _instances(entry: Entry, manifest: Manifest) -> Iterator[Instance]:
    findings = manifest.findings
    signature = check_entry(entry, manifest.adts, findings)
    plan = None if signature is None else build_plan(signature, findings)
    if signature is None or plan is None:
        return
    for case in cases(signature, plan, findings):
        try:
            yield instantiate(case)
        except CaseFails as error:
            findings.add(codes.ROW_FAILS, case.decl.span, f"case {case.id}: {error}", op=entry.op)


def _cost(instance: Instance, resolve: _Resolver, findings: Findings) -> Cost | None:
    """What a case costs; a cost model that fails is a finding, and the case is listed without."""
    case = instance.case
    try:
        return cost_of(instance, resolve)
    except (CaseFails, RooflineError) as error:
        message = f"case {case.id}: {error}"
        findings.add(codes.BAD_FORMULA, case.decl.span, message, op=case.signature.op)
        return None


class _Resolver:
    """Imports the functions that rooflines name; what cannot be imported is not there.

    Only the functions of implemented entries are asked for: other entries may have no code. And
    only a manifest that is trusted is asked: a path of a stranger's is data.
    """

    def __init__(self, trusted: bool) -> None:
        self.trusted = trusted
        self.implemented = False
        self.found: dict[str, CostFunction | None] = {}

    def __call__(self, path: str) -> CostFunction | None:
        if not self.trusted or not self.implemented:
            return None
        if path not in self.found:
            module, _, name = path.rpartition(".")
            try:
                function = getattr(importlib.import_module(module), name, None)
            except Exception:
                # Whatever keeps a module of someone's code from being imported is not ours to say.
                function = None
            self.found[path] = function if callable(function) else None
        return self.found[path]
