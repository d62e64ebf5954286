"""The two sessions of the suite, and the mark that keeps a process static."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

ROOT = Path(__file__).parent.parent


@triton.jit
def _double(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(x + offsets, 2 * tl.load(x + offsets, mask=mask), mask=mask)


@pytest.mark.interpreter
def test_kernels_run_in_the_interpreter_here() -> None:
    x = torch.arange(11, dtype=torch.float32)
    _double[(2,)](x, 11, BLOCK=8)
    assert x.tolist() == [2.0 * i for i in range(11)]


def test_kernels_are_compiled_elsewhere() -> None:
    assert os.environ.get("TRITON_INTERPRET") != "1"
    assert isinstance(_double, triton.JITFunction)


def test_no_session_reads_the_caches_of_another() -> None:
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TILEOPS_CACHE_DIR"):
        assert "tileops-tests-" in os.environ[name]


@pytest.mark.parametrize(
    ("value", "code", "static"),
    [
        (None, "", False),
        ("0", "", False),
        ("1", "", True),
        (None, "import tileops_cli", False),
        (None, "import tileops_cli; tileops_cli.main(['--version'])", True),
    ],
)
def test_what_makes_a_process_static(value: str | None, code: str, static: bool) -> None:
    env = {key: text for key, text in os.environ.items() if key != "TILEOPS_STATIC"}
    env["PYTHONPATH"] = str(ROOT)
    if value is not None:
        env["TILEOPS_STATIC"] = value
    script = f"{code}\nfrom tileops.static import is_static\nprint(is_static())\n"
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == str(static), done.stderr
