"""Text cases: YAML with what is expected of it written on its own lines.

A file of cases is split at lines `# == title (RULE-1, RULE-2)`. The rest of a case is the body of a
`signature`, which the runner puts into an entry, or a whole file when its first key ends in `Op:`.

    x: {dtype: T, shape: "[N * M]"}     #! TO301 index N        code, and part of the message

says that the line gives exactly these diagnostics; a line without `#!` gives none. Calls stand below:

    #> x=f32[3, 4] p=2 -> y=f32[2, 4]
    #> x=f32[3, 4] p=-1 !! p of y must not be negative, got p=-1

The first call must give those outputs, the second be refused with a sentence that holds this text;
interpreter and generated code must agree on both. Tensors are `dtype[sizes]`, absent ones are left
out or None, and `x=f32[3, 4]:t` is a tensor that is not contiguous.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.rules import title_rules
from tileops.diagnostics.model import Diagnostic, Findings
from tileops.manifest.adt import ADT
from tileops.manifest.decode import decode_entry
from tileops.manifest.load import load_adts
from tileops.manifest.signature.check import check_entry
from tileops.manifest.signature.interpret import TensorMeta
from tileops.manifest.signature.model import Signature
from tileops.manifest.signature.plan import build_plan
from tileops.manifest.signature.steps import Plan
from tileops.manifest.source import parse_text

CASES = Path(__file__).parent / "cases"
SPEC = Path(__file__).parents[2] / "manifest" / "spec"

#: What the signature of a case is put into, and how many lines stand before it.
FRAME = "CaseFwdOp:\n  family: cases\n  status: spec-only\n  signature:\n"
REST = '\n  workloads: [{label: a}]\n  roofline: {flops: "1"}\n'

DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "i8": "int8",
    "u8": "uint8",
    "i32": "int32",
    "i64": "int64",
    "b8": "bool",
    "c64": "complex64",
    "e4m3": "float8_e4m3fn",
}


@dataclass(frozen=True)
class Call:
    """One call of a case: arguments, and outputs or part of a sentence."""

    arguments: dict[str, object]
    outputs: dict[str, object] = field(default_factory=dict)
    sentence: str = ""
    text: str = ""


@dataclass(frozen=True)
class Case:
    title: str
    rules: tuple[str, ...]
    text: str
    expected: tuple[tuple[int, str, str], ...]
    calls: tuple[Call, ...]


def read_cases(path: Path) -> list[Case]:
    """The cases of one file."""
    cases = []
    for part in re.split(r"^# == ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        cases.append(_case(head.partition("(")[0].strip(), tuple(title_rules(head)), body))
    return cases


def _case(title: str, rules: tuple[str, ...], body: str) -> Case:
    lines = [line for line in body.rstrip("\n").split("\n")]
    calls = tuple(_call(line[2:].strip()) for line in lines if line.startswith("#>"))
    body = "\n".join(line for line in lines if not line.startswith("#>")).rstrip("\n")
    text = body + "\n" if re.match(r"\w+Op:", body) else as_file(body)
    expected = []
    for number, line in enumerate(text.split("\n"), start=1):
        for mark in re.findall(r"#! (TO\d+)([^#]*)", line):
            expected.append((number, mark[0], mark[1].strip()))
    return Case(title, rules, text, tuple(expected), calls)


def as_file(signature: str) -> str:
    """A manifest file whose one entry has that signature."""
    inner = "\n".join(f"    {line}" if line else "" for line in signature.split("\n"))
    return f"{FRAME}{inner}{REST}"


def _call(text: str) -> Call:
    accepted, _, sentence = text.partition(" !! ")
    left, arrow, right = accepted.partition("->")
    if not arrow and not sentence:
        raise ValueError(f"a call says -> or !!: {text}")
    return Call(_values(left), _values(right), sentence.strip(), text)


def _values(text: str) -> dict[str, object]:
    names = re.findall(r"(?:^|\s)(\w+)=", text)
    pieces = re.split(r"(?:^|\s)\w+=", text)[1:]
    return {name: _value(piece.strip()) for name, piece in zip(names, pieces, strict=True)}


def _value(text: str) -> object:
    match = re.fullmatch(r"(\w+)\[([-\d, ]*)\](:\w+)?", text)
    if match and match.group(1) in DTYPES:
        sizes = tuple(int(part) for part in match.group(2).split(",") if part.strip())
        return TensorMeta(sizes, DTYPES[match.group(1)], contiguous=match.group(3) is None)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def adts() -> dict[str, ADT]:
    """The shipped algebraic data types."""
    return load_adts(SPEC, Findings())


@dataclass
class Checked:
    """What static checking makes of one file."""

    findings: Findings
    signature: Signature | None = None
    plan: Plan | None = None

    @property
    def items(self) -> list[Diagnostic]:
        return list(self.findings)


def check_text(text: str, types: dict[str, ADT] | None = None) -> Checked:
    """Decodes, checks and plans the entries of a file; the last one's signature and plan."""
    findings = Findings()
    result = Checked(findings)
    tree = parse_text(text, "case.yaml", findings)
    for key, node in () if tree is None else tree.entries:
        entry = decode_entry(key, node, findings)
        if entry is None:
            continue
        result.signature = check_entry(entry, adts() if types is None else types, findings)
        if result.signature is not None:
            result.plan = build_plan(result.signature, findings)
    return result


def check_signature(body: str) -> Checked:
    """The same for the body of a signature."""
    return check_text(as_file(body))


def parameters(name: str) -> list[object]:
    """The cases of a file as pytest parameters, marked with their rules."""
    return [
        pytest.param(case, id=case.title, marks=[pytest.mark.rule(rule) for rule in case.rules])
        for case in read_cases(CASES / f"{name}.yaml")
    ]
