"""The rules about code: a class that agrees passes, and each way to disagree is caught."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings
from tileops.runtime.op import Kernel, Op
from tileops.runtime.shipped import registry_of
from tileops.validator.compiled import CHECKS
from tileops.validator.model import Options, Subject
from tileops.validator.rules import RULES
from tileops.validator.runner import validate

ENTRY = """\
ScaleFwdOp:
  family: rulestoy
  status: implemented
  ref_api: torch.nn.functional.relu
  signature:
    forall:
      N: Dim
      T: DType[float16 | float32]
    params:
      size: {type: "tuple[int, int]", default: [1, 2]}
      scale: {type: float, default: 1.0, kw_only: true}
      kind: {type: "float16 | float32", default: float16, kw_only: true}
    inputs:
      x: {dtype: T, shape: "[N]"}
      shift: {dtype: T, shape: "[N]", optional: true}
    outputs:
      y: {dtype: T, shape: "[N]", buffer: out}
  workloads:
    - {label: all, some: [shift], N: 4, dtype_cases: [{T: float16}]}
    - {label: plain, N: 4, dtype_cases: [{T: float16}]}
  roofline: {flops: "N"}
"""

DOCSTRING = """Scales.

Shapes:
    x: [N]
    shift (optional): [N]
    y: [N]

Errors: CallError when shift is not [N].

