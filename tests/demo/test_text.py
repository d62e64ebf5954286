"""The text of the demo: any bytes are read, and what cannot be read is refused in one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tileops.demo.text import MOST, TextError, fill, read_text


def test_the_text_of_the_package_fills_a_prompt() -> None:
    text = read_text(None)
    assert text.size == len(text.data) > 1024
    assert fill(text.data, 512) == text.data[:512]


@pytest.mark.parametrize(
    "data", [b"\xff\xfe\x00\x80", "\ufeffgr\u00fc\u00dfe".encode("utf-16"), b"\0"]
)
def test_bytes_of_no_encoding_are_bytes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(data)
    assert read_text(path).data == data


def test_a_short_text_starts_again() -> None:
    assert fill(b"abc", 8) == b"abcabcab"
    assert fill(b"abc", 2) == b"ab"


def test_of_a_huge_file_the_beginning_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.write(b"start")
        # A hole: no disk is filled, but who reads it all needs 64 GiB of memory.
        file.truncate(64 << 30)
    text = read_text(path)
    assert text.data[:5] == b"start"
    assert (len(text.data), text.size) == (MOST, 64 << 30)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    with pytest.raises(TextError, match=r"empty' is empty$"):
        read_text(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"cannot be read: No such file or directory$"):
        read_text(tmp_path / "missing")


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(TextError, match=r"cannot be read: "):
        read_text(Path("a\0b"))
    with pytest.raises(TextError, match=r"cannot be read: File name too long$"):
        read_text(Path("x" * 5000))


def test_folders_and_pipes_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"is a folder, not a file$"):
        read_text(tmp_path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(TextError, match=r"is not a regular file$"):
        read_text(pipe)


def test_a_file_without_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret"
    path.write_text("text")

    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    # The superuser may read what permissions forbid, so a chmod would prove nothing there.
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(TextError, match=r"cannot be read: Permission denied$"):
        read_text(path)
