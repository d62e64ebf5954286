"""More than one process, and more than one copy of the package in a process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(script: str, *paths: Path, **environment: str) -> str:
    """What a script prints in an interpreter of its own."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths or (ROOT,)))} | environment
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env=env, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_forked_children_call_operators_new_and_used() -> None:
    script = """
        import os, torch, tileops
        from tileops.norm import RMSNormFwdOp
        torch.set_num_threads(1)
        x = torch.randn(3, 8)
        expected = RMSNormFwdOp((8,))(x)
        for op, wanted in [(RMSNormFwdOp((8,)), expected),
                           (torch.ops.tileops.elementwise_relu_fwd, x.clamp(min=0))]:
            child = os.fork()
            if child == 0:
                os._exit(0 if torch.equal(op(x), wanted) else 1)
            assert os.waitpid(child, 0)[1] == 0
        print("right")
    """
    assert run(script) == "right\n"


def test_spawned_workers_get_operators_and_results_by_pickle(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        textwrap.dedent(
            """
            import torch
            from concurrent.futures import ProcessPoolExecutor
            from multiprocessing import get_context
            from tileops.norm import RMSNormFwdOp

            def work(op, x):
                return op(x).tolist()

            if __name__ == "__main__":
                op, x = RMSNormFwdOp((8,), eps=1e-3), torch.randn(3, 8)
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                    assert pool.submit(work, op, x).result() == op(x).tolist()
                print("right")
            """
        )
    )
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.stdout == "right\n", done.stderr


def test_a_reload_changes_nothing() -> None:
    script = """
        import importlib, torch, tileops
        x = torch.randn(3, 8)
        before = torch.ops.tileops.norm_rms_norm_fwd(x, normalized_shape=[8])
        count = len(tileops.registry.entries)
        importlib.reload(tileops)
        assert len(tileops.registry.entries) == count and not tileops.registry.skipped
        assert torch.equal(torch.ops.tileops.norm_rms_norm_fwd(x, normalized_shape=[8]), before)
        print("right")
    """
    assert run(script) == "right\n"


IMPORT_TWICE = """
    import sys, torch
    sys.path[:0] = [{first!r}]
    import tileops
    x = torch.randn(3, 8)
    {between}
    for name in [n for n in sys.modules if n.partition(".")[0] == "tileops"]:
        del sys.modules[name]
    sys.path[:1] = [{second!r}]
    import tileops
    from tileops.norm import RMSNormFwdOp
    assert tileops.__file__.startswith({second!r}), tileops.__file__
    {after}
"""


def copied(folder: Path) -> Path:
    """A copy of the package and its manifest."""
    for name in ("tileops", "manifest"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_of_two_copies_the_one_imported_last_serves(tmp_path: Path) -> None:
    other = copied(tmp_path)
    path = other / "tileops" / "norm" / "reference.py"
    path.write_text(path.read_text().replace("def rms_norm(", "def rms_norm(*a, **k):\n"
                    "    return 3 + _rms_norm(*a, **k)\n\n\ndef _rms_norm(", 1))  # fmt: skip
    script = IMPORT_TWICE.format(
        first=str(ROOT),
        second=str(other),
        between="before = torch.ops.tileops.norm_rms_norm_fwd(x, normalized_shape=[8])",
        after="""
    assert not tileops.registry.skipped, tileops.registry.skipped
    for call in (RMSNormFwdOp((8,)), torch.compile(RMSNormFwdOp((8,)), backend="aot_eager"),
                 lambda x: torch.ops.tileops.norm_rms_norm_fwd(x, normalized_shape=[8])):
        torch.testing.assert_close(call(x), before + 3)
    print("right")
    """,
    )
    assert run(script, tmp_path / "empty") == "right\n"


def test_a_copy_with_another_schema_says_where_the_first_one_is(tmp_path: Path) -> None:
    other = copied(tmp_path)
    path = other / "manifest" / "spec" / "norm.yaml"
    text = path.read_text()
    start = text.index("RMSNormFwdOp:")
    path.write_text(text[:start] + text[start:].replace("default: null", "default: 0.5", 1))
    script = IMPORT_TWICE.format(
        first=str(ROOT),
        second=str(other),
        between="",
        after="""
    (skipped,) = [item for item in tileops.registry.skipped]
    print(skipped.name, skipped.reason)
    """,
    )
    printed = run(script, tmp_path / "empty")
    assert printed.startswith("RMSNormFwdOp tileops::norm_rms_norm_fwd is already registered from ")
    assert str(ROOT / "tileops") in printed and "eps=0.5" in printed
