"""Where the YAML is, which family a file belongs to, and what its content is known by.

In: a folder, or nothing for the manifest that ships. Out: its files in order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings, Span

TYPES_FILE = "types.yaml"
_STEM = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


@dataclass(frozen=True, slots=True, order=True)
class ManifestFile:
    """One file of entries; `stem` is its name without `.yaml`.

    `a_b.yaml` holds the family `a_b` or the shard `b` of the family `a`; its entries say which.
    """

    stem: str
    path: Path

    def admits(self, family: str) -> bool:
        """Whether an entry of `family` may stand in this file."""
        return self.stem == family or (bool(family) and self.stem.startswith(family + "_"))


def family_files(folder: Path, findings: Findings) -> tuple[ManifestFile, ...]:
    """The files of entries in `folder`, by name; `types.yaml` is none of them."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        reason = error.strerror or type(error).__name__
        message = f"the manifest folder must be readable, got: {reason}"
        findings.add(codes.UNREADABLE_FILE, Span(str(folder), 1, 1), message)
        return ()
    files = []
    for name in names:
        path = folder / name
        if name.startswith(".") or path.suffix not in (".yaml", ".yml") or name == TYPES_FILE:
            continue
        if path.suffix == ".yaml" and _STEM.fullmatch(path.stem):
            files.append(ManifestFile(path.stem, path))
            continue
        message = (
            "the name of a manifest file must be <family>.yaml or <family>_<shard>.yaml "
            f"in lower case, got {name!r}"
        )
        findings.add(codes.BAD_FILE_NAME, Span(display_name(path), 1, 1), message)
    return tuple(files)


def display_name(path: Path) -> str:
    """How messages name a file: relative to the working folder where it lies in it."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)
