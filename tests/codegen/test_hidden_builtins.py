"""A manifest may name things after what generated text calls."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import tileops

ENTRY = """\
OddNamesFwdOp:
  family: odd
  status: spec-only
  signature:
    forall:
      locals: Shape
      tuple: Dim
      T: DType[float16 | float32]
    params:
      type: {type: "list[int]"}
      float: {type: "int | float", default: 1}
    inputs:
      len: {dtype: T, shape: "[*locals, tuple]"}
      _x: {dtype: T, shape: "[*type]", optional: true}
      __y: {dtype: float32, shape: "[tuple]", optional: true}
    outputs:
      frozenset: {dtype: T, shape: "[*locals, *type]"}
    shape_rules: ["len(type) > 0"]
  workloads:
    - {label: a, type: [2], locals: [3], tuple: 4, dtype_cases: [{T: float16}]}
  roofline: {flops: "tuple"}
"""


def test_names_of_builtins_and_of_temporaries(tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_text(ENTRY)
    registry = tileops.load_manifest(tmp_path, "odd_builtins")
    assert registry.skipped == ()
    op = torch.ops.odd_builtins.odd_names_fwd
    x = torch.empty(3, 4, device="meta")
    assert op(x, type=[2, 5], float=1.5).shape == (3, 2, 5)
    with pytest.raises(tileops.CallError, match=r"_x must have 2 axes, \[\*type\], got 1"):
        op(x, torch.empty(3, device="meta"), type=[2, 5])
    with pytest.raises(tileops.CallError, match="__y axis 0 must be tuple = 4, got 3"):
        op(x, None, torch.empty(3, device="meta"), type=[2, 5])
