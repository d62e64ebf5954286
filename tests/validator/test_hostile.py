"""Code written into the text of a manifest is never run: not by validating it, listing its cases,
showing what is generated from it, or registering it.

Every payload imports the module `smuggled`, or names it; the module is there to be imported, so a
payload that was run, or a path that was followed, shows in `sys.modules`.
"""

from __future__ import annotations

import ast
import copy
import inspect
import io
import json
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tileops.cli import main
from tileops.codegen.generate import generate
from tileops.codegen.schema_types import Unschematic
from tileops.diagnostics.model import Findings
from tileops.manifest.adt import ADTValue
from tileops.manifest.load import Manifest, load_manifest
from tileops.manifest.signature.check import check_entry
from tileops.manifest.signature.plan import build_plan

PAYLOADS = (
    "__import__('smuggled')",
    "(lambda: __import__('smuggled'))()",
    "N'); __import__('smuggled') #",
    "N\n    __import__('smuggled')\n",
    '"""\n__import__("smuggled")\n"""',
    "\\'+__import__('smuggled')+\\'",
)

ENTRY: dict[str, Any] = {
    "family": "toy",
    "status": "implemented",
    "ref_api": "smuggled.reference",
    "signature": {
        "forall": {
            "N": "Dim",
            "M": "Dim",
            "T": "DType[float16 | float32]",
            "K": "Dim",
            "lens": "Seq[Int]",
        },
        "params": {
            "text": {"type": "str", "default": "plain"},
            "mode": {"type": "'a' | 'b'", "default": "a", "kw_only": True},
            "layout": {
                "type": "Layout",
                "default": {"dense": {"rows": 2, "sort": "p"}},
                "kw_only": True,
            },
        },
        "inputs": {
            "x": {"dtype": "T", "shape": "Pick[N, M, mode]"},
            "ids": {
                "dtype": "int32",
                "shape": "[K]",
                "values": "as_tensor(lens)",
                "requires": ["in_range(0, 100)"],
            },
            "w": {"dtype": "T", "shape": "[N]", "optional": True, "mutated": "mode == 'a'"},
        },
        "outputs": {
            "y": {"dtype": "T", "shape": "[L]", "buffer": "out"},
            "z": {"dtype": "T", "shape": "[N]", "nullable": "present(w)"},
        },
        "types": {
            "Pick": {
                "params": {"R": "Dim", "C": "Dim", "mode": "'a' | 'b'"},
                "match": "mode",
                "cases": [{"when": "a", "is": "[R, C]"}, {"when": "b", "is": "[C, R]"}],
            }
        },
        "let": {"L": "N + M"},
        "shape_rules": ["N > 0"],
        "dtype_combos": [{"T": "float16"}, {"T": "float32"}],
    },
    "workloads": [
        {
            "label": "one",
            "N": 2,
            "M": 3,
            "lens": [1, 2],
            "text": "given",
            "dtype_cases": [{"T": "float16"}],
        },
        {
            "label": "two",
            "N": 2,
            "M": 3,
            "lens": [1],
            "some": ["w"],
            "dtype_cases": [{"T": "float32"}],
        },
    ],
    "roofline": {"flops": "N", "bytes": "bytes(x)"},
    "composition": {"kind": "composite", "stages": [{"name": "first", "kernel": "row"}]},
}

TYPES = {
    "adts": {
        "Layout": {
            "dense": {
                "python": "smuggled.Dense",
                "fields": {"rows": "Dim", "sort": {"type": "'p' | 'q'", "python": "smuggled.Kind"}},
                "invariant": "rows > 0",
            }
        }
    }
}


def changed(node: Any, payload: str) -> Iterator[Any]:
    """Copies of a tree, each with one text replaced: a key, or a value."""
    if isinstance(node, dict):
        for key, value in node.items():
            rest = list(node.items())
            at = rest.index((key, value))
            yield dict([*rest[:at], (payload, value), *rest[at + 1 :]])
            for inner in changed(value, payload):
                yield dict([*rest[:at], (key, inner), *rest[at + 1 :]])
    elif isinstance(node, list):
        for at, value in enumerate(node):
            for inner in changed(value, payload):
                yield [*node[:at], inner, *node[at + 1 :]]
    else:
        yield payload