Reference: torch.nn.functional.relu
"""


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("manifest")
    (folder / "rulestoy.yaml").write_text(ENTRY)
    return folder, registry_of(folder, "tileops_rulestoy")


def check(
    registry: Any,
    monkeypatch: pytest.MonkeyPatch,
    members: dict[str, Any],
    options: Options | None = None,
    **module: Any,
) -> list[str]:
    """The codes that the rules give for a class with these members."""
    folder, found = registry
    base = {"__doc__": DOCSTRING, "reference": staticmethod(lambda x, shift=None, **_: x)}
    base |= {"registry": found}
    cls = type(module.pop("name", "ScaleFwdOp"), (Op,), base | members)
    package = ModuleType("tileops.rulestoy")
    package.ScaleFwdOp = cls
    package.__all__ = module.pop("exports", ["ScaleFwdOp"])
    monkeypatch.setitem(sys.modules, "tileops.rulestoy", package)
    report = validate(folder)
    entry = report.manifest.entries[0]
    subject = Subject(report.manifest, entry, Findings(), options or Options())
    for rule in RULES:
        rule.run(subject)
    return [item.code.name for item in subject.findings]


@pytest.mark.rule("CLS-1", "CLS-3")
def test_a_class_that_agrees(registry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(registry, monkeypatch, {}) == []


def init(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {"torch": __import__("torch")}
    exec(f"def __init__(self, {text}): pass", names)
    return {"__init__": names["__init__"]}


def forward(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(f"def forward(self, {text}): pass", names)
    return {"forward": names["forward"]}


GOOD_INIT = "size=(1, 2), *, scale=1.0, kind=torch.float16, target=None"


@pytest.mark.parametrize(
    ("members", "code"),
    [
        (init("size=(1, 3), *, scale=1.0, kind=torch.float16, target=None"), "wrong-parameters"),
        (init("size=(1, 2), *, scale=1, kind=torch.float16, target=None"), "wrong-parameters"),
        (init("size=(1, 2), *, scale=1.0, kind=torch.float32, target=None"), "wrong-parameters"),
        (init("size=(1, 2), scale=1.0, *, kind=torch.float16, target=None"), "wrong-parameters"),
        (init("size=(1, 2), target=None, *, scale=1.0, kind=torch.float16"), "wrong-parameters"),
        (init("size, *, scale=1.0, kind=torch.float16, target=None"), "wrong-parameters"),
        (init("extra, size=(1, 2), *, scale=1.0, kind=torch.float16"), "wrong-parameters"),
        (forward("x, out=None, shift=None"), "wrong-parameters"),
        (forward("x, shift, out=None"), "wrong-parameters"),
        (forward("x, shift=None, out=None, mode=1"), "wrong-parameters"),
        (forward("x, shift=None, *, out=None"), "wrong-parameters"),
        ({"compile_op_names": ()}, "wrong-boundary"),
        ({"reference": None}, "no-class"),
        ({"__doc__": "Scales."}, "bad-docstring"),
        ({"__doc__": DOCSTRING.replace("shift (optional)", "bias")}, "bad-docstring"),
        ({"kernel_types": {"row": Kernel("tileops.validator.nothing:launch")}}, "bad-stage"),
    ],
)
@pytest.mark.rule("CLS-1", "CLS-2", "CLS-3", "CLS-5")
def test_a_class_that_disagrees(
    registry: Any, monkeypatch: pytest.MonkeyPatch, members: dict[str, Any], code: str
) -> None:
    assert set(check(registry, monkeypatch, members)) == {code}


@pytest.mark.parametrize(
    "members",
    [
        init(GOOD_INIT),
        forward("x, shift=None, out=None"),
        forward("x, shift=None, out=None, *, mode=1"),
    ],
)
@pytest.mark.rule("CLS-2", "CLS-3")
def test_handwritten_methods_that_agree(
    registry: Any, monkeypatch: pytest.MonkeyPatch, members: dict[str, Any]
) -> None:
    assert check(registry, monkeypatch, members) == []


@pytest.mark.rule("CLS-4")
def test_names_and_exports(registry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(registry, monkeypatch, {}, name="OtherFwdOp") == ["no-class"]
    assert check(registry, monkeypatch, {}, exports=[]) == ["not-exported"]
    assert check(registry, monkeypatch, {}, exports=["ScaleFwdOp", "GoneFwdOp"]) == ["not-exported"]


@pytest.mark.rule("ENT-8")
def test_a_static_run_counts_what_it_leaves(registry: Any) -> None:
    report = validate(registry[0])
    code_rules = [rule for rule in RULES if rule.phase.value == "code"]
    assert report.summary["unchecked"] == len(code_rules) + len(CHECKS)
    assert (report.entries, report.implemented, report.rows, report.cases) == (1, 1, 2, 2)


def test_a_reference_api_that_does_not_resolve(
    registry: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = ENTRY.replace("functional.relu\n  signature", "functional.gone\n  signature")
    (tmp_path / "rulestoy.yaml").write_text(text)
    assert check((tmp_path, registry[1]), monkeypatch, {}) == ["no-reference-api"]
    text = ENTRY.replace("torch.nn.functional.relu\n  signature", "nopackage_here.x\n  signature")
    (tmp_path / "rulestoy.yaml").write_text(text)
    assert check((tmp_path, registry[1]), monkeypatch, {}) == ["no-reference-package"]
    # Nightly every API must resolve, and its package be there.
    nightly = Options(nightly=True)
    assert check((tmp_path, registry[1]), monkeypatch, {}, nightly) == ["no-reference-api"]
    assert check(registry, monkeypatch, {}, nightly) == []


def test_implementations_that_a_class_is_handed(
    registry: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed = init(GOOD_INIT.replace("target=None", "kernel=None, target=None"))
    assert check(registry, monkeypatch, handed) == ["wrong-parameters"]
    assert check(registry, monkeypatch, handed | {"injected_parameters": ("kernel",)}) == []


def test_a_class_that_checks_contents_says_what_unchecked_ones_cause(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asks = "validate_inputs: {type: bool, default: false, kw_only: true}"
    (tmp_path / "rulestoy.yaml").write_text(
        ENTRY.replace("      kind:", f"      {asks}\n      kind:")
    )
    found = tmp_path, registry_of(tmp_path, "tileops_rulestoy_unchecked")
    assert check(found, monkeypatch, {}) == ["bad-docstring"]
    text = f"{DOCSTRING}\nUnchecked: reads past the end of x.\n"
    assert check(found, monkeypatch, {"__doc__": text}) == []


@pytest.mark.rule("VAL-1")
def test_the_shipped_manifest_passes() -> None:
    from tileops.manifest.fingerprint import spec_folder

    report = validate(spec_folder(), static=False)
    assert [item.message for item in report.findings if item.code.severity.value == "error"] == []
    assert report.unchecked == len(CHECKS) * report.implemented and report.implemented >= 11


def test_a_parameter_that_only_the_class_takes_is_told_at_its_line() -> None:
    from tileops.manifest.fingerprint import spec_folder

    report = validate(
        spec_folder(), select=lambda entry: entry.family.text in ("moe", "convolution")
    )
    (finding,) = [item for item in report.findings if item.code is codes.UNSCHEMATIC]
    assert (
        finding.field == "signature.params.epilogue"
        and "only the class takes it" in finding.message
    )
    line = report.manifest.sources[finding.span.file].splitlines()[finding.span.line - 1]
    assert "RoutingEpilogueSpec" in line


def test_an_object_is_the_default_that_an_adt_value_writes() -> None:
    from tileops.manifest.adt import ADTValue
    from tileops.moe.layout import ContiguousLayout, MetadataKind, Packing
    from tileops.validator.rules.parity import _same

    have = ContiguousLayout(Packing.TIGHT, MetadataKind.PER_ROW)
    want = {"packing": "tight", "metadata_kind": "per_row", "alignment": 1}
    assert _same(have, ADTValue("contiguous", want)) and not _same(have, ADTValue("masked", want))
    assert not _same(have, ADTValue("contiguous", {**want, "alignment": 2}))
