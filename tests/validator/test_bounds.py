"""What a manifest may ask for is bounded: work, sizes and sentences, whatever a stranger writes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tileops.diagnostics.model import MAX_MESSAGE, Diagnostic
from tileops.validator.runner import validate

ENTRY = """\
CopyFwdOp:
  family: toy
  status: spec-only
  signature:
    forall: {N: Dim}
    params: {%(params)s}
    inputs:
      x: {dtype: float32, shape: "%(shape)s"}
%(inputs)s
    outputs: {y: {dtype: float32, shape: "[N]"}}
    types: {%(types)s}
    let: {%(let)s}
    shape_rules: ["%(rule)s"]
  workloads: [{label: a, N: %(size)s%(row)s}]
  roofline: {flops: "%(flops)s"}
"""
PARTS = {
    "params": "", "shape": "[N]", "inputs": "", "types": "", "let": "", "rule": "N >= 0",
    "size": "4", "row": "", "flops": "N",
}  # fmt: skip


def findings(folder: Path, **parts: str) -> list[Diagnostic]:
    (folder / "toy.yaml").write_text(ENTRY % (PARTS | parts))
    return list(validate(folder).findings)


def lets(count: int, spelling: str) -> str:
    items = (f'A{at}: "{spelling.format(f"A{at + 1}")}"' for at in range(count))
    return ", ".join((*items, f'A{count}: "N"'))


def flags(count: int) -> str:
    return ", ".join(f"b{at}: {{type: bool, default: false}}" for at in range(count))


def family(at: int) -> str:
    """A family that stands for twice the shapes of the next."""
    inner = f"F{at + 1}[N, b]"
    cases = f'[{{when: true, is: "{inner}"}}, {{when: false, is: "{inner}"}}]'
    return f"F{at}: {{params: {{N: Dim, b: Bool}}, match: b, cases: {cases}}}"


LAST = 'F30: {params: {N: Dim, b: Bool}, match: b, cases: [{when: _, is: "[N]"}]}'

BOMBS = {
    "a long chain of lets": ({"let": lets(2000, "{0} + 1"), "rule": "A0 > 0"}, "TO201"),
    "lets that double": ({"let": lets(40, "{0} * {0}"), "rule": "A0 > 0"}, "TO201"),
    "a power by lets": ({"let": lets(6, "{0} * {0} * {0}"), "rule": "A0 > 0"}, "TO505"),
    "a product": ({"rule": "N * " + " * ".join(["9" * 20] * 50) + " > 0"}, "TO505"),
    "deep sums": ({"rule": "N" + " + 1" * 190 + " < 0"}, "TO505"),
    "deep differences": ({"rule": "(" * 45 + "N" + " - (1 + N))" * 45 + " > 0"}, "TO505"),
    "deep comparisons": ({"rule": "(" * 45 + "N > 0" + ") == (N > 9)" * 45}, "TO505"),
    "deep conditions": (
        {"rule": "(" * 45 + "N > 5" + " if N > 0 else N > 1)" * 45}, "TO505",
    ),
    "deep calls": ({"rule": "max((N, " * 22 + "N" + "))" * 22 + " < 0"}, "TO505"),
    "deep negations": ({"rule": "not (" * 45 + "N > 0 and N > 9" + ")" * 45 + " and N < 0"}, "TO505"),
    "deep alternatives": (
        {"params": flags(2), "rule": "(b0 or (b1 and " * 22 + "N > 9" + "))" * 22}, "TO505",
    ),
    "a folded product": ({"rule": "prod((" + ", ".join(["9" * 20] * 50) + ")) > N"}, "TO505"),
    "families of families": (
        {"params": flags(1).replace("b0", "b"), "shape": "F0[N, b]",
         "types": ", ".join((*map(family, range(30)), LAST))},
        "TO222",
    ),
    "a match on everything": (
        {"params": flags(20), "shape": "F[N, " + ", ".join(f"b{at}" for at in range(20)) + "]",
         "types": "F: {params: {N: Dim, " + ", ".join(f"b{at}: Bool" for at in range(20))
         + "}, match: [" + ", ".join(f"b{at}" for at in range(20))
         + "], cases: [{when: [" + ", ".join("_" * 20) + '], is: "[N]"}]}'},
        "TO222",
    ),
    "an overload for everything": (
        {"params": flags(12), "inputs": "".join(
            f'      w{at}: {{dtype: float32, shape: "[N]", mutated: b{at}}}\n' for at in range(12)
        )},
        "TO302",
    ),
    "effects that read everything": (
        {"params": flags(30), "inputs": '      w: {dtype: float32, shape: "[N]", mutated: "'
         + " and ".join(f"b{at}" for at in range(30)) + '"}'},
        "TO302",
    ),
    "a size": ({"size": "9" * 30}, "TO502"),
    "a size of too many digits": ({"size": "9" * 5000}, "TO502"),
    "an integer": ({"params": "p: {type: int}", "row": ", p: 18446744073709551616"}, "TO502"),
    "a default": ({"params": "p: {type: int, default: -9223372036854775809}"}, "TO207"),
    "a tensor": ({"size": "4611686018427387904"}, "TO505"),
    "a cost below nothing": ({"flops": "N - 100"}, "TO601"),
    "a long text": ({"rule": "N + " * 5000 + "N"}, "TO201"),
    "brackets": ({"rule": "(" * 900 + "N" + ")" * 900}, "TO201"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_a_finding_and_soon(name: str, tmp_path: Path) -> None:
    parts, code = BOMBS[name]
    start = time.process_time()
    found = findings(tmp_path, **parts)
    # What is not bounded here takes longer than anybody waits.
    assert time.process_time() - start < 60
    assert code in {item.code.id for item in found}, found
    assert max(len(item.message) for item in found) <= MAX_MESSAGE


def test_what_is_large_and_legal_passes(tmp_path: Path) -> None:
    parts = {"let": lets(40, "{0} + 1"), "rule": "A0 > 0", "size": "1152921504606846976"}
    assert findings(tmp_path, **parts) == []


def test_names_are_ascii_and_not_those_of_python(tmp_path: Path) -> None:
    codes = [item.code.name for item in findings(tmp_path, params="é: {type: int, default: 1}")]
    assert codes == ["bad-name"]
    codes = [
        item.code.name
        for item in findings(tmp_path, params="__class__: {type: bool, default: true}")
    ]
    assert codes == ["reserved-name"]
