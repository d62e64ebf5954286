"""Files types.yaml with one fault, beside an entry that reads a type of them and one with a fault.

The fault of the second entry must be said, and nothing of what the first lacks.
"""

from __future__ import annotations

ENTRIES = """\
TakeFwdOp:
  family: toy
  status: spec-only
  signature:
    forall: {N: Dim}
    params:
      lay: {type: Lay}
      opt: {type: "Lay | None", default: null}
    inputs: {x: {dtype: float32, shape: "Rows[N, lay]"}}
    outputs: {y: {dtype: float32, shape: "[N]"}}
    types:
      Rows:
        params: {R: Dim, lay: Lay}
        match: lay
        cases:
          - {when: {dense: _}, is: "[R]"}
          - {when: {tiled: {kind_of: wide}}, is: "[R, lay.tile]"}
          - {when: {tiled: {kind_of: slim}}, is: "[R, 1]"}
    shape_rules: ["lay.kind == 'dense' or lay.kind == 'tiled'"]
  workloads:
    - {label: a, N: 4, lay: {dense: {}}}
    - {label: b, N: 4, lay: {tiled: {tile: 2, kind_of: wide}}}
  roofline: {flops: "N"}
OtherFwdOp:
  family: toy
  status: spec-only
  signature:
    forall: {N: Dim}
    inputs: {x: {dtype: float32, shape: "[N]"}}
    outputs: {y: {dtype: float32, shape: "[Q]"}}
  workloads: [{label: a, N: 4}]
  roofline: {flops: "N"}
"""
TYPES = """\
adts:
  Lay:
    dense: {python: toy.Dense}
    tiled:
      python: toy.Tiled
      fields:
        tile: Dim
        kind_of: {type: "'wide' | 'slim'", python: toy.KindOf}
      invariant: "tile > 0"
"""


def _changed(old: str, new: str) -> str:
    assert old in TYPES, old
    return TYPES.replace(old, new, 1)


CASES: dict[str, str | bytes] = {
    "ok": TYPES,
    "syntax": _changed("tile: Dim", "tile: [Dim"),
    "tab": _changed("      fields", "\tfields"),
    "empty": "",
    "no adts": "x: 1\n",
    "adts list": "adts: [Lay]\n",
    "adts null": "adts:\n",
    "extra key": TYPES + "more: {}\n",
    "lay null": "adts:\n  Lay:\n",
    "lay empty": "adts:\n  Lay: {}\n",
    "lay list": "adts:\n  Lay: [dense, tiled]\n",
    "ctor str": _changed("{python: toy.Dense}", "toy.Dense"),
    "no python": _changed("dense: {python: toy.Dense}", "dense: {}"),
    "python bad": _changed("toy.Dense", '"toy Dense"'),
    "field kind": _changed("tile: Dim", "tile: Dimm"),
    "field shape": _changed("tile: Dim", "tile: Shape"),
    "enum no type": _changed("type: \"'wide' | 'slim'\", ", ""),
    "enum no python": _changed(", python: toy.KindOf", ""),
    "enum type": _changed("\"'wide' | 'slim'\"", "int"),
    "enum dup": _changed("\"'wide' | 'slim'\"", "\"'wide' | 'wide'\""),
    "invariant name": _changed("tile > 0", "tiles > 0"),
    "invariant kind": _changed("tile > 0", "tile"),
    "invariant syntax": _changed("tile > 0", "tile >"),
    "lower name": _changed("  Lay:", "  lay:"),
    "dup ctor": TYPES.replace("    tiled:", "    dense:", 1),
    "dup adt": TYPES + "  Lay:\n    dense: {python: toy.Dense}\n",
    "ctor key": _changed("      fields:", "      field:"),
    "reserved adt": TYPES + "  Dim:\n    dense: {python: toy.Dense}\n",
    "fields list": _changed(
        "      fields:\n        tile: Dim\n        kind_of",
        "      fields: [tile]\n      other:\n        kind_of",
    ),
    "field name kind": _changed("        tile: Dim", "        kind: Dim"),
    "field kinds differ": _changed(
        "dense: {python: toy.Dense}", "dense: {python: toy.Dense, fields: {tile: Bool}}"
    ),
    "bom": "\ufeff" + TYPES,
    "not utf": b"\xff\xfe",
}
