"""Where the manifest that ships is, and what the content of a folder is known by.

In: a folder. Out: a fingerprint under which what was derived from the folder can be kept (`cache`).
Importing this module loads no YAML: a process whose cache is warm reads none.
"""

from __future__ import annotations

import hashlib
import stat
import sys
from pathlib import Path

from tileops._version import __version__

#: A manifest file has at most this many bytes.
MAX_BYTES = 4 * 2**20

_PACKAGE = Path(__file__).parent.parent


def spec_folder() -> Path:
    """The folder of the manifest that ships: in the package, or at the root of a checkout."""
    installed = Path(__file__).parent / "spec"
    # The packaged folder goes first: beside an installed package, `manifest` is somebody else's.
    return installed if installed.is_dir() else _PACKAGE.parent / "manifest" / "spec"


def fingerprint(folder: Path) -> str:
    """A digest that changes with the YAML in `folder` and with the code that reads it."""
    digest = hashlib.sha256()
    _feed(digest, f"{__version__} {sys.version_info[:2]}".encode())
    for stratum in ("diagnostics", "manifest", "codegen"):
        # A checkout changes between releases: the version alone would keep what older code derived.
        for path in sorted((_PACKAGE / stratum).rglob("*.py")):
            _feed(digest, f"{path.relative_to(_PACKAGE)} {_stamp(path)}".encode())
    _feed(digest, content_fingerprint(folder).encode())
    return digest.hexdigest()


def content_fingerprint(folder: Path) -> str:
    """A digest of the YAML in `folder` and of nothing else, the same on every machine."""
    digest = hashlib.sha256()
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
