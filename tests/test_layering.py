"""Imports point only downwards, and what needs no torch runs without it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.layering import TORCH_FREE, modules, room, violations

ROOT = Path(__file__).parent.parent

# As if neither were installed: nothing finds them, and importing them raises.
BLOCK = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "triton"):
            return None
        return self.finder.find_spec(name, path, target)
    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""


def run(script: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)


def test_imports_point_downwards() -> None:
    assert violations(ROOT) == []


PACKAGE = {
    "__init__.py": "from tileops._version import __version__\n",
    "_version.py": "__version__ = '1'\n",
    "diagnostics/__init__.py": "import json\n",
    "manifest/__init__.py": "import yaml\nfrom tileops.diagnostics import x\n",
    "codegen/__init__.py": "from tileops import manifest\n",
    "validator/__init__.py": "def f():\n    import torch\n    from tileops.runtime import x\n",
    "runtime/__init__.py": "import torch\nfrom tileops.codegen import x\n",
    "tiling/__init__.py": "import triton\n",
    "norm/__init__.py": "from . import reference\nfrom tileops.runtime import x\n",
    "norm/reference.py": "import torch\n",
    "norm/rms.py": "import triton.language as tl\nfrom ..tiling import x\n",
    "gemm/__init__.py": "",
    "cli/__init__.py": "def f():\n    import torch\n",
}


def package(folder: Path, **changes: str) -> Path:
    """A small package that keeps the order, but for `changes`."""
    for name, text in (PACKAGE | changes).items():
        path = folder / "tileops" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_the_control_package_keeps_the_order(tmp_path: Path) -> None:
    assert violations(package(tmp_path)) == []


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("diagnostics/__init__.py", "from tileops.manifest import x\n", "lies above"),
        ("diagnostics/__init__.py", "from tileops import __version__\n", "lies above"),
        ("diagnostics/__init__.py", "import yaml\n", "does without yaml"),
        ("manifest/__init__.py", "from ..codegen import x\n", "lies above"),
        ("manifest/__init__.py", "def f():\n    import torch\n", "free of torch"),
        ("manifest/__init__.py", "def f():\n    from tileops import runtime\n", "lies above"),
        ("codegen/__init__.py", "if True:\n    import torch.nn\n", "free of torch"),
        ("validator/__init__.py", "import tileops.runtime\n", "lies above"),
        ("validator/__init__.py", "import torch\n", "free of torch"),
        ("runtime/__init__.py", "from tileops.norm import x\n", "lies above"),
        ("runtime/__init__.py", "def f():\n    import triton\n", "only for kernel files"),
        ("norm/__init__.py", "import triton\n", "only for kernel files"),
        ("norm/reference.py", "from triton import jit\n", "only for kernel files"),
        ("norm/rms.py", "from tileops.gemm import x\n", "lies beside"),
        ("norm/rms.py", "import numpy\n", "does without numpy"),
        ("cli/__init__.py", "import torch\n", "free of torch"),
        ("__init__.py", "import torch\n", "free of torch"),
    ],
)
def test_the_scan_can_fail(tmp_path: Path, name: str, text: str, fault: str) -> None:
    (found,) = violations(package(tmp_path, **{name: text}))
    assert f"tileops/{name}:" in found and fault in found


IMPORT_EACH = BLOCK + "import importlib\nfor name in sys.argv[1:]: importlib.import_module(name)\n"


def test_the_torch_free_strata_run_without_torch() -> None:
    free = (*TORCH_FREE, "", "cli")
    names = [name for name, _ in modules(ROOT) if room(name) in free]
    assert len(names) > 10
    done = run(IMPORT_EACH, *names)
    assert done.returncode == 0, done.stderr


def test_the_block_can_fail() -> None:
    done = run(IMPORT_EACH, "tileops.runtime.launch")
    assert done.returncode == 1
    assert "No module named 'torch'" in done.stderr


@pytest.mark.parametrize("verb", [["list"], ["doctor"], ["--help"]])
def test_the_command_line_works_without_torch(verb: list[str]) -> None:
    script = BLOCK + "import tileops_cli\nsys.exit(tileops_cli.main())\n"
    done = run(script, *verb)
    assert done.returncode == 0, done.stderr


def test_the_torch_free_verbs_do_not_import_torch() -> None:
    script = "import sys, tileops_cli\ntileops_cli.main()\nassert 'torch' not in sys.modules\n"
    done = run(script, "list")
    assert done.returncode == 0, done.stderr


def test_importing_the_package_leaves_the_compilers_alone() -> None:
    script = (
        "import sys, torch\n"
        "before = set(sys.modules)\n"
        "import tileops\n"
        "heavy = ('triton', 'torch._dynamo', 'torch._inductor', 'sympy')\n"
        "new = [n for n in set(sys.modules) - before if n.startswith(heavy)]\n"
        "assert not new, new\n"
        "assert not torch.cuda.is_initialized()\n"
    )
    done = run(script)
    assert done.returncode == 0, done.stderr


def test_a_process_may_fork_after_the_import() -> None:
    script = (
        "import os, tileops\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    done = run(script)
    assert done.returncode == 0, done.stderr
