"""`tileops explain CODE`: what a diagnostic means, why it is one, and an example mended.

Without a code, the table of all codes.
"""

from __future__ import annotations

import argparse

from tileops.cli.errors import OK, unknown
from tileops.cli.output import table, write
from tileops.diagnostics.codes import CODES
from tileops.diagnostics.explain import explain, find_code


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "code", metavar="CODE", nargs="?", help="as TO301 or unsolved-index; all of them without"
    )


def run(args: argparse.Namespace) -> int:
    if args.code is None:
        rows = [(code.id, code.name, code.severity.value, code.summary) for code in CODES]
        write(table(("code", "name", "severity", "meaning"), rows))
        return OK
    code = find_code(args.code)
    if code is None:
        known = {code.id: code.id for code in CODES} | {code.name: code.name for code in CODES}
        raise unknown("code", args.code, known)
    write(str(explain(code)))
    return OK
