"""Construction parameters: Python values against the type that the manifest gives them.

In: a manifest type text ("int | list[int] | None", "'none' | 'tanh'") and a value. Out: whether it
fits, and the canonical value: lists and tuples become tuples.
"""

from __future__ import annotations

import functools
import numbers
import re
from collections.abc import Callable
from typing import Any

import torch

from tileops.runtime.errors import CallError

Test = Callable[[Any], bool]

_SEQUENCE = re.compile(r"(list|tuple)\[(.*)\]")


def check(subject: str, name: str, text: str, value: Any) -> Any:
    """The canonical value of a parameter; CallError in one sentence when the type is wrong."""
    return checked(subject, name, text, fits(text), value)


def checked(subject: str, name: str, text: str, test: Test, value: Any) -> Any:
    """The same with the test of the type at hand, which a compiled region needs."""
    if not test(value):
        raise CallError(f"{subject}: {name} must be {text}, got {value!r} ({_kind(value)})")
    return tuple(value) if isinstance(value, list | tuple) else value


@functools.cache
def fits(text: str) -> Test:
    """The test of a type text; a type that nothing here knows admits every object."""
    tests = [_atom(part) for part in split(text, "|")]
    return tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)


def split(text: str, separator: str) -> list[str]:
    """Splits at separators that stand outside brackets and quotes."""
    parts, depth, quote, current = [], 0, "", ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "[(":
            depth += 1
        elif character in "])":
            depth -= 1
        elif character == separator and depth == 0:
            parts.append(current.strip())
            current = ""
            continue
        current += character
    parts.append(current.strip())
    return parts


def _is_int(value: Any) -> bool:
    return isinstance(value, int | torch.SymInt) and not isinstance(value, bool)


def _is_float(value: Any) -> bool:
    return isinstance(value, float | torch.SymFloat) or _is_int(value)


def _is_device(value: Any) -> bool:
    return isinstance(value, torch.device)


_WORDS: dict[str, Test] = {
    "int": _is_int,
    "bool": lambda value: isinstance(value, bool | torch.SymBool),
    "float": _is_float,
    "complex": lambda value: isinstance(value, complex) or _is_float(value),
    "Number": lambda value: isinstance(value, numbers.Number | torch.SymInt | torch.SymFloat),
    "str": lambda value: isinstance(value, str),
    "dict": lambda value: isinstance(value, dict),
    "None": lambda value: value is None,
    "torch.dtype": lambda value: isinstance(value, torch.dtype),
    "torch.device": _is_device,
    "tensor": lambda value: value is None or isinstance(value, torch.Tensor),
    "torch.Tensor": lambda value: isinstance(value, torch.Tensor),
}


def _atom(text: str) -> Test:
    if text in _WORDS:
        return _WORDS[text]
    if text[:1] in "'\"":
        literal = text[1:-1]
        return lambda value: isinstance(value, str) and value == literal
    sequence = _SEQUENCE.fullmatch(text)
    if sequence is not None:
        return _sequence(split(sequence[2], ","))
    dtype = getattr(torch, text.removeprefix("torch."), None)
    if isinstance(dtype, torch.dtype):
        return lambda value: value is dtype
    return lambda value: value is not None


def _sequence(items: list[str]) -> Test:
    """Lists and tuples are taken for each other; a fixed length is kept."""
    if len(items) == 1 or items[1:] == ["..."]:
        every = fits(items[0])
        return lambda value: isinstance(value, list | tuple) and all(map(every, value))
    tests = [fits(item) for item in items]
    return lambda value: (
        isinstance(value, list | tuple)
        and len(value) == len(tests)
        and all(test(item) for test, item in zip(tests, value, strict=True))
    )


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__
