"""The docstring of a class: the sections that a caller needs."""

from __future__ import annotations

import inspect
import re

from tileops.diagnostics import codes
from tileops.validator.code import class_or_none
from tileops.validator.model import Phase, Rule, Subject


def sections(text: str) -> dict[str, str]:
    """The sections of a docstring: a capitalised word and a colon at the start of a line."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        head = re.match(r"([A-Z][a-z]+):(.*)", line)
        if head is not None:
            name = head.group(1)
            found[name] = [head.group(2)]
        elif name:
            found[name].append(line)
    return {key: "\n".join(lines).strip() for key, lines in found.items()}


def docstring(subject: Subject) -> None:
    """Shapes names every tensor; Errors, Reference and, with validate_inputs, Unchecked exist."""
    found = class_or_none(subject)
    if found is None or subject.signature is None:
        return
    have = sections(inspect.cleandoc(found.__doc__ or ""))
    wanted = ["Shapes", "Errors", "Reference"]
    if subject.signature.param("validate_inputs") is not None:
        wanted.append("Unchecked")
    missing = [name for name in wanted if not have.get(name)]
    if missing:
        subject.report(
            codes.BAD_DOCSTRING,
            f"the docstring of {subject.entry.op} must have the sections {', '.join(wanted)},"
            f" got none of the name {', '.join(missing)}",
        )
    shapes = have.get("Shapes", "")
    unnamed = [
        tensor.name
        for tensor in subject.signature.tensors
        if re.search(rf"\b{re.escape(tensor.name)}\b", shapes) is None
    ]
    if shapes and unnamed:
        subject.report(
            codes.BAD_DOCSTRING,
            f"the section Shapes of {subject.entry.op} must name every tensor, got none named"
            f" {', '.join(unnamed)}",
        )


RULES = (Rule("docstring", "the class says shapes, errors and reference", Phase.CODE, docstring),)
