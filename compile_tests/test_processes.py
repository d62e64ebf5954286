"""Fresh interpreters: a family's first call is a compiled one; saved programs run elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compile_tests.programs import export, save
from compile_tests.registry import FIRST_ROWS, IMPLEMENTED, SMALL, parameters

ROOT = Path(__file__).resolve().parent.parent
FAMILIES = tuple(dict.fromkeys(entry.family for entry in IMPLEMENTED))


def fresh(module: str, *arguments: str, caches: Path) -> list[str]:
    """The lines that a module prints when it is run in a process with empty caches."""
    environment = os.environ | {
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
        "TILEOPS_CACHE_DIR": str(caches / "tileops"),
    }
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.split()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    # With empty caches the C++ compiler takes longer than all the rest.
    "backend",
    ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)],
)
def test_the_first_call_of_a_family_is_compiled(family, backend, tmp_path):
    names = [entry.name for entry in IMPLEMENTED if entry.family == family]
    assert fresh("compile_tests.cold_start", backend, family, caches=tmp_path) == names


@pytest.mark.parametrize("family", FAMILIES)
def test_saved_programs_run_in_another_process(family, tmp_path):
    chosen = [row for row in FIRST_ROWS if row.bound.header.family == family]
    folder = tmp_path / "programs"
    folder.mkdir()
    for at, row in enumerate(chosen):
        save(row.tensors("cpu", max_elements=SMALL).call, folder / f"{at:03}")
    assert fresh("compile_tests.programs", str(folder), caches=tmp_path) == [str(len(chosen))]


@pytest.mark.parametrize("row", parameters(FIRST_ROWS, FIRST_ROWS))
def test_an_exported_program_holds_the_node(row):
    call = row.tensors("cpu", max_elements=SMALL).call
    program = export(call)
    for exported in (program, program.run_decompositions({})):
        nodes = [node for node in exported.graph.nodes if node.op == "call_function"]
        # Decompositions wrap an operator that writes: it is then the first argument of its node.
        calls = [n.args[0] if "auto_functionalized" in str(n.target) else n.target for n in nodes]
        assert [target for target in calls if target is call.overload] == [call.overload]
        others = [str(target) for target in calls if target is not call.overload]
        assert [o for o in others if "sym_size" not in o and "getitem" not in o] == []
