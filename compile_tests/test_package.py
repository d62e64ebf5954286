"""`tileops validate --spec DIR --package NAME --compile`: a manifest of one's own with its classes.

The package of this test has one sound operator, and others whose class or reference has one fault.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tileops.validator.compiled import CHECKS

ROOT = Path(__file__).resolve().parent.parent

ENTRY = """\
{name}FwdOp:
  family: faults
  status: implemented
  signature:
    forall: {{N: Dim}}
    params: {{scale: {{type: float, default: 1.0}}}}
    inputs: {{x: {{dtype: float32, shape: "[N, 6]"}}}}
    outputs: {{y: {{dtype: float32, shape: "[N, 6]"}}}}
    shape_rules: ["{rule}"]
  workloads: [{{label: small, N: 8}}]
  roofline: {{flops: "N"}}
"""

#: What each entry must be found as, and how many of its checks are not made of every case.
ENTRIES = {
    "Sound": (set(), 0),
    "Multiple": (set(), 0),
    "Fixed": ({("no-free-size", "class-dynamic"), ("no-free-size", "dynamic")}, 2),
    "EagerFirst": ({("not-one-node", "class")}, 7),
    "BreaksGraph": ({("not-one-graph", "class")}, 7),
    "BranchesOnSize": ({("frame-per-size", "class-dynamic")}, 1),
    "CannotBeMade": ({("not-one-graph", "class")}, 7),
    "WritesInput": ({("undeclared-write", "real")}, 4),
    "GivesOtherDtype": ({("wrong-fake", "real")}, 4),
    "Corrupts": ({("worker-died", "real")}, 5),
    "Plain": ({("no-class", "")}, len(CHECKS)),
    "Missing": ({("no-class", "")}, len(CHECKS)),
}
RULES = {"Multiple": "N % 8 == 0", "Fixed": "N == 8"}

MODULE = '''
import ctypes
from pathlib import Path

import torch

import tileops
from tileops.runtime.op import Op

print("what a package prints is no part of a report")
DOC = """Scales.

Shapes: x and y are [N, 6].

Errors: CallError when x is no matrix of six columns.

Reference: torch.mul
"""


def scaled(x, *, scale):
    return x * scale


def with_reference(name, reference):
    return type(name + "FwdOp", (Op,), {"__doc__": DOC, "reference": staticmethod(reference)})


def corrupts(x, *, scale):
    ctypes.memset(8, 0, 8)


SoundFwdOp = with_reference("Sound", scaled)
MultipleFwdOp = with_reference("Multiple", scaled)
FixedFwdOp = with_reference("Fixed", scaled)
WritesInputFwdOp = with_reference("WritesInput", lambda x, *, scale: x.add_(1) * scale)
GivesOtherDtypeFwdOp = with_reference("GivesOtherDtype", lambda x, *, scale: (x * scale).double())
CorruptsFwdOp = with_reference("Corrupts", corrupts)


class EagerFirstFwdOp(Op):
    __doc__ = DOC
    reference = staticmethod(scaled)

    def forward(self, x):
        return torch.ops.faulty.faults_eager_first_fwd(x + 1, scale=self.scale)


class BreaksGraphFwdOp(Op):
    __doc__ = DOC
    reference = staticmethod(scaled)

    def forward(self, x):
        print(x)
        return torch.ops.faulty.faults_breaks_graph_fwd(x, scale=self.scale)


class BranchesOnSizeFwdOp(Op):
    __doc__ = DOC
    reference = staticmethod(scaled)

    def forward(self, x):
        scale = self.scale if x.shape[0] > 100 else 1.0
        return torch.ops.faulty.faults_branches_on_size_fwd(x, scale=scale)


class CannotBeMadeFwdOp(Op):
    __doc__ = DOC
    reference = staticmethod(scaled)

    def __init__(self, scale=1.0, *, target=None):
        raise RuntimeError("boom")


class PlainFwdOp:
    pass


CLASSES = [v for v in list(vars().values()) if isinstance(v, type) and issubclass(v, Op)]
registry = tileops.load_manifest(
    Path(__file__).parent / "spec", "faulty", [cls for cls in CLASSES if cls is not Op]
)
'''


def run(folder: Path, *arguments: str, seed: str = "1") -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "tileops", "validate", "--format", "json", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("own")
    (root / "faulty" / "spec").mkdir(parents=True)
    (root / "faulty" / "__init__.py").write_text(MODULE)
    (root / "faulty" / "spec" / "faults.yaml").write_text(
        "".join(ENTRY.format(name=name, rule=RULES.get(name, "N >= 0")) for name in ENTRIES)
    )
    return root


@pytest.fixture(scope="module")
def report(folder: Path) -> dict[str, Any]:
    command = ("--spec", "faulty/spec", "--package", "faulty", "--compile", "--jobs", "2")
    status, found = run(folder, *command)
    assert status == 1
    return found


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_is_found_as_what_it_is(report: dict[str, Any], name: str) -> None:
    own = [item for item in report["diagnostics"] if item["op"] == f"{name}FwdOp"]
    found = {(i["name"], i["message"].partition(" of ")[0]) for i in own}
    wanted, _ = ENTRIES[name]
    # Later checks may find the same again.
    assert {(code, check) for code, check in wanted if check} <= found
    assert {code for code, _ in found} == {code for code, _ in wanted}, own


def test_findings_do_not_depend_on_the_run(folder: Path, report: dict[str, Any]) -> None:
    """Another hash seed and one worker for all give the same, entry by entry."""
    names = [f"{name}FwdOp" for name in ("Fixed", "WritesInput", "GivesOtherDtype")]
    command = ["--spec", "faulty/spec", "--package", "faulty", "--compile"]
    for name in names:
        command += ["--op", name]
    _, found = run(folder, *command, seed="4242")
    expected = [item for item in report["diagnostics"] if item["op"] in names]
    assert json.dumps(found["diagnostics"]) == json.dumps(expected) and len(expected) == 4


def test_what_was_not_made_is_counted(report: dict[str, Any]) -> None:
    summary = report["summary"]
    assert (summary["entries"], summary["implemented"]) == (len(ENTRIES), len(ENTRIES))
    assert summary["unchecked"] == sum(count for _, count in ENTRIES.values()), summary


def test_one_entry_alone_passes(folder: Path) -> None:
    own = ("--spec", "faulty/spec", "--package", "faulty", "--op", "SoundFwdOp")
    status, found = run(folder, *own, "--strict-advisories")
    assert (status, found["diagnostics"]) == (0, [])
    assert found["summary"]["unchecked"] == len(CHECKS)


def test_without_its_package_nothing_is_imported(folder: Path) -> None:
    status, found = run(folder, "--spec", "faulty/spec")
    assert (status, found["diagnostics"]) == (0, [])
    status, found = run(folder, "--spec", "faulty/spec", "--package", "nowhere")
    assert {item["name"] for item in found["diagnostics"]} == {"no-class"}


def test_a_copy_of_the_shipped_folder_is_checked_with_its_classes(tmp_path: Path) -> None:
    """The copy declares another row; the classes are those of the package."""
    for path in (ROOT / "manifest" / "spec").glob("*.yaml"):
        (tmp_path / path.name).write_text(path.read_text())
    command = ("--spec", str(tmp_path), "--import", "--compile", "--op", "SinusoidalFwdOp")
    status, found = run(tmp_path, *command)
    assert (status, found["summary"]["unchecked"]) == (0, 0), found
