"""Values of indices as a row writes them: integers, lists, and calls of value primitives.

In: a node and the index's kind. Out: an int, a tuple or a list, or `ValueError` with what the
value must be.
"""

from __future__ import annotations

from typing import Any

from tileops.diagnostics.text import shorten
from tileops.manifest.language.evaluate import evaluate
from tileops.manifest.language.kinds import DimKind, Kind, SeqKind
from tileops.manifest.language.parse import ExprError, parse_expression
from tileops.manifest.language.primitives import PRIMITIVES
from tileops.manifest.language.symbolic import DomainError
from tileops.manifest.language.syntax import Call, Literal, Negate
from tileops.manifest.nodes import Node
from tileops.manifest.values import fits_64, plain


def index_value(node: Node, kind: Kind) -> Any:
    """The value of a Dim, Shape or Seq[Int] index. Raises ValueError."""
    value = plain(node)
    if isinstance(kind, DimKind):
        if _is_int(value) and value >= 0 and fits_64(value):
            return value
        if _is_int(value) and value >= 0:
            raise ValueError(f"must fit 64 bits, got {shorten(repr(value))}")
        raise ValueError(f"must be an integer of at least 0, got {shorten(repr(value))}")
    if isinstance(kind, SeqKind) and isinstance(value, str):
        return _value_call(value)
    if isinstance(value, list) and all(_is_int(item) and fits_64(item) for item in value):
        if isinstance(kind, SeqKind):
            return value
        if all(item >= 0 for item in value):
            return tuple(value)
    also = " or a call of a value primitive" if isinstance(kind, SeqKind) else ", none negative"
    raise ValueError(f"must be a list of integers{also}, got {shorten(repr(value), 200)}")


def _value_call(text: str) -> list[int]:
    names = ", ".join(name for name, item in PRIMITIVES.items() if item.yields_list)
    try:
        node = parse_expression(text)
        if not isinstance(node, Call) or not PRIMITIVES[node.function].yields_list:
            raise ValueError(f"must be a list of integers or a call of {names}, got {text!r}")
        for item in (*node.args, *(value for _, value in node.keywords)):
            inner = item.operand if isinstance(item, Negate) else item
            if not isinstance(inner, Literal) or not _is_int(inner.value):
                raise ValueError(f"must call {node.function} over integer literals, got {item}")
        return list(evaluate(node, {}))
    except (ExprError, DomainError) as error:
        raise ValueError(f"{text!r}: {error}") from None
    except (KeyError, TypeError):
        raise ValueError(f"must be a call of {names}, got {text!r}") from None


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
