"""The manifest that a verb works on: the option `--spec`, and looking entries up in it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tileops.cli.errors import CommandError, unknown
from tileops.cli.output import shows_color
from tileops.diagnostics.model import Findings
from tileops.diagnostics.text import render
from tileops.manifest.files import TYPES_FILE, family_files
from tileops.manifest.fingerprint import spec_folder
from tileops.manifest.outline import OutlineEntry, outline


def add_spec_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--spec",
        type=Path,
        metavar="DIR",
        help="folder of manifest files (default: the manifest that ships)",
    )


def add_import_option(parser: argparse._ActionsContainer) -> None:
    """What names code in a manifest is data, until the caller says that it may be imported."""
    parser.add_argument(
        "--import",
        dest="imports",
        action="store_true",
        help="import the code that the manifest of --spec names: its classes, functions and types",
    )


def may_import(args: argparse.Namespace) -> bool:
    """Whether the code that the manifest names may be imported: ours, or what the caller trusts."""
    if args.spec is None or args.imports:
        return True
    chosen: Path = args.spec
    return chosen.is_dir() and chosen.samefile(spec_folder())


def chosen_folder(spec: Path | None) -> Path:
    """The folder that `--spec` names, which holds a file of entries or what was meant to be one.

    A folder without any is a wrong path rather than a manifest without faults.
    """
    folder = spec_folder() if spec is None else spec
    if not folder.is_dir():
        raise CommandError(f"there is no manifest folder {str(folder)!r}")
    findings = Findings()
    if not family_files(folder, findings) and not len(findings):
        beside = f" beside {TYPES_FILE}" if (folder / TYPES_FILE).exists() else ""
        raise CommandError(
            f"there is no manifest in {str(folder)!r}: it must hold a file <family>.yaml{beside}"
        )
    return folder


def read_outline(spec: Path | None) -> tuple[tuple[OutlineEntry, ...], int]:
    """The entries, and how many errors kept others from being read; those go to stderr."""
    findings = Findings()
    entries = outline(chosen_folder(spec), findings)
    sys.stderr.write(render(findings, {}, shows_color(sys.stderr)))
    return entries, findings.errors


def find_entry(entries: tuple[OutlineEntry, ...], name: str) -> OutlineEntry:
    """The entry that has `name` as its key or as the name of its operator."""
    bare = name.removeprefix("torch.ops.").removeprefix("tileops.").removeprefix("tileops::")
    for entry in entries:
        if bare in (entry.op, entry.operator):
            return entry
    raise unknown("op", name, [entry.op for entry in entries])
