"""What is printed does not depend on the order of hashes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def output(command: list[str], seed: str) -> bytes:
    env = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "TILEOPS_STATIC": "1"}
    done = subprocess.run(command, env=env, capture_output=True, cwd=ROOT, timeout=300)
    assert done.returncode in (0, 1), done.stderr.decode()
    return done.stdout


@pytest.mark.rule("VAL-2")
def test_findings_do_not_depend_on_hash_order() -> None:
    command = [sys.executable, "-m", "tests.validator.determinism"]
    first, second = (output(command, seed) for seed in ("1", "4242"))
    assert first.count(b'"code"') > 300
    assert first == second


@pytest.mark.rule("VAL-2")
def test_the_command_says_the_same_on_every_run() -> None:
    for form in ("text", "github", "sarif"):
        command = [sys.executable, "-m", "tileops", "validate", "--static", "--format", form]
        command += ["--family", "norm", "--family", "moe"]
        first, second = (output(command, seed) for seed in ("3", "77"))
        assert first == second
