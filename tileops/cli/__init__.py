"""The command line: one module per verb, each with `configure` and `run`.

In: arguments. Out: an exit status: 0, 1 for findings, 2 for wrong usage and internal errors. The
module of a verb is imported when that verb is called, and imports torch, if at all, inside `run`.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import NoReturn

from tileops._version import __version__
from tileops.cli.errors import USAGE, CommandError, unknown

__all__ = ["main"]


@dataclass(frozen=True, slots=True)
class Verb:
    name: str
    help: str
    module: str


VERBS = (
    Verb("list", "list the operators that the manifest declares", "list_ops"),
    Verb("show", "show one operator: its entry, and what is derived from it", "show"),
    Verb("cases", "list the calls that the workload rows denote", "cases"),
    Verb("validate", "check a manifest", "validate"),
    Verb("explain", "say what a diagnostic means, with an example mended", "explain"),
    Verb("warmup", "compile kernels for the GPU at hand, ahead of serving", "warmup"),
    Verb("demo", "compile a small model from these operators and compare it with PyTorch", "demo"),
    Verb("doctor", "report versions, devices, caches, and what is registered", "doctor"),
)

# What a shell reports for a process that these signals end.
INTERRUPTED = 130
BROKEN_PIPE = 141


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message}; see `{self.prog} --help`")


def build_parser(chosen: Verb | None) -> argparse.ArgumentParser:
    """The parser of the command, with the options of the chosen verb."""
    parser = _Parser(
        prog="tileops", description="Custom operators for torch.compile, declared once in YAML."
    )
    parser.add_argument("--version", action="version", version=f"tileops {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb in VERBS:
        sub = verbs.add_parser(verb.name, help=verb.help, description=verb.help)
        if verb is chosen:
            module = import_module(f"tileops.cli.{verb.module}")
            module.configure(sub)
            sub.set_defaults(run=module.run)
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
    verbs = {verb.name: verb for verb in VERBS}
    name = arguments[0] if arguments else ""
    if name and not name.startswith("-") and name not in verbs:
        raise unknown("verb", name, verbs)
    try:
        args = build_parser(verbs.get(name)).parse_args(arguments)
    except SystemExit as done:
        # --help and --version have printed what was asked for.
        return int(done.code or 0)
    status: int = args.run(args)
    return status
