"""Whether a parameter's value at a call has its declared type, as the end of a sentence."""

from __future__ import annotations

from typing import Any

from tileops.manifest.language.types import WordType, alternatives
from tileops.manifest.signature.model import Param, Signature
from tileops.manifest.values import adt_value, convert

_OBJECTS = frozenset({"int", "bool", "float", "complex", "Number", "str", "dict", "None"})


def check_param(param: Param, value: Any, signature: Signature) -> str | None:
    """What is wrong with a parameter's value, as "must ..., got ...", or None."""
    for member in alternatives(param.type):
        if isinstance(member, WordType) and member.word not in _OBJECTS | {"torch.dtype"}:
            return None
    adt = getattr(param.kind, "name", "")
    try:
        plain = value is None or isinstance(value, str | int | float | list | tuple)
        if adt in signature.adts and not plain:
            adt_value(value, signature.adts[adt])
            return None
        convert(value, param.type, signature.adts)
    except ValueError as error:
        return str(error)
    return None
