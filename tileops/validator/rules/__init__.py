"""Every rule, in the order in which an entry passes them."""

from tileops.validator.model import Rule
from tileops.validator.rules import (
    code,
    docstring,
    effects,
    named_code,
    parity,
    reference,
    requires,
    static,
)

RULES: tuple[Rule, ...] = (
    *static.RULES,
    *effects.RULES,
    *requires.RULES,
    *code.RULES,
    *parity.RULES,
    *docstring.RULES,
    *reference.RULES,
    *named_code.RULES,
)

__all__ = ["RULES"]
