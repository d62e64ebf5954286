"""Where the YAML is, which family a file belongs to, and what its content is known by.

In: a folder, or nothing for the manifest that ships. Out: its files in order, and a fingerprint
under which what was derived from them can be kept (`cache`).
"""

from __future__ import annotations

import hashlib
import re
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from tileops._version import __version__
from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings, Span
from tileops.manifest.source import MAX_BYTES

TYPES_FILE = "types.yaml"
_STEM = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_PACKAGE = Path(__file__).parent.parent


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


def spec_folder() -> Path:
    """The folder of the manifest that ships: in the package, or at the root of a checkout."""
    installed = Path(__file__).parent / "spec"
    # The packaged folder goes first: beside an installed package, `manifest` is somebody else's.
    return installed if installed.is_dir() else _PACKAGE.parent / "manifest" / "spec"


def family_files(folder: Path, findings: Findings) -> tuple[ManifestFile, ...]:
    """The files of entries in `folder`, by name; `types.yaml` is none of them."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        reason = error.strerror or type(error).__name__
        message = f"The manifest folder cannot be read: {reason}."
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
            "The name of a manifest file must be <family>.yaml or <family>_<shard>.yaml "
            f"in lower case, got {name!r}."
        )
        findings.add(codes.BAD_FILE_NAME, Span(display_name(path), 1, 1), message)
    return tuple(files)


def display_name(path: Path) -> str:
    """How messages name a file: relative to the working folder where it lies in it."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def fingerprint(folder: Path) -> str:
    """A digest that changes with the YAML in `folder` and with the code that reads it."""
    digest = hashlib.sha256()
    _feed(digest, f"{__version__} {sys.version_info[:2]}".encode())
    for stratum in ("diagnostics", "manifest", "codegen"):
        # A checkout changes between releases: the version alone would keep what older code derived.
        for path in sorted((_PACKAGE / stratum).rglob("*.py")):
            _feed(digest, f"{path.relative_to(_PACKAGE)} {_stamp(path)}".encode())
    try:
        names = sorted(path.name for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))
    except OSError:
        names = []
    for name in names:
        _feed(digest, name.encode("utf-8", "surrogateescape"))
        _feed(digest, _content(folder / name))
    return digest.hexdigest()


def _feed(digest: hashlib._Hash, data: bytes) -> None:
    digest.update(len(data).to_bytes(8, "little"))
    digest.update(data)


def _stamp(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return "gone"
    return f"{status.st_size} {status.st_mtime_ns}"


def _content(path: Path) -> bytes:
    """The bytes of a file as far as `source` would read them; what it refuses has none."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return b""
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError:
        return b""
