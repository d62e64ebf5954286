"""What docs/own-manifest.md tells the reader to do, done with the text of the page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "own-manifest.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page."""
    folder = tmp_path_factory.mktemp("own")
    for name, text in re.findall(r"```(?:yaml|python)\n# (\S+)\n(.*?)```", PAGE, flags=re.DOTALL):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def run(folder: Path, *arguments: str) -> str:
    paths = os.pathsep.join([str(folder), str(ROOT)])
    result = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_every_file_that_the_page_draws_is_on_it(package: Path) -> None:
    files = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    assert files == {
        "mylib/__init__.py",
        "mylib/reference.py",
        "mylib/spec/train.yaml",
        "use.py",
        "check.py",
    }


def test_the_commands_accept_the_manifest(package: Path) -> None:
    console, _ = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
    commands = [line.removeprefix("$ tileops ").split() for line in console.splitlines()]
    outputs = [run(package, "-m", "tileops", *command) for command in commands]
    assert [command[0] for command in commands] == ["validate", "show", "cases"]
    assert "0 errors" in outputs[0] and "train_squared_relu_fwd.out(" in outputs[1]
    assert "MovingAverageFwdOp" in outputs[2]


def test_the_package_passes_the_compile_checks(package: Path) -> None:
    console = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)[-1]
    (command,) = [line.removeprefix("$ tileops ").split() for line in console.splitlines()]
    assert "--compile" in command
    assert ", 0 errors, 0 advisories, 0 unchecked" in run(package, "-m", "tileops", *command)


def test_the_model_prints_what_the_page_says(package: Path) -> None:
    (expected,) = re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)
    assert run(package, "use.py") == expected


def test_the_checks_pass(package: Path) -> None:
    assert run(package, "check.py").splitlines() == [
        "SquaredReLUFwdOp passed",
        "MovingAverageFwdOp passed",
    ]
