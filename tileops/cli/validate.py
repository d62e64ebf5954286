"""`tileops validate`: what is wrong with a manifest, as text, JSON, GitHub annotations or SARIF.

The checks are `tileops.validator`'s; here are the options, the choice of entries and the form.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from tileops.cli.errors import FINDINGS, OK, CommandError, unknown
from tileops.cli.manifest_option import (
    add_import_option,
    add_spec_option,
    chosen_folder,
    may_import,
)
from tileops.cli.output import progress, shows_color, write
from tileops.diagnostics.machine import to_github, to_json, to_sarif
from tileops.diagnostics.model import Findings
from tileops.diagnostics.text import render
from tileops.manifest.entry import Entry
from tileops.manifest.outline import outline
from tileops.validator.compiled import CHECKS
from tileops.validator.model import Options
from tileops.validator.rules import RULES
from tileops.validator.runner import Report, validate


def configure(parser: argparse.ArgumentParser) -> None:
    add_spec_option(parser)
    parser.add_argument(
        "--op", action="append", default=[], metavar="NAME", help="only this entry (repeatable)"
    )
    parser.add_argument(
        "--family", action="append", default=[], help="only the entries of this family (repeatable)"
    )
    parser.add_argument("--format", choices=("text", "json", "github", "sarif"), default="text")
    code = parser.add_mutually_exclusive_group()
    code.add_argument(
        "--static",
        action="store_true",
        help="import no operator code (the default for a folder that is not the shipped one)",
    )
    add_import_option(code)
    parser.add_argument(
        "--package",
        default="",
        metavar="NAME",
        help="the package that holds the classes of --spec, which is imported"
        " (default: tileops.<family>)",
    )
    parser.add_argument(
        "--compile",
        action="store_true",
        help="compile every implemented entry too, in processes of their own",
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=300.0,
        metavar="SECONDS",
        help="what one check of --compile may take (default: 300)",
    )
    parser.add_argument(
        "--jobs", type=_jobs, default=1, metavar="N", help="share the entries out to N processes"
    )
    parser.add_argument(
        "--nightly", action="store_true", help="every reference API must be installed and resolve"
    )
    parser.add_argument(
        "--strict-advisories", action="store_true", help="let advisories change the exit status"
    )
    parser.add_argument("--list-rules", action="store_true", help="print the checks and stop")


def run(args: argparse.Namespace) -> int:
    if args.list_rules:
        for rule in RULES:
            write(f"{rule.name:16}{rule.phase.value:8}{rule.title}\n")
        for name, title in CHECKS.items():
            write(f"{name:16}{'compile':8}{title}\n")
        return OK
    folder = chosen_folder(args.spec)
    _check_names(args)
    if args.package and (args.static or args.spec is None):
        raise CommandError("--package must go with --spec, and not with --static")
    if args.package and str(Path.cwd()) not in sys.path and "" not in sys.path:
        # The script that installers make leaves the working folder out.
        sys.path.insert(0, str(Path.cwd()))
    static = args.static or not (may_import(args) or args.package)
    if args.compile and static:
        raise CommandError("--compile must import operator code, which a static run does not")
    # What imported code prints must not stand in the report.
    with contextlib.redirect_stdout(sys.stderr):
        report = validate(
            folder,
            select=lambda entry: _chosen(entry, args),
            static=static,
            options=Options(args.nightly, args.compile, args.timeout, args.package),
            jobs=args.jobs,
            progress=progress("validate", "entries"),
        )
    write(_form(report, args.format))
    advisories = len(report.findings) - report.findings.errors
    failed = report.findings.errors or (args.strict_advisories and advisories)
    return FINDINGS if failed else OK


def _form(report: Report, form: str) -> str:
    if form == "json":
        return to_json(report.findings, report.summary)
    if form == "github":
        return to_github(report.findings)
    if form == "sarif":
        return to_sarif(report.findings, report.counts)
    text = render(report.findings, report.manifest.sources, shows_color(sys.stdout))
    counts = ", ".join(f"{value} {name}" for name, value in report.counts.items())
    return f"{text}{counts}\n"


def _jobs(text: str) -> int:
    number = int(text)
    if number < 1:
        raise CommandError(f"--jobs must be at least 1, got {number}")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise CommandError(f"--timeout must be above 0, got {text}")
    return number


def _chosen(entry: Entry, args: argparse.Namespace) -> bool:
    family = "" if entry.family is None else entry.family.text
    return (not args.op or entry.op in args.op) and (not args.family or family in args.family)


def _check_names(args: argparse.Namespace) -> None:
    if not args.op and not args.family:
        return
    entries = outline(chosen_folder(args.spec), Findings())
    ops, families = {entry.op for entry in entries}, {entry.family for entry in entries}
    for op in args.op:
        if op not in ops:
            raise unknown("op", op, ops)
    for family in args.family:
        if family not in families:
            raise unknown("family", family, families)
