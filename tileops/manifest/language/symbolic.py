"""Arithmetic that serves Python ints and symbolic sizes alike, without importing torch.

On ints and bools every function is plain Python. A symbolic value is anything else; it is asked
through its own `__sym_*__` methods, and the two questions that need a shape environment go through
`Hooks`, which the torch side installs once. Nothing here takes the truth value of a symbolic one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class DomainError(ValueError):
    """A primitive was called outside its domain; the declaration that called it is named above."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What only the owner of symbolic values can answer.

    `guard_or_false(c)`: True when `c` is known to hold, without assuming it.
    `check(c, message)`: makes `c` a requirement of the traced program.
    """

    guard_or_false: Callable[[Any], bool]
    check: Callable[[Any, str], None]


_hooks: list[Hooks] = []


def install(hooks: Hooks) -> None:
    """Sets the hooks; the last call wins."""
    _hooks[:] = [hooks]


def known(condition: Any) -> bool:
    """Whether a condition certainly holds."""
    if condition is True or condition is False:
        return bool(condition)
    return _hooks[0].guard_or_false(condition)


def demand(condition: Any, message: str) -> None:
    """Raises `DomainError` unless the condition holds; a symbolic one becomes a requirement."""
    if condition is True:
        return
    if condition is False:
        raise DomainError(message)
    _hooks[0].check(condition, message)


#: Bits of a product of integers: far more than a cost needs, and too few to exhaust a machine.
MAX_BITS = 256


def times(a: Any, b: Any) -> Any:
    """a * b; integers stay numbers of ordinary length."""
    if isinstance(a, int) and isinstance(b, int) and a.bit_length() + b.bit_length() > MAX_BITS:
        raise DomainError(f"a product must fit {MAX_BITS} bits, got one that does not")
    return a * b


def maximum(a: Any, b: Any) -> Any:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a if a >= b else b
    return a.__sym_max__(b) if hasattr(a, "__sym_max__") else b.__sym_max__(a)


def minimum(a: Any, b: Any) -> Any:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a if a <= b else b
    return a.__sym_min__(b) if hasattr(a, "__sym_min__") else b.__sym_min__(a)


def choose(condition: Any, then: Any, otherwise: Any) -> Any:
    """`then if condition else otherwise` of two integers, both evaluated."""
    if condition is True:
        return then
    if condition is False:
        return otherwise
    return condition.__sym_ite__(then, otherwise)


def conditional(condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """`then() if condition else otherwise()`; one arm runs unless the condition is symbolic."""
    if condition is True:
        return then()
    if condition is False:
        return otherwise()
    return condition.__sym_ite__(then(), otherwise())


def negation(condition: Any) -> Any:
    return not condition if isinstance(condition, bool) else condition.__sym_not__()


def conjunction(first: Any, second: Callable[[], Any]) -> Any:
    """`first and second()`, the second not asked when the first is False."""
    if first is False:
        return False
    other = second()
    if first is True or other is False:
        return other
    return first if other is True else first & other


def disjunction(first: Any, second: Callable[[], Any]) -> Any:
    """`first or second()`, the second not asked when the first is True."""
    if first is True:
        return True
    other = second()
    if first is False or other is True:
        return other
    return first if other is False else first | other


def floor_div(a: Any, b: Any) -> Any:
    """`a // b` for a positive `b`."""
    if type(b) is not int or b <= 0:
        demand(b > 0, f"the divisor of // must be positive, got {b}")
    return a // b


def modulo(a: Any, b: Any) -> Any:
    """`a % b` for a positive `b`."""
    if type(b) is not int or b <= 0:
        demand(b > 0, f"the divisor of % must be positive, got {b}")
    return a % b


def member(value: Any, options: Any) -> Any:
    """`value in options`, comparing symbolic integers one by one."""
    result: Any = False
    for option in options:
        hit = value == option
        if hit is True:
            return True
        if hit is not False:
            result = hit if result is False else result | hit
    return result


def item_of(sequence: Any, index: Any) -> Any:
    """`sequence[index]`, outside of which is a domain error."""
    if not -len(sequence) <= index < len(sequence):
        raise DomainError(f"an index must lie in a sequence of {len(sequence)}, got {index}")
    return sequence[index]


def same_sequence(a: Any, b: Any) -> Any:
    """`a == b` of two sequences of integers."""
    count = len(a)
    if count != len(b):
        return False
    if count == 1:
        # The commonest case, at half the cost of the loop.
        return a[0] == b[0]
    result: Any = True
    # zip(strict=True) costs as much as a comparison, and the lengths are known to agree.
    for left, right in zip(a, b):  # noqa: B905
        if left is right:
            continue
        hit = left == right
        if hit is True:
            continue
        if hit is False:
            return False
        result = hit if result is True else result & hit
    return result
