"""`tileops validate`: what is wrong with a manifest, as text, JSON or GitHub annotations.

The checks are `check`'s; here are the options, the choice of entries, the form and the status.
"""

from __future__ import annotations

import argparse
import sys
import time

from tileops.cli.errors import FINDINGS, OK, unknown
from tileops.cli.manifest_option import add_spec_option, chosen_folder
from tileops.cli.output import shows_color, write
from tileops.diagnostics.machine import to_github, to_json
from tileops.diagnostics.model import Diagnostic, Findings
from tileops.diagnostics.text import render
from tileops.manifest.entry import Entry
from tileops.manifest.load import Manifest, load_manifest
from tileops.manifest.signature.check import check_entry
from tileops.manifest.signature.plan import build_plan


def configure(parser: argparse.ArgumentParser) -> None:
    add_spec_option(parser)
    parser.add_argument(
        "--op", action="append", default=[], metavar="NAME", help="only this entry (repeatable)"
    )
    parser.add_argument(
        "--family", action="append", default=[], help="only the entries of this family (repeatable)"
    )
    parser.add_argument("--format", choices=("text", "json", "github"), default="text")
    parser.add_argument(
        "--strict-advisories", action="store_true", help="let advisories change the exit status"
    )


def run(args: argparse.Namespace) -> int:
    start = time.perf_counter()
    manifest = load_manifest(chosen_folder(args.spec))
    entries = _choose(manifest, args.op, args.family)
    check(manifest, entries)
    findings = _of(manifest.findings, entries, args)
    summary: dict[str, int | float] = {
        "entries": len(entries),
        "implemented": sum(_status(entry) == "implemented" for entry in entries),
        "rows": sum(len(entry.workloads) for entry in entries),
        "errors": findings.errors,
        "advisories": len(findings) - findings.errors,
        "seconds": round(time.perf_counter() - start, 3),
    }
    if args.format == "json":
        write(to_json(findings, summary))
    elif args.format == "github":
        write(to_github(findings))
    else:
        write(render(findings, manifest.sources, shows_color(sys.stdout)))
        counts = [f"{value} {name}" for name, value in summary.items()]
        write(", ".join(counts) + "\n")
    failed = findings.errors or (args.strict_advisories and len(findings))
    return FINDINGS if failed else OK


def check(manifest: Manifest, entries: tuple[Entry, ...]) -> None:
    """Every check beyond reading, on `entries`; findings go to those of the manifest."""
    for entry in entries:
        signature = check_entry(entry, manifest.adts, manifest.findings)
        if signature is not None:
            build_plan(signature, manifest.findings)


def _choose(manifest: Manifest, ops: list[str], families: list[str]) -> tuple[Entry, ...]:
    known = {entry.op for entry in manifest.entries}
    for op in ops:
        if op not in known:
            raise unknown("op", op, known)
    of_family = {_family(entry) for entry in manifest.entries}
    for family in families:
        if family not in of_family:
            raise unknown("family", family, of_family)
    return tuple(
        entry
        for entry in manifest.entries
        if (not ops or entry.op in ops) and (not families or _family(entry) in families)
    )


def _of(findings: Findings, entries: tuple[Entry, ...], args: argparse.Namespace) -> Findings:
    """The findings of the chosen entries, and those of no entry: they may hide a chosen one."""
    if not args.op and not args.family:
        return findings
    chosen = {"", *(entry.op for entry in entries)}
    items: list[Diagnostic] = [item for item in findings.items if item.op in chosen]
    return Findings(items)


def _family(entry: Entry) -> str:
    return entry.family.text if entry.family is not None else ""


def _status(entry: Entry) -> str:
    return entry.status.text if entry.status is not None else ""
