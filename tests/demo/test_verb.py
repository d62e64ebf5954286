"""`tileops demo` as a command: its options, its refusals, a machine without a C++ compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tileops.demo.run
from tileops.cli import main
from tileops.demo.choose import cpp_compiler
from tileops.demo.run import Settings
from tileops.demo.text import Text

ROOT = Path(__file__).parents[2]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Settings, Text]]:
    """Settings and text of each run; the runs themselves find nothing wrong."""
    seen: list[tuple[Settings, Text]] = []

    def run(settings: Settings, text: Text, write: Callable[[str], None]) -> list[str]:
        seen.append((settings, text))
        write("ran\n")
        return []

    monkeypatch.setattr(tileops.demo.run, "run_demo", run)
    return seen


def without_compiler(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CXX", raising=False)


def test_the_options_arrive(calls: list[tuple[Settings, Text]], tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"\xffabc")
    arguments = ["--prompt", "40", "--tokens", "3", "--device", "cpu", "--backend", "aot_eager"]
    assert main(["demo", "--text", str(path), *arguments]) == 0
    ((settings, text),) = calls
    assert (settings.prompt, settings.tokens, settings.backend) == (40, 3, "aot_eager")
    assert text.data == b"\xffabc"


def test_the_defaults(calls: list[tuple[Settings, Text]]) -> None:
    assert main(["demo"]) == 0
    ((settings, _),) = calls
    assert (settings.prompt, settings.tokens) == (512, 64)
    config = settings.config
    assert (config.layers, config.width, config.query_heads, config.key_heads) == (4, 512, 8, 2)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--text", "/missing/file"], "cannot be read: No such file or directory"),
        (["--text", "/"], "is a folder, not a file"),
        (["--text", "/dev/zero"], "is not a regular file"),
        (["--tokens", "0"], "must be a number from 2 to 65536, got '0'"),
        (["--prompt", "many"], "must be a number from 2 to 65536, got 'many'"),
        (["--backend", "cudagraphs"], "invalid choice: 'cudagraphs'"),
    ],
)
def test_bad_input_is_one_sentence(
    calls: list[tuple[Settings, Text]],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
) -> None:
    assert main(["demo", *arguments]) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1 and not calls


def test_without_a_cpp_compiler_it_says_so(
    calls: list[tuple[Settings, Text]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    without_compiler(monkeypatch, tmp_path)
    assert main(["demo"]) == 0
    assert calls[0][0].backend == "aot_eager"
    assert "no C++ compiler was found: compiling with aot_eager" in capsys.readouterr().out
    assert main(["demo", "--backend", "inductor"]) == 2
    assert "needs a C++ compiler, and none was found" in capsys.readouterr().err


def test_a_compiler_that_does_not_run_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without_compiler(monkeypatch, tmp_path)
    assert cpp_compiler() is None
    broken = tmp_path / "g++"
    broken.write_text("#!/missing/interpreter\n")
    broken.chmod(0o755)
    assert cpp_compiler() is None
    works = tmp_path / "clang++"
    works.write_text("#!/bin/sh\nexit 0\n")
    works.chmod(0o755)
    assert cpp_compiler() == str(works)


def test_problems_are_the_status_and_sentences(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tileops.demo.run, "run_demo", lambda *args: ["one", "two\x1b"])
    assert main(["demo", "--backend", "aot_eager"]) == 1
    assert capsys.readouterr().err == "tileops: one\ntileops: two\\x1b\n"


def test_help_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--help"]) == 0
    text = capsys.readouterr().out
    assert "Llama-style decoder" in text and "--text FILE" in text and "exit status" in text


def test_the_console_script_registers_the_operators() -> None:
    # Its process is static: nothing of torch is imported before the verb asks for it.
    code = "import sys, tileops_cli; sys.exit(tileops_cli.main())"
    arguments = ["demo", "--prompt", "24", "--tokens", "2", "--backend", "aot_eager"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "2 tokens equal" in done.stdout
