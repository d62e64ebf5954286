"""The type stub of a family: its operator classes with the parameters that the manifest gives them.

In: operators. Out: the text of `tileops/<family>/__init__.pyi`, which editors and type checkers
read in place of classes whose methods are generated when they are first used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tileops.codegen.model import Argument, Operator, Parameter, Role
from tileops.manifest.adt import ADT

_WIDTH = 100


def family_stub(
    family: str,
    operators: Iterable[Operator],
    injected: Mapping[str, tuple[str, ...]] | None = None,
) -> str:
    """The stub of a family's package; `injected` names further `__init__` arguments by class."""
    operators = sorted(operators, key=lambda operator: operator.header.op)
    classes = [
        class_stub(operator, (injected or {}).get(operator.header.op, ())) for operator in operators
    ]
    body = "\n".join(classes)
    groups = [
        ["from typing import Literal"] * ("Literal[" in body),
        ["import torch"] * ("torch." in body) + ["from torch import Tensor"] * ("Tensor" in body),
        sorted({*_adt_imports(operators), "from tileops.runtime.op import Op"}),
    ]
    imports = "\n\n".join("\n".join(group) for group in groups if group)
    names = [f'"{operator.header.op}"' for operator in operators]
    exported = f"__all__ = [{', '.join(names)}]"
    if len(exported) > _WIDTH:
        exported = "\n".join(["__all__ = [", *(f"    {name}," for name in names), "]"])
    head = [f"# Generated from the manifest's {family} entries; `make accept` rewrites it.", ""]
    return "\n".join([*head, imports, "", exported, "", body])


def _adt_imports(operators: Iterable[Operator]) -> set[str]:
    found = set()
    for operator in operators:
        for adt in _adts(operator).values():
            for constructor in adt.constructors:
                module, _, name = constructor.python.rpartition(".")
                found.add(f"from {module} import {name}")
    return found


def _adts(operator: Operator) -> dict[str, ADT]:
    used = {item.annotation for item in operator.parameters}
    return {
        name: adt
        for name, adt in operator.signature.adts.items()
        if any(re.search(rf"\b{name}\b", text) for text in used)
    }


def class_stub(operator: Operator, injected: tuple[str, ...] = ()) -> str:
    """One class: `__init__` as the manifest's parameters, forward as its inputs."""
    lines = [f"class {operator.header.op}(Op):"]
    for parameter in operator.parameters:
        lines.append(f"    {parameter.name}: {_annotation(operator, parameter)}")
    lines += _function("__init__", _init(operator, injected), "None")
    for name in ("forward", "__call__"):
        lines += _function(name, _forward(operator), _result(operator))
    return "\n".join([*lines, ""])


def _init(operator: Operator, injected: tuple[str, ...]) -> list[str]:
    parts = ["self"]
    for parameter in sorted(operator.parameters, key=lambda item: item.keyword_only):
        if parameter.keyword_only and "*" not in parts:
            parts.append("*")
        default = "" if parameter.default is None else f" = {_default(parameter.default)}"
        parts.append(f"{parameter.name}: {_annotation(operator, parameter)}{default}")
    if "*" not in parts:
        parts.append("*")
    parts += [f"{name}: object = None" for name in injected]
    return [*parts, "target: str | None = None"]


def _default(text: str) -> str:
    """A default as a stub shows it; what is no literal there stands as dots."""
    return "..." if text.startswith(("float(", "{")) else text


def _annotation(operator: Operator, parameter: Parameter) -> str:
    text = parameter.annotation
    for name, adt in operator.signature.adts.items():
        classes = " | ".join(item.python.rpartition(".")[2] for item in adt.constructors)
        text = re.sub(rf"\b{name}\b", classes, text)
    return text.replace("torch.Tensor", "Tensor")


def _forward(operator: Operator) -> list[str]:
    inputs = [item for item in operator.arguments if item.role is Role.INPUT]
    parts = ["self", *(_tensor(item) for item in inputs if not item.keyword_only)]
    parts += ["out: Tensor | None = None" for item in operator.arguments if item.role is Role.OUT]
    last = [_tensor(item) for item in inputs if item.keyword_only]
    return [*parts, *(["*", *last] if last else [])]


def _tensor(argument: Argument) -> str:
    if argument.default is None:
        return f"{argument.name}: Tensor"
    return f"{argument.name}: Tensor | None = None"


def _result(operator: Operator) -> str:
    parts = ["Tensor | None" if item.nullable else "Tensor" for item in operator.outputs]
    if len(parts) < 2:
        return parts[0] if parts else "None"
    return f"tuple[{', '.join(parts)}]"


def _function(name: str, parts: list[str], result: str) -> list[str]:
    line = f"    def {name}({', '.join(parts)}) -> {result}: ..."
    if len(line) <= _WIDTH:
        return [line]
    return [f"    def {name}(", *(f"        {part}," for part in parts), f"    ) -> {result}: ..."]
