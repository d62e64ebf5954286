"""Type stubs of the families: fresh, shipped beside the code, and what a type checker says."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tileops
from tests.runtime import own
from tileops.codegen.class_stub import class_stub, family_stub

PACKAGE = Path(tileops.__file__).parent
REGISTRY = tileops.registry
IMPLEMENTED = [entry for entry in REGISTRY.entries if entry.status == "implemented"]
FAMILIES = sorted({entry.family for entry in IMPLEMENTED})


def stub_of(family):
    bounds = [REGISTRY.bound(entry.name) for entry in IMPLEMENTED if entry.family == family]
    injected = {b.header.op: tuple(b.op_class.injected_parameters) for b in bounds}
    return family_stub(family, [bound.operator for bound in bounds], injected)


@pytest.mark.golden
@pytest.mark.parametrize("family", FAMILIES)
def test_the_stub_of_a_family_is_fresh(family):
    path = PACKAGE / family / "__init__.pyi"
    text = stub_of(family)
    if os.environ.get("TILEOPS_ACCEPT"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, "run `make accept`"


def test_no_stub_is_left_over():
    assert sorted(path.parent.name for path in PACKAGE.glob("*/__init__.pyi")) == FAMILIES


@pytest.mark.parametrize("entry", IMPLEMENTED, ids=lambda entry: entry.name)
def test_a_stub_has_the_parameters_of_the_class(entry):
    names = {"Tensor": object, "Op": object}
    cls = REGISTRY.bound(entry.name).op_class
    text = "from __future__ import annotations\nimport torch\n"
    exec(text + class_stub(REGISTRY.bound(entry.name).operator), names)
    for method in ("__init__", "forward", "__call__"):
        have = inspect.signature(getattr(cls, method)).parameters.values()
        shown = inspect.signature(getattr(names[entry.name], method)).parameters.values()
        assert [(p.name, p.kind, p.default) for p in have] == [
            (p.name, p.kind, p.default) for p in shown
        ]


SAMPLE = """
import torch
from tileops.norm import RMSNormFwdOp
from tileops.elementwise import GELUFwdOp, SinusoidalFwdOp

op = RMSNormFwdOp((4,), eps=1e-6)
y: torch.Tensor = op(torch.ones(4), None)
op.eval_roofline()
RMSNormFwdOp("wide")
RMSNormFwdOp((4,), epsilon=1e-6)
GELUFwdOp(approximate="erf")
SinusoidalFwdOp(1, 2)
op()
"""


def test_a_type_checker_rejects_wrong_parameters(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "sample.py").write_text(SAMPLE)
    # torch's own types take a minute to read and are not what is tested.
    config = "[mypy]\nfollow_imports = silent\n[mypy-torch.*]\nfollow_imports = skip\n"
    config += "[mypy-torch]\nfollow_imports = skip\n"
    (tmp_path / "mypy.ini").write_text(config)
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "sample.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in found.stdout.splitlines() if "error:" in line]
    assert [line.split(":")[1] for line in lines] == ["9", "10", "11", "12", "13"], found.stdout
    assert 'Unexpected keyword argument "epsilon"' in lines[1]


EVERY = """
EveryFwdOp:
  family: own
  ref_api: none
  status: implemented
  signature:
    forall: {N: Dim}
    params:
      weight: {dtype: float32, shape: "[N]", optional: true}
      sizes: {type: "int | list[int] | tuple[int, ...]", default: 1}
      limit: {type: float, default: .inf}
      epilogue: {type: "Spec | None", default: null}
      layout: {type: Layout, kw_only: true}
    inputs:
      x: {dtype: float32, shape: "[N]"}
      y: {dtype: float32, shape: "[N]", optional: true}
      z: {dtype: float32, shape: "[N]", optional: true, kw_only: true}
    outputs:
      o: {dtype: float32, shape: "[N]", buffer: out}
      p: {dtype: float32, shape: "[N]", nullable: present(y)}
  workloads:
    - {label: one, N: 4, layout: {masked: {max_m: 2}}}
  roofline: {flops: "N"}
"""
TYPES = """
adts:
  Layout:
    masked: {python: tileops.moe.layout.MaskedLayout, fields: {max_m: Dim}}
"""
SHOWN = """\
# Generated from the manifest's own entries; `make accept` rewrites it.

from torch import Tensor

from tileops.moe.layout import MaskedLayout
from tileops.runtime.op import Op

__all__ = ["EveryFwdOp"]

class EveryFwdOp(Op):
    weight: Tensor | None
    sizes: int | list[int] | tuple[int, ...]
    limit: float
    epilogue: object | None
    layout: MaskedLayout
    def __init__(
        self,
        weight: Tensor | None = None,
        sizes: int | list[int] | tuple[int, ...] = 1,
        limit: float = ...,
        epilogue: object | None = None,
        *,
        layout: MaskedLayout,
        kernel: object = None,
        target: str | None = None,
    ) -> None: ...
    def forward(
        self,
        x: Tensor,
        y: Tensor | None = None,
        out: Tensor | None = None,
        *,
        z: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]: ...
    def __call__(
        self,
        x: Tensor,
        y: Tensor | None = None,
        out: Tensor | None = None,
        *,
        z: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]: ...
"""


def test_every_kind_of_parameter_is_spelled():
    registry = own.load(EVERY, types=TYPES)
    operator = registry.bound("EveryFwdOp").operator
    assert family_stub("own", [operator], {"EveryFwdOp": ("kernel",)}) == SHOWN
