"""Operators as Python classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Kernel:
    """A Triton launcher by its place, imported on first use: "package.module:function"."""

    path: str


class Op:
    """Base of every operator class; see the family packages."""

    reference: ClassVar[Callable[..., Any] | None] = None
    kernel_types: ClassVar[Mapping[str, Kernel]] = {}
