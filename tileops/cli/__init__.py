"""The command line: one module per verb, each with NAME, HELP, `configure` and `run`.

In: arguments. Out: an exit status: 0, 1 for findings, 2 for wrong usage and internal errors. Verbs
import torch, if at all, inside `run`.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from tileops._version import __version__
from tileops.cli import cases, doctor, list_ops, show
from tileops.cli.errors import USAGE, CommandError, unknown

__all__ = ["main"]

VERBS = (list_ops, show, cases, doctor)

# What a shell reports for a process that these signals end.
INTERRUPTED = 130
BROKEN_PIPE = 141


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message}; see `{self.prog} --help`")


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tileops", description="Custom operators for torch.compile, declared once in YAML."
    )
    parser.add_argument("--version", action="version", version=f"tileops {__version__}")
    verbs = parser.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)
    for verb in VERBS:
        verb.configure(verbs.add_parser(verb.NAME, help=verb.HELP, description=verb.HELP))
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb; every way it can end is a status, and at most one sentence on stderr."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show a character shows its number.
            stream.reconfigure(errors="backslashreplace")
    try:
        status = _run(arguments)
        sys.stdout.flush()
        return status
    except CommandError as error:
        print(f"tileops: {error}", file=sys.stderr)
        return error.status
    except BrokenPipeError:
        # The reader has gone; without this the interpreter would complain again as it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        print("tileops: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception:
        traceback.print_exc()
        print(
            "tileops: this is an error in tileops itself; please report the lines above together "
            "with what `tileops doctor` prints",
            file=sys.stderr,
        )
        return USAGE


def _run(arguments: list[str]) -> int:
    names = [verb.NAME for verb in VERBS]
    if arguments and not arguments[0].startswith("-") and arguments[0] not in names:
        raise unknown("verb", arguments[0], names)
    try:
        args = build_parser().parse_args(arguments)
    except SystemExit as done:
        # --help and --version have printed what was asked for.
        return int(done.code or 0)
    return {verb.NAME: verb for verb in VERBS}[args.verb].run(args)
