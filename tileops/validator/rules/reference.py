"""The reference API that an entry names."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from tileops.diagnostics import codes
from tileops.validator.model import Phase, Rule, Subject


def resolve(path: str) -> Any:
    """The object at a dotted path, through packages and attributes. Raises LookupError."""
    parts = path.split(".")
    try:
        found = importlib.import_module(parts[0])
    except Exception as error:
        raise LookupError(f"{parts[0]} cannot be imported: {error}") from None
    for at, part in enumerate(parts[1:], start=1):
        if not hasattr(found, part):
            try:
                found = importlib.import_module(".".join(parts[: at + 1]))
                continue
            except Exception:
                raise LookupError(f"{'.'.join(parts[:at])} has no {part}") from None
        found = getattr(found, part)
    return found


def reference_api(subject: Subject) -> None:
    """`ref_api` resolves; an advisory where its package is not installed, save in a nightly run."""
    text = subject.entry.ref_api
    if text is None:
        return
    top = text.text.partition(".")[0]
    installed = top.isidentifier() and importlib.util.find_spec(top) is not None
    if not installed and not subject.options.nightly:
        subject.report(
            codes.NO_REFERENCE_PACKAGE,
            f"ref_api must resolve, {top} is not installed here",
            span=text.span,
            field="ref_api",
        )
        return
    try:
        resolve(text.text)
    except LookupError as error:
        subject.report(
            codes.NO_REFERENCE_API,
            f"ref_api must resolve, got {text}: {error}",
            span=text.span,
            field="ref_api",
        )


RULES = (Rule("reference", "ref_api resolves", Phase.CODE, reference_api),)
