"""Reads the text whose bytes the model gets.

In: a path, or None for the text that ships with the package. Out: at most `MOST` bytes and a name
to show, or a `TextError` of one sentence. Bytes are bytes: no encoding is asked for.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

__all__ = ["MOST", "Text", "TextError", "fill", "read_text"]

# More than any prompt needs; the rest of a huge file is left where it is.
MOST = 1 << 20


class TextError(Exception):
    """A file that cannot serve as text; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Text:
    """The bytes that were read, of `size` that there are."""

    name: str
    data: bytes
    size: int


def read_text(path: Path | None) -> Text:
    """The first bytes of the file, or of the package's own text."""
    if path is None:
        data = resources.files("tileops.demo").joinpath("text.txt").read_bytes()
        return Text("the text of the package", data[:MOST], len(data))
    try:
        # Asked before opening: opening a pipe waits for its other end.
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise TextError(f"the text {str(path)!r} is a folder, not a file")
        if not stat.S_ISREG(status.st_mode):
            raise TextError(f"the text {str(path)!r} is not a regular file")
        with path.open("rb") as file:
            data = file.read(MOST)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise TextError(f"the text {str(path)!r} cannot be read: {reason or error}") from None
    if not data:
        raise TextError(f"the text {str(path)!r} is empty")
    return Text(str(path), data, max(status.st_size, len(data)))


def fill(data: bytes, length: int) -> bytes:
    """The first `length` bytes of a text that is not empty, which starts again when it is short."""
    return (data * (length // len(data) + 1))[:length]
