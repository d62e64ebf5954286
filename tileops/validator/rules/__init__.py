"""Every rule, in the order in which an entry passes them."""

from tileops.validator.model import Rule
from tileops.validator.rules import code, docstring, parity, reference, static

RULES: tuple[Rule, ...] = (
    *static.RULES,
    *code.RULES,
    *parity.RULES,
    *docstring.RULES,
    *reference.RULES,
)

__all__ = ["RULES"]
