"""Signatures with one fault."""

from __future__ import annotations

from tests.validator.odd import changed

CASES: dict[str, str] = {
    "let cycle": changed(('K: "L * 2"', 'K: "L * 2 + J", J: "K"')),
    "let self": changed(('K: "L * 2"', 'K: "K * 2"')),
    "family cycle": changed(
        (
            '"[C, R]"}',
            '"Two[R, C, t]"}\n      Two: {params: {R: Dim, C: Dim, t: Bool}, match: t, cases: [{when: true, is: "Mat[R, C, t]"}, {when: false, is: "[R]"}]}',
        )
    ),
    "family self": changed(('is: "[C, R]"', 'is: "Mat[C, R, t]"')),
    "family unused": changed(('"Mat[N, M, wide]"', '"[N, M]"')),
    "family arity": changed(('"Mat[N, M, wide]"', '"Mat[N, M]"')),
    "family arity+": changed(('"Mat[N, M, wide]"', '"Mat[N, M, wide, N]"')),
    "family kind": changed(('"Mat[N, M, wide]"', '"Mat[N, wide, M]"')),
    "family unknown": changed(('"Mat[N, M, wide]"', '"Mit[N, M, wide]"')),
    "match unknown": changed(("match: t", "match: q")),
    "match dim": changed(("match: t", "match: R")),
    "case missing": changed(('          - {when: true, is: "[C, R]"}\n', "")),
    "case dup": changed(("when: true", "when: false")),
    "case str": changed(("when: true", 'when: "true"')),
    "case on": changed(("when: true", "when: on")),
    "cases map": changed(
        (
            '          - {when: false, is: "[R, C]"}\n          - {when: true, is: "[C, R]"}\n',
            '          false: "[R, C]"\n',
        )
    ),
    "cases empty": changed(
        (
            '        cases:\n          - {when: false, is: "[R, C]"}\n          - {when: true, is: "[C, R]"}\n',
            "        cases: []\n",
        )
    ),
    "formal unused": changed(
        ("params: {R: Dim, C: Dim, t: Bool}", "params: {R: Dim, C: Dim, t: Bool, z: Dim}"),
        ('"Mat[N, M, wide]"', '"Mat[N, M, wide, N]"'),
    ),
    "formal kind": changed(("C: Dim, t: Bool", "C: Dimm, t: Bool")),
    "forall kind": changed(("B: Dim", "B: dim")),
    "forall list": changed(
        (
            '{B: Dim, N: Dim, M: Dim, T: "DType[float16 | float32]", U: "DType[float16 | float32]", Lens: "Seq[Int]"}',
            "[B, N]",
        )
    ),
    "dtype empty": changed(('T: "DType[float16 | float32]"', 'T: "DType[]"')),
    "dtype unknown": changed(('T: "DType[float16 | float32]"', 'T: "DType[float16 | flaot32]"')),
    "dtype dup": changed(
        ('T: "DType[float16 | float32]"', 'T: "DType[float16 | float16 | float32]"')
    ),
    "param type": changed(("{type: bool, default: false}", "{type: boolean, default: false}")),
    "param type2": changed(("{type: bool, default: false}", '{type: "list[bool", default: false}')),
    "param default": changed(("{type: bool, default: false}", "{type: bool, default: 0}")),
    "param default int": changed(("{type: int, default: -1}", "{type: int, default: true}")),
    "param default float": changed(("default: 1.0e-6", "default: 1e-6")),
    "enum default": changed(("default: sum", "default: max")),
    "none default": changed(("default: [1, 1]", "default: null")),
    "list default": changed(("default: [1, 1]", "default: [1, a]")),
    "no type": changed(("{type: bool, default: false}", "{default: false}")),
    "order": changed(
        ("dim: {type: int, default: -1}", "dim: {type: int, default: -1}\n      q: {type: int}")
    ),
    "kw order": changed(
        (
            'top: {type: "int | None", default: null, kw_only: true}',
            'top: {type: "int | None", default: null}',
        )
    ),
    "input order": changed(
        (
            'bias: {dtype: float32, shape: "[M]", optional: true}',
            'bias: {dtype: float32, shape: "[M]", optional: true}\n      late: {dtype: float32, shape: "[M]"}',
        )
    ),
    "kw_only req": changed(
        ('w: {dtype: U, shape: "[N]"}', 'w: {dtype: U, shape: "[N]", kw_only: true}')
    ),
    "unsolved": changed(('shape: "[N, L]"', 'shape: "[N, Z]"'), ("{B: Dim", "{Z: Dim, B: Dim")),
    "unused index": changed(("{B: Dim", "{Z: Dim, B: Dim")),
    "out named": changed(("y: {dtype: T", "out: {dtype: T")),
    "dup names": changed(("w: {dtype: U", "dim: {dtype: U")),
    "shadow": changed(('L: "M + 1"', 'N: "M + 1", L: "M + 1"')),
    "alias unknown": changed(("buffer: out}", "alias: zz}")),
    "alias notmut": changed(("buffer: out}", "alias: w}")),
    "alias dtype": changed(("buffer: out}", "alias: acc}")),
    "alias+buffer": changed(("buffer: out}", "alias: acc, buffer: out}")),
    "buffer name": changed(("buffer: out}", "buffer: o}")),
    "two buffers": changed(('nullable: "wide"}', 'nullable: "wide", buffer: out}')),
    "mutated expr": changed(('mutated: "wide"', 'mutated: "N > 2"')),
    "mutated unknown": changed(('mutated: "wide"', 'mutated: "wider"')),
    "mutated no": changed(('mutated: "wide"', "mutated: maybe")),
    "mutated yes": changed(('mutated: "wide"', "mutated: yes")),
    "write_only": changed(('mutated: "wide"', "write_only: true")),
    "nullable": changed(('nullable: "wide"', "nullable: true")),
    "nullable2": changed(('nullable: "wide"', 'nullable: "dim > 0"')),
    "optional str": changed(
        ('shape: "[M]", optional: true', 'shape: "[M]", optional: "present(bias)"')
    ),
    "optional yes": changed(('shape: "[M]", optional: true', 'shape: "[M]", optional: "yes"')),
    "rule none": changed(('"K > 1"', '"top is None or top > 1"')),
    "rule shape": changed(('"K > 1"', '"x.shape == (N, M)"')),
    "rule isinstance": changed(('"K > 1"', '"isinstance(dim, int)"')),
    "rule lambda": changed(('"K > 1"', '"(lambda: True)()"')),
    "rule dunder": changed(('"K > 1"', '"dim.__class__"')),
    "rule import": changed(('"K > 1"', "\"__import__('os')\"")),
    "rule walrus": changed(('"K > 1"', '"(a := 1) > 0"')),
    "rule fstring": changed(('"K > 1"', "\"f'{dim}' == '1'\"")),
    "rule not bool": changed(('"K > 1"', '"K + 1"')),
    "rule empty": changed(('"K > 1"', '""')),
    "rule num": changed(('"K > 1"', "3")),
    "rule bool": changed(('"K > 1"', "true")),
    "rules str": changed(
        ('shape_rules: ["N % 2 == 0", "K > 1", "valid_axes(dim, 2)"]', 'shape_rules: "N % 2 == 0"')
    ),
    "rule prec": changed(('"K > 1"', '"K > 1 and not"')),
    "never holds": changed(('"K > 1"', '"K > 100000"')),
    "mod zero": changed(('"K > 1"', '"K % (dim + 1) == 0"')),
    "rule maybe": changed(('"K > 1"', '"top > 1"')),
    "rule maybe2": changed(('"K > 1"', '"top.value > 1"')),
    "rule maybe ok": changed(('"K > 1"', '"not present(top) or top.value > 1"')),
    "rule enum": changed(('"K > 1"', "\"mode != 'max'\"")),
    "rule Lens": changed(('"K > 1"', '"len(Lens) > 1"')),
    "rule tensor": changed(('"K > 1"', '"x > 1"')),
}
