"""Dtypes, shapes, rules, defaults and names with one fault, and some that are odd and legal."""

from __future__ import annotations

from tests.validator.odd import changed

CASES: dict[str, str] = {
    "dtype param int": changed(("x: {dtype: T,", "x: {dtype: dim,")),
    "dtype expr": changed(("x: {dtype: T,", 'x: {dtype: "promote_types(T, U)",')),
    "dtype list": changed(("x: {dtype: T,", "x: {dtype: [T],")),
    "dtype half": changed(("bias: {dtype: float32", "bias: {dtype: half")),
    "dtype torch": changed(("bias: {dtype: float32", "bias: {dtype: torch.float32")),
    "dtype quoted": changed(("bias: {dtype: float32", "bias: {dtype: \"'float32'\"")),
    "dtype notorch": changed(("bias: {dtype: float32", "bias: {dtype: float8_e4m3")),
    "shape list": changed(('shape: "[M]"', "shape: [M]")),
    "shape null": changed(('shape: "[M]"', "shape: null")),
    "shape bare": changed(('shape: "[M]"', 'shape: "M"')),
    "shape paren": changed(('shape: "[M]"', 'shape: "(M,)"')),
    "shape float": changed(('shape: "[M]"', 'shape: "[M * 1.5]"')),
    "shape neg": changed(('shape: "[M]"', 'shape: "[-1]"')),
    "shape splice dim": changed(('shape: "[M]"', 'shape: "[*M]"')),
    "shape two splice": changed(
        ("forall: {B: Dim", "forall: {S: Shape, R: Shape, B: Dim"),
        ('shape: "[M]"', 'shape: "[*S, *R]"'),
    ),
    "shape nonaffine": changed(
        ("forall: {B: Dim", "forall: {Q: Dim, B: Dim"), ('shape: "[M]"', 'shape: "[Q * Q]"')
    ),
    "shape huge lit": changed(('shape: "[M]"', 'shape: "[99999999999999999999999]"')),
    "shape pow": changed(('shape: "[M]"', 'shape: "[2 ** M]"')),
    "shape div": changed(('shape: "[M]"', 'shape: "[M / 2]"')),
    "shape attr": changed(('shape: "[M]"', 'shape: "[x.shape[0]]"')),
    "optional param": changed(("optional: true}", "optional: \"mode == 'mean'\"}")),
    "optional discr dim": changed(("optional: true}", 'optional: "dim == 1"}')),
    "present req": changed(('"K > 1"', '"K > 1", "present(w)"')),
    "present unknown": changed(('"K > 1"', '"K > 1", "present(qq)"')),
    "dead branch": changed(('"K > 1"', '"K > 1", "not wide"')),
    "restricts all": changed(('"K > 1"', '"K > 1", "wide and not wide"')),
    "comp var": changed(('"K > 1"', '"K > 1", "all(p > 0 for p in pads)"')),
    "comp nested": changed(('"K > 1"', '"K > 1", "all(all(q > 0 for q in pads) for p in pads)"')),
    "comp if": changed(('"K > 1"', '"K > 1", "all(p > 0 for p in pads if p)"')),
    "comp list": changed(('"K > 1"', '"K > 1", "[p for p in pads] == pads"')),
    "index oob": changed(('"K > 1"', '"K > 1", "pads[7] > 0"')),
    "slice": changed(('"K > 1"', '"K > 1", "len(pads[1:]) == 1"')),
    "index str": changed(('"K > 1"', '"K > 1", "pads[\'a\'] > 0"')),
    "chained": changed(('"K > 1"', '"K > 1", "0 < K < 100"')),
    "in list": changed(('"K > 1"', '"K > 1", "mode in [\'sum\']"')),
    "in tuple": changed(('"K > 1"', "\"K > 1\", \"mode in ('sum', 'mean')\"")),
    "str order": changed(('"K > 1"', '"K > 1", "mode > \'a\'"')),
    "big pow text": changed(('"K > 1"', '"K > 1", "9999999999 * 9999999999 * N > 0"')),
    "nan": changed(("default: 1.0e-6", "default: .nan")),
    "inf": changed(("default: 1.0e-6", "default: .inf")),
    "neg zero": changed(("default: 1.0e-6", "default: -0.0")),
    "default missing value": changed(("default: 1.0e-6", "default:")),
    "kw_only str": changed(("default: sum, kw_only: true", 'default: sum, kw_only: "true"')),
    "device param": changed(
        (
            "dim: {type: int, default: -1}",
            'dim: {type: int, default: -1}\n      device: {type: "torch.device | None", default: null}',
        )
    ),
    "validate_inputs str": changed(
        (
            "dim: {type: int, default: -1}",
            'dim: {type: int, default: -1}\n      validate_inputs: {type: str, default: "no"}',
        )
    ),
    "ref list": changed(("ref_api: torch.add", "ref_api: [torch.add]")),
    "ref code": changed(("ref_api: torch.add", 'ref_api: "torch.add()"')),
    "ref unicode": changed(("ref_api: torch.add", 'ref_api: "torch.ädd"')),
    "family upper": changed(("family: toy", "family: Toy")),
    "family dotted": changed(("family: toy", "family: toy.sub")),
    "family keyword": changed(("family: toy", "family: class")),
    "status bool": changed(("status: spec-only", "status: true")),
    "status case": changed(("status: spec-only", "status: Implemented")),
    "ctor tensor": changed(
        (
            "dim: {type: int, default: -1}",
            'dim: {type: int, default: -1}\n      scale: {dtype: float32, shape: "[M]", optional: true}',
        )
    ),
    "ctor tensor mutated": changed(
        (
            "dim: {type: int, default: -1}",
            'dim: {type: int, default: -1}\n      scale: {dtype: float32, shape: "[M]", mutated: true}',
        )
    ),
    "ctor tensor type": changed(
        (
            "dim: {type: int, default: -1}",
            'dim: {type: int, default: -1}\n      scale: {dtype: float32, shape: "[M]", type: int, default: 1}',
        )
    ),
}
