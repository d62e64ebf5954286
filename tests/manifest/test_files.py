"""Where manifests are, their fingerprint, and the cache of what was derived from them."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from tileops.diagnostics.model import Findings
from tileops.manifest import cache, files
from tileops.manifest import fingerprint as fingerprint_module
from tileops.manifest.cache import cache_folder, read_cache, write_cache
from tileops.manifest.files import ManifestFile, family_files
from tileops.manifest.fingerprint import fingerprint, spec_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("norm.yaml", "gemm_big.yaml", "types.yaml", "README.md", ".hidden.yaml"):
        (tmp_path / name).write_text("a: 1\n")
    return tmp_path


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEOPS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_family_files_are_sorted_and_exclude_the_types(folder: Path) -> None:
    findings = Findings()
    found = family_files(folder, findings)
    assert [file.stem for file in found] == ["gemm_big", "norm"]
    assert not len(findings)


@pytest.mark.parametrize(
    "name", ["Norm.yaml", "norm.yml", "a-b.yaml", "_a.yaml", "a__b.yaml", "1.yaml"]
)
@pytest.mark.rule("ENT-6")
def test_file_names_that_give_no_family(folder: Path, name: str) -> None:
    (folder / name).write_text("a: 1\n")
    findings = Findings()
    assert len(family_files(folder, findings)) == 2
    assert [item.code.id for item in findings] == ["TO111"]


def test_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    findings = Findings()
    assert family_files(tmp_path / "gone", findings) == ()
    assert [item.code.id for item in findings] == ["TO109"]


@pytest.mark.parametrize(
    ("family", "admitted"),
    [("a_b", True), ("a", True), ("a_b_c", False), ("a_", False), ("b", False), ("", False)],
)
@pytest.mark.rule("ENT-6")
def test_a_file_admits_its_family(family: str, admitted: bool) -> None:
    assert ManifestFile("a_b", Path("a_b.yaml")).admits(family) is admitted


def test_the_shipped_folder_is_that_of_the_checkout() -> None:
    root = Path(files.__file__).parents[2]
    if (root / "pyproject.toml").exists():
        assert spec_folder() == root / "manifest" / "spec"


def test_fingerprint_follows_content_names_version_and_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = [fingerprint(folder)]
    assert fingerprint(folder) == seen[0]
    (folder / "norm.yaml").write_text("a: 2\n")
    seen.append(fingerprint(folder))
    (folder / "norm.yaml").rename(folder / "norm_x.yaml")
    seen.append(fingerprint(folder))
    (folder / "types.yaml").write_text("b: 1\n")
    seen.append(fingerprint(folder))
    monkeypatch.setattr(fingerprint_module, "__version__", "9")
    seen.append(fingerprint(folder))
    monkeypatch.setattr(fingerprint_module, "_stamp", lambda path: "other")
    seen.append(fingerprint(folder))
    assert len(set(seen)) == len(seen)


def test_fingerprint_of_odd_folders(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "dangling.yaml").symlink_to("nowhere")
    assert len(fingerprint(tmp_path)) == len(fingerprint(tmp_path / "gone")) == 64


def test_the_cache_gives_back_what_it_was_given(cached: Path) -> None:
    assert read_cache("k") is None
    write_cache("k", {"a": [1, None, "é"]})
    assert read_cache("k") == {"a": [1, None, "é"]}
    (path,) = cached.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    json.loads(path.read_text())


def test_the_cache_keeps_the_newest(cached: Path) -> None:
    for i in range(40):
        write_cache(f"k{i}", i)
        path = cached / f"manifest-k{i}.json"
        os.utime(path, (i, i))
    assert len(list(cached.iterdir())) == cache._KEEP
    assert read_cache("k39") == 39
    assert read_cache("k0") is None


@pytest.mark.parametrize("data", [b"", b"\xff", b"{", b"[" * 200_000])
def test_a_damaged_cache_is_empty(cached: Path, data: bytes) -> None:
    write_cache("k", 1)
    (cached / "manifest-k.json").write_bytes(data)
    assert read_cache("k") is None


def test_a_cache_that_cannot_be_written_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEOPS_CACHE_DIR", str(tmp_path / "file" / "below"))
    write_cache("k", 1)
    assert read_cache("k") is None


def test_the_file_of_another_user_is_not_read(
    cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_cache("k", 1)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert read_cache("k") is None


def test_what_json_cannot_hold_leaves_no_file(cached: Path) -> None:
    with pytest.raises(TypeError):
        write_cache("k", object())  # type: ignore[arg-type]
    assert list(cached.iterdir()) == []


def test_a_key_is_no_path(cached: Path) -> None:
    with pytest.raises(ValueError, match="cache key"):
        read_cache("../k")


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TILEOPS_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "tileops"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "tileops"
