"""What was derived from a manifest, kept between processes as JSON under the user's cache folder.

In: a key (`files.fingerprint`) and a JSON value. Out: the value again, or None. The cache may be
missing, read-only, damaged or full; then it is as if it were empty, and nobody is told.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import tempfile
from pathlib import Path
from typing import TypeAlias

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None

# Every edit of a manifest leaves a file behind; the newest few serve all checkouts of a user.
_KEEP = 16
_KEY = re.compile(r"[0-9A-Za-z_-]{1,128}")


def cache_folder() -> Path | None:
    """`TILEOPS_CACHE_DIR`, or `tileops` in the user's cache folder; None without a home."""
    if chosen := os.environ.get("TILEOPS_CACHE_DIR"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification has relative paths ignored.
    if os.path.isabs(base):
        return Path(base, "tileops")
    try:
        return Path.home() / ".cache" / "tileops"
    except RuntimeError:
        return None


def read_cache(key: str) -> Json:
    """The value kept under `key`, or None."""
    path = _path(key)
    if path is None:
        return None
    try:
        with path.open("rb") as stream:
            status = os.fstat(stream.fileno())
            # A shared cache folder must not let another user feed this process.
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                return None
            value: Json = json.load(stream)
    except (OSError, ValueError, RecursionError):
        return None
    return value


def write_cache(key: str, value: Json) -> None:
    """Keeps `value` under `key`, if that is possible."""
    path = _path(key)
    if path is None:
        return
    with contextlib.suppress(OSError, ValueError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # mkstemp makes the file with mode 0600; a reader sees the old file or the whole new one.
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump(value, stream, separators=(",", ":"))
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        _prune(path.parent)


def _path(key: str) -> Path | None:
    if not _KEY.fullmatch(key):
        raise ValueError(f"a cache key must match {_KEY.pattern}, got {key!r}")
    folder = cache_folder()
    return None if folder is None else folder / f"manifest-{key}.json"


def _prune(folder: Path) -> None:
    kept = sorted(folder.glob("manifest-*.json"), key=lambda path: path.stat().st_mtime)
    for path in kept[:-_KEEP]:
        path.unlink(missing_ok=True)
