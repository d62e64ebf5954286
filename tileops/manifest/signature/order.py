"""The order of parameters and inputs, and where a device parameter may stand.

In: the checker of an entry. Out: findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tileops.diagnostics import codes
from tileops.manifest.entry import Text
from tileops.manifest.language.types import (
    WordType,
    alternatives,
)

if TYPE_CHECKING:
    from tileops.manifest.signature.check import Checker


def check_order(checker: Checker) -> None:
    seen_default = seen_keyword = False
    for decl in checker.entry.params:
        keyword = decl.kw_only
        has_default = decl.default is not None
        if decl.tensor is not None:
            has_default, keyword = decl.tensor.optional is not False, False
        if not keyword and seen_keyword:
            order(checker, decl.name, "params", "a kw_only parameter")
        if not keyword and not has_default and seen_default:
            order(checker, decl.name, "params", "a parameter with a default")
        seen_keyword |= keyword
        seen_default |= has_default and not keyword
    seen_optional = seen_keyword = False
    for tensor in checker.entry.inputs:
        if tensor.dtype is None and tensor.shape is None:
            continue  # What stands in place of a tensor has no place among them.
        optional = tensor.optional is not False
        buffer = tensor.mutated is True and tensor.write_only
        misplaced = tensor.kw_only and not optional and not buffer
        if misplaced:
            checker.report(
                codes.BAD_ORDER,
                tensor.name.span,
                f"signature.inputs.{tensor.name}",
                f"{tensor.name} must be optional to be kw_only",
            )
        if not tensor.kw_only and seen_keyword:
            order(checker, tensor.name, "inputs", "a kw_only input")
        if not tensor.kw_only and not optional and seen_optional:
            order(checker, tensor.name, "inputs", "an optional input")
        seen_optional |= optional
        seen_keyword |= tensor.kw_only and not misplaced


def order(checker: Checker, name: Text, group: str, after: str) -> None:
    checker.report(
        codes.BAD_ORDER,
        name.span,
        f"signature.{group}.{name}",
        f"{name} must stand before {after}",
    )


def check_validate_inputs(checker: Checker) -> None:
    """The parameter that has contents checked at run time is a bool, and false by default."""
    param = next((item for item in checker.params if item.name == "validate_inputs"), None)
    if param is not None and (param.type != WordType("bool") or param.default is not False):
        checker.report(
            codes.BAD_DEFAULT,
            param.text.span,
            "signature.params.validate_inputs",
            "validate_inputs must be a bool with the default false",
        )


def check_device(checker: Checker) -> None:
    device = next((param for param in checker.params if param.name == "device"), None)
    if device is None:
        return
    words = {item.word for item in alternatives(device.type) if isinstance(item, WordType)}
    if "torch.device" in words and checker.entry.inputs:
        checker.report(
            codes.MISPLACED,
            device.text.span,
            "signature.params.device",
            "device must not be a parameter beside call-time tensors, whose device is theirs",
        )