class Plain(yaml.SafeDumper):
    """Writes shared parts out; aliases are bounded."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def parts(entries: dict[str, Any], size: int = 100) -> Iterator[dict[str, Any]]:
    items = list(entries.items())
    for at in range(0, len(items), size):
        yield dict(items[at : at + size])


def variants() -> dict[str, Any]:
    """The entry, and with two payloads in each of its places, all payloads by turns."""
    columns = zip(*(changed(ENTRY, payload) for payload in PAYLOADS), strict=True)
    trees = [
        trees[(at + shift) % len(PAYLOADS)] for at, trees in enumerate(columns) for shift in (0, 1)
    ]
    priced = copy.deepcopy(ENTRY)
    priced["roofline"] = {"func": "smuggled.price"}
    del priced["composition"]
    found = {f"A{at}FwdOp": tree for at, tree in enumerate([ENTRY, priced, *trees])}
    return found | {payload: ENTRY for payload in PAYLOADS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hostile")
    (root / "smuggled.py").write_text("price = reference = Dense = lambda *args: (1, 1)\n")
    folder = root / "spec"
    folder.mkdir()
    (folder / "types.yaml").write_text(yaml.dump(TYPES, Dumper=Plain, sort_keys=False))
    for at, part in enumerate(parts(variants())):
        path = folder / f"toy_{at}.yaml"
        path.write_text(yaml.dump(part, Dumper=Plain, sort_keys=False))
    return folder


@pytest.fixture(autouse=True)
def watched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(folder.parent))
    assert "smuggled" not in sys.modules
    yield
    found = sys.modules.pop("smuggled", None)
    assert found is None, "a payload was run"


@pytest.fixture(scope="module")
def manifest(folder: Path) -> Manifest:
    return load_manifest(folder)


def test_the_watch_can_fail(folder: Path) -> None:
    exec(PAYLOADS[0])
    assert sys.modules.pop("smuggled")


def test_the_unchanged_entry_has_no_errors(folder: Path) -> None:
    """Else the changes would not be what is tested."""
    assert main(["validate", "--spec", str(folder), "--op", "A0FwdOp", "--op", "A1FwdOp"]) == 0


def test_validate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--spec", str(folder)]) == 1
    assert "A2FwdOp" in capsys.readouterr().out


def test_cases(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cases", "--spec", str(folder)]) == 1
    assert "A0FwdOp" in capsys.readouterr().out


def test_show(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    views = ["--yaml", "--plan", "--schema", "--code", "--rows"]
    for op in ("A0FwdOp", "A1FwdOp"):
        assert main(["show", "--spec", str(folder), op, *views]) == 0
        assert f"{op}:" in capsys.readouterr().out


def test_generated_text_holds_manifest_text_only_as_names_and_strings(manifest: Manifest) -> None:
    generated = 0
    for entry in manifest.entries:
        signature = check_entry(entry, manifest.adts, Findings())
        plan = None if signature is None else build_plan(signature, Findings())
        if signature is None or plan is None:
            continue
        try:
            operator = generate(signature, plan)
        except Unschematic:
            continue
        generated += 1
        for token in tokenize.generate_tokens(io.StringIO(operator.source).readline):
            if "smuggled" in token.string:
                assert token.type == tokenize.STRING, token
                assert isinstance(ast.literal_eval(token.string), str)
        compile(operator.source, "generated", "exec")
        for overload in operator.header.overloads:
            assert "smuggled" not in overload.schema or '="' in overload.schema
    assert generated > 30


def test_registering_a_manifest(folder: Path) -> None:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    import tileops

    registry = tileops.load_manifest(folder, "tileops_hostile")
    assert len(registry.entries) > 30
    for entry in list(registry.entries):
        bound = registry.bound(entry.name)
        assert bound.operator is not None
    op = torch.ops.tileops_hostile.toy_a1_fwd
    with FakeTensorMode():
        x, ids = torch.empty(2, 3), torch.empty(2, dtype=torch.int32)
        assert op(x, ids, text=PAYLOADS[0], mode="b") is not None


TAGS = (
    "!!python/object/apply:smuggled.price []",
    "!!python/name:smuggled.price",
    "!!python/module:smuggled",
    "!!python/object/new:smuggled.Dense {}",
    "!smuggled {a: 1}",
)


@pytest.mark.parametrize("tag", TAGS)
def test_tags(tag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "toy.yaml").write_text(f"AFwdOp:\n  family: toy\n  signature: {tag}\n")
    (tmp_path / "types.yaml").write_text(f"adts: {tag}\n")
    for verb in ("validate", "cases", "list"):
        assert main([verb, "--spec", str(tmp_path)]) in (0, 1)
    assert "TO104" in capsys.readouterr().out


def test_the_default_of_a_data_type_is_a_literal(tmp_path: Path) -> None:
    """A constructor may be named like a built-in, and a string of an enum be an expression."""
    import tileops
    from tileops.runtime.op import Op

    class CopyFwdOp(Op):
        reference = staticmethod(lambda x, *, layout: x.clone())

    sorts = {"type": "'exit(3)' | 'q'", "python": "not_here.Kind"}
    default = {"print": {"sort": "exit(3)"}}
    types = {"adts": {"Layout": {"print": {"python": "not_here.Dense", "fields": {"sort": sorts}}}}}
    tensor = {"dtype": "float32", "shape": "[N]"}
    entry = {
        "family": "toy",
        "status": "implemented",
        "signature": {
            "forall": {"N": "Dim"},
            "params": {"layout": {"type": "Layout", "default": default}},
            "inputs": {"x": tensor},
            "outputs": {"y": tensor},
        },
        "workloads": [{"label": "a", "N": 1}],
        "roofline": {"flops": "N"},
    }
    for name, tree in (("types", types), ("toy", {"CopyFwdOp": entry})):
        (tmp_path / f"{name}.yaml").write_text(yaml.dump(tree, Dumper=Plain, sort_keys=False))
    assert main(["validate", "--spec", str(tmp_path)]) == 0
    tileops.load_manifest(tmp_path, "tileops_hostile_default", [CopyFwdOp])
    parameter = inspect.signature(CopyFwdOp.__init__).parameters["layout"]
    assert parameter.default == ADTValue("print", {"sort": "exit(3)"})


def test_paths_are_followed_when_the_caller_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["cases", "--spec", str(folder), "--op", "A1FwdOp", "--format", "json"]
    main(command)
    assert {json.loads(line)["flops"] for line in capsys.readouterr().out.splitlines()} == {None}
    assert "smuggled" not in sys.modules
    main([*command, "--import"])
    assert {json.loads(line)["flops"] for line in capsys.readouterr().out.splitlines()} == {1}
    assert sys.modules.pop("smuggled")
