"""Manifests with one fault each, as a stranger may write them; what is said of them is golden.

In: nothing. Out: `GROUPS`, case title -> the text of a manifest file. `BASE` is the entry without a
fault, `changed` the same with some of its text replaced.
"""

from __future__ import annotations

BASE = """\
MixFwdOp:
  family: toy
  status: spec-only
  ref_api: torch.add
  signature:
    forall: {B: Dim, N: Dim, M: Dim, T: "DType[float16 | float32]", U: "DType[float16 | float32]", Lens: "Seq[Int]"}
    params:
      dim: {type: int, default: -1}
      wide: {type: bool, default: false}
      mode: {type: "'sum' | 'mean'", default: sum, kw_only: true}
      top: {type: "int | None", default: null, kw_only: true}
      eps: {type: float, default: 1.0e-6, kw_only: true}
      pads: {type: "list[int]", default: [1, 1], kw_only: true}
    inputs:
      x: {dtype: T, shape: "Mat[N, M, wide]"}
      w: {dtype: U, shape: "[N]"}
      offs: {dtype: int32, shape: "[B + 1]", values: "prefix_sum(Lens)", requires: ["prefix_offsets(N)"]}
      bias: {dtype: float32, shape: "[M]", optional: true}
      acc: {dtype: float32, shape: "[N]", optional: true, mutated: "wide"}
    outputs:
      y: {dtype: T, shape: "[N, L]", buffer: out}
      s: {dtype: float32, shape: "[N]", nullable: "wide"}
    types:
      Mat:
        params: {R: Dim, C: Dim, t: Bool}
        match: t
        cases:
          - {when: false, is: "[R, C]"}
          - {when: true, is: "[C, R]"}
    let: {L: "M + 1", K: "L * 2"}
    shape_rules: ["N % 2 == 0", "K > 1", "valid_axes(dim, 2)"]
    dtype_combos: [{T: float16, U: float16}, {T: float32, U: float32}]
  workloads:
    - {label: plain, M: 2, N: 8, Lens: [3, 5], dtype_cases: [{T: float16, U: float16}]}
    - {label: full, M: 2, N: 8, Lens: [3, 5], wide: true, mode: mean, some: [bias, acc], dtype_cases: [{T: float32, U: float32}]}
  roofline: {flops: "N * M", bytes: "N * M * 4"}
"""


def changed(*pairs: tuple[str, str]) -> str:
    """The entry with each old text replaced by a new one, once."""
    text = BASE
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text
