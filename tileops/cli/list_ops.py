"""`tileops list`: every entry of a manifest, without torch."""

from __future__ import annotations

import argparse
import json

from tileops.cli.errors import FINDINGS, OK, unknown
from tileops.cli.manifest_option import add_spec_option, read_outline
from tileops.cli.output import table, write

COLUMNS = ("op", "family", "status", "operator")


def configure(parser: argparse.ArgumentParser) -> None:
    add_spec_option(parser)
    parser.add_argument("--family", help="only the entries of this family")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args: argparse.Namespace) -> int:
    entries, errors = read_outline(args.spec)
    if args.family is not None:
        families = {entry.family for entry in entries}
        if args.family not in families:
            raise unknown("family", args.family, families)
        entries = tuple(entry for entry in entries if entry.family == args.family)
    rows = [(entry.op, entry.family, entry.status, entry.operator) for entry in entries]
    if args.format == "json":
        document = {"version": 1, "entries": [dict(zip(COLUMNS, row, strict=True)) for row in rows]}
        write(json.dumps(document, indent=2) + "\n")
    else:
        write(table(COLUMNS, rows))
    return FINDINGS if errors else OK
