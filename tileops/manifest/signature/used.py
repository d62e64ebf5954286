"""Indices and lets that nothing uses: an advisory, since they do no harm.

In: the checker of an entry and its signature. Out: findings. Texts that other stages parse (values,
requires, roofline) are searched for the name as a word.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tileops.diagnostics import codes
from tileops.manifest.entry import Entry, Text
from tileops.manifest.language.syntax import names_in, shape_exprs
from tileops.manifest.signature.model import Signature

if TYPE_CHECKING:
    from tileops.manifest.signature.check import Checker


def check_used(checker: Checker, signature: Signature) -> None:
    """Reports every index and let that nothing reads."""
    used = _names(signature) | _words(checker.entry)
    # A roofline function receives every index and let.
    priced = checker.entry.roofline is not None and checker.entry.roofline.func is not None
    for decl in checker.entry.forall:
        if decl.name.text not in used:
            _report(checker, decl.name, "index", f"signature.forall.{decl.name}")
    for let in checker.entry.lets:
        if let.name.text not in used and not priced:
            _report(checker, let.name, "let", f"signature.let.{let.name}")


def _report(checker: Checker, name: Text, what: str, path: str) -> None:
    checker.report(codes.UNUSED, name.span, path, f"the {what} {name} should be used by something")


def _names(signature: Signature) -> frozenset[str]:
    found: set[str] = set()
    for tensor in signature.tensors:
        for expr in (tensor.dtype, *shape_exprs(tensor.shape)):
            found |= names_in(expr)
    for rule in signature.rules:
        found |= names_in(rule.expr)
    for let in signature.lets:
        found |= names_in(let.expr)
    return frozenset(found)


def _words(entry: Entry) -> frozenset[str]:
    texts: list[Text | None] = []
    for tensor in (*entry.inputs, *entry.outputs):
        texts += [tensor.values, *tensor.requires]
    if entry.roofline is not None:
        texts += [entry.roofline.flops, entry.roofline.bytes]
    found: set[str] = set()
    for text in texts:
        found |= set(re.findall(r"\w+", "" if text is None else text.text))
    return frozenset(found)
