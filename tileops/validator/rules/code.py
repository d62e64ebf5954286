"""Rules about the class of an implemented entry and what it names."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Mapping
from typing import Any

from tileops.codegen.generate import generate_header
from tileops.codegen.schema_types import Unschematic
from tileops.diagnostics import codes
from tileops.validator.code import NoCode, class_or_none, family_module, op_class
from tileops.validator.model import Phase, Rule, Subject


def importable(subject: Subject) -> None:
    """The class is `tileops.<family>.<Op>` and has that name."""
    try:
        found = op_class(subject)
    except NoCode as error:
        subject.report(codes.NO_CLASS, f"{subject.entry.op} must have a class, got none: {error}")
        return
    if found.__name__ != subject.entry.op:
        subject.report(
            codes.NO_CLASS, f"{subject.entry.op} must name its class, got {found.__name__}"
        )
    if getattr(found, "reference", None) is None and subject.entry.composition is None:
        subject.report(codes.NO_CLASS, f"{subject.entry.op} must have a reference, got none")


def exported(subject: Subject) -> None:
    """`__all__` of the family lists the entry; names without an entry are reported once."""
    package = subject.options.package
    try:
        module = family_module(subject.family, package)
    except NoCode:
        return
    listed = getattr(module, "__all__", None)
    if listed is None and package:
        return  # A package of one's own may list nothing.
    names = sorted(map(str, listed or ()))
    if subject.entry.op not in names:
        subject.report(
            codes.NOT_EXPORTED,
            f"__all__ of {module.__name__} must list {subject.entry.op}, got {names}",
        )
    # A package without a module for each family holds them all.
    entries = subject.manifest.by_family.get(subject.family, [])
    entries = subject.manifest.entries if module.__name__ == package else entries
    implemented = [
        entry.op
        for entry in entries
        if entry.status is not None and entry.status.text == "implemented"
    ]
    extra = sorted(name for name in names if name.endswith("Op") and name not in implemented)
    if extra and implemented and subject.entry.op == implemented[0]:
        subject.report(
            codes.NOT_EXPORTED,
            f"__all__ of {module.__name__} must list implemented entries only, got"
            f" {', '.join(extra)}",
        )


def boundary(subject: Subject) -> None:
    """`compile_op_names` names the operator exactly when the entry calls for a boundary."""
    found: Any = class_or_none(subject)
    if found is None or subject.signature is None:
        return
    wanted: tuple[str, ...] = ()
    if subject.signature.inputs and subject.entry.composition is None:
        try:
            namespace = "tileops" if found.registry is None else found.registry.namespace
            wanted = (f"{namespace}::{generate_header(subject.signature).operator}",)
        except Unschematic:
            return
    names = found.compile_op_names
    got = tuple(names) if isinstance(names, list | tuple) else names
    if got != wanted:
        subject.report(codes.WRONG_BOUNDARY, f"compile_op_names must be {wanted}, got {got}")


def kernels(subject: Subject) -> None:
    """Launchers are where `kernel_types` says, and stages are the class's own."""
    found: Any = class_or_none(subject)
    if found is None:
        return
    for attribute in ("kernel_types", "delegate_types"):
        if not isinstance(getattr(found, attribute, {}), Mapping):
            subject.report(codes.BAD_STAGE, f"{attribute} must be a mapping")
            return
    for name, kernel in found.kernel_types.items():
        path = getattr(kernel, "path", None)
        fault = _launcher_fault(path) if isinstance(path, str) else f"got {kernel!r}"
        if fault:
            subject.report(codes.BAD_STAGE, f"kernel {name} must name a launcher, {fault}")
    composition = subject.entry.composition
    if composition is None:
        return
    stages = composition.stages
    delegates = getattr(found, "delegate_types", {})
    held = [(name, getattr(cls, "__name__", repr(cls))) for name, cls in delegates.items()]
    pairs: dict[str, tuple[list[Any], list[Any]]] = {
        "delegate_types": ([(s.name.text, s.op.text) for s in stages if s.op is not None], held),
        "kernel_types": ([s.kernel.text for s in stages if s.kernel], [*found.kernel_types]),
    }
    for attribute, (wanted, got) in pairs.items():
        if got != wanted:
            subject.report(
                codes.BAD_STAGE,
                f"{attribute} must follow the stages {wanted}, got {got}",
                span=composition.span,
                field="composition.stages",
            )


def _launcher_fault(path: str) -> str:
    """Why there is no launcher at "package.module:function"; the module is read, not imported,
    since kernel files import triton."""
    module, _, function = path.partition(":")
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        return f"{module} does not exist"
    try:
        with open(spec.origin, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, ValueError, SyntaxError) as error:
        return f"{module} cannot be read: {error}"
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return "" if function in names else f"{module} has no function {function or 'named'}"


RULES = (
    Rule("class", "the class is importable under its name", Phase.CODE, importable),
    Rule("exports", "__all__ agrees with the manifest", Phase.CODE, exported),
    Rule("boundary", "compile_op_names agrees with the entry", Phase.CODE, boundary),
    Rule("kernels", "kernel_types and stages agree", Phase.CODE, kernels),
)
