"""What a YAML file may look like, and should not."""

from __future__ import annotations

from tests.validator.odd import BASE, changed

CASES: dict[str, str | bytes] = {
    "tab indent": changed(("  status", "\tstatus")),
    "tab in flow": changed(("{type: int, default: -1}", "{type:\tint, default: -1}")),
    "BOM": "\ufeff" + BASE,
    "BOM+error": "\ufeff" + changed(("status: spec-only", "status: done")),
    "CRLF error": changed(("status: spec-only", "status: done")).replace("\n", "\r\n"),
    "CR only": BASE.replace("\n", "\r"),
    "latin1": changed(("toy", "tøy")).encode("latin-1"),
    "utf16": BASE.encode("utf-16"),
    "NUL": changed(("toy", "to\0y")),
    "long line": changed(('"K > 1"', '"K > 1", "' + "N + " * 30000 + '1 > 0"')),
    "long line bad": changed(('"K > 1"', '"K > 1", "' + "N + " * 200 + 'Q > 0"')),
    "unicode name": changed(("{B: Dim,", "{B: Dim, Ñ: Dim,")),
    "cyrillic lookalike": changed(
        ('"[N]", optional: true, mutated', '"[\u041d]", optional: true, mutated')
    ),
    "yaml bool names": changed(("dim: {type: int, default: -1}", "on: {type: int, default: -1}")),
    "yes as index": changed(("{B: Dim,", "{yes: Dim, B: Dim,")),
    "y name": changed(("      y: {dtype: T", "      Y: {dtype: T")),
    "no label": changed(("label: plain", "label: no")),
    "number label": changed(("label: plain", "label: 70")),
    "float label": changed(("label: plain", "label: 7.5")),
    "date label": changed(("label: plain", "label: 2020-01-01")),
    "octal": changed(("M: 2, N: 8", "M: 0o2, N: 010")),
    "underscore int": changed(("N: 8", "N: 1_0")),
    "sexagesimal": changed(("N: 8", "N: 1:30")),
    "hex": changed(("N: 8", "N: 0x8")),
    "huge int": changed(("N: 8", "N: " + "9" * 400)),
    "huge exp": changed(("N: 8", "N: 1e400")),
    "negative size": changed(("N: 8, Lens: [3, 5], dtype", "N: -8, Lens: [3, 5], dtype")),
    "zero": changed(("N: 8, Lens: [3, 5], dtype", "N: 0, Lens: [0, 0], dtype")),
    "float size": changed(("N: 8", "N: 8.0")),
    "bool size": changed(("N: 8", "N: true")),
    "str size": changed(("N: 8", 'N: "8"')),
    "null size": changed(("N: 8", "N: null")),
    "list size": changed(("N: 8", "N: [8]")),
    "dup key entry": changed(("  status: spec-only", "  status: spec-only\n  status: spec-only")),
    "dup key row": changed(
        ("M: 2, N: 8, Lens: [3, 5], dtype", "M: 2, M: 3, N: 8, Lens: [3, 5], dtype")
    ),
    "dup op": BASE + BASE,
    "merge key": changed(("    inputs:\n      x: {", "    inputs:\n      <<: {z: 1}\n      x: {")),
    "merge alias": changed(
        ("w: {dtype: U", "w: &w {dtype: U"),
        ('bias: {dtype: float32, shape: "[M]", optional: true}', "bias: {<<: *w, optional: true}"),
    ),
    "alias ok": changed(
        ('w: {dtype: U, shape: "[N]"}', 'w: {dtype: U, shape: &s "[N]"}'),
        ('acc: {dtype: float32, shape: "[N]"', "acc: {dtype: float32, shape: *s"),
    ),
    "alias bad": changed(
        ('w: {dtype: U, shape: "[N]"}', 'w: {dtype: U, shape: &s "[Q]"}'),
        ('acc: {dtype: float32, shape: "[N]"', "acc: {dtype: float32, shape: *s"),
    ),
    "undefined alias": changed(('shape: "[N]"}', "shape: *nope}")),
    "recursive": changed(("  ref_api: torch.add", "  ref_api: &a [*a]")),
    "tag": changed(("status: spec-only", "status: !!python/object:os.system spec-only")),
    "str tag": changed(("label: plain", "label: !!str 12")),
    "two docs": BASE + "---\n" + BASE.replace("Mix", "Other"),
    "doc end": BASE + "...\n",
    "directive": "%YAML 1.2\n---\n" + BASE,
    "null entry": "MixFwdOp:\n",
    "list entry": "MixFwdOp: [1]\n",
    "str entry": "MixFwdOp: hi\n",
    "list file": "- 1\n- 2\n",
    "scalar file": "hello\n",
    "only comments": "# nothing\n",
    "empty": "",
    "empty map": "{}\n",
    "null doc": "null\n",
    "complex key": "? [a, b]\n: 1\n",
    "int key": "1: {}\n",
    "bad op name": changed(("MixFwdOp", "mix_fwd")),
    "bad op name2": changed(("MixFwdOp", "MixFwd")),
    "op space": changed(("MixFwdOp", '"Mix FwdOp"')),
    "op op": changed(("MixFwdOp", "Op")),
    "OpOp": changed(("MixFwdOp", "AOpOp")),
    "wrong nesting sig": changed(("  workloads:", "    workloads:")).replace(
        "    - {label", "      - {label"
    ),
    "outputs in inputs": changed(("    outputs:\n", "      outputs:\n"))
    .replace("      y: {dtype: T", "        y: {dtype: T")
    .replace("      s: {dtype", "        s: {dtype"),
    "unclosed brace": changed(("{type: bool, default: false}", "{type: bool, default: false")),
    "unclosed quote": changed(('"[N, L]"', '"[N, L]')),
    "colon in plain": changed(("torch.add", "torch: add")),
}
