"""What every test session shares: fresh cache folders, the two sessions, golden files.

The environment is set before torch and triton can be imported: both read it then.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# The compile caches on disk outlive a change to a fake or an implementation, so no session may read
# those of another; workers inherit the variables of their parent and need their own folders too.
_CACHES = Path(tempfile.mkdtemp(prefix="tileops-tests-"))
atexit.register(shutil.rmtree, _CACHES, ignore_errors=True)
os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(_CACHES / "inductor")
os.environ["TILEOPS_CACHE_DIR"] = str(_CACHES / "tileops")
# Each worker of the suite is a process already; compile pools below them only take memory.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

#: Files of tests that share the result of one long run: a worker takes such a file as a whole.
WHOLE = {
    "compile_tests/test_package.py",
    "compile_tests/test_validate.py",
    "tests/test_packaging.py",
}
#: Files whose tests share what they work out of an operator, which is their parameter.
BY_OPERATOR = {"compile_tests/test_rejection.py"}

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
GOLDEN = Path(__file__).parent / "tests" / "golden"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps the tests of this session: those for the interpreter, or the others."""
    kept = [item for item in items if _interpreted(item) == INTERPRETED]
    dropped = [item for item in items if _interpreted(item) != INTERPRETED]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept
    for item in items:
        if "golden" in getattr(item, "fixturenames", ()):
            item.add_marker("golden")
    if any(item.get_closest_marker("gpu") for item in items):
        _skip_without_gpu(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hands tests to workers one by one, save those that share something.

    pytest-xdist's own groups change the ids of tests, which pytest 9 does not let it.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

    return Scheduling(config, log)


def scope_of(nodeid: str) -> str:
    """What tests of one worker have in common."""
    file, _, name = nodeid.partition("::")
    if file in WHOLE:
        return file
    return f"{file} {name.partition('[')[2]}" if file in BY_OPERATOR else nodeid


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leaves what was imported and collected out of every later garbage collection."""
    gc.collect()
    gc.freeze()


def _interpreted(item: pytest.Item) -> bool:
    return item.get_closest_marker("interpreter") is not None


def _skip_without_gpu(items: list[pytest.Item]) -> None:
    import torch

    if torch.cuda.is_available():
        return
    skip = pytest.mark.skip(reason="needs a CUDA device")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(skip)


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compares a text with `tests/golden/<name>`; `make accept` rewrites the file instead."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("TILEOPS_ACCEPT") == "1":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} does not exist; `make accept` writes it"
        assert text == path.read_text(encoding="utf-8"), f"{path} differs; see `make accept`"

    return compare
