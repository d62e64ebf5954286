"""A YAML document as a frozen tree in which every node knows its place.

In: nothing. Out: the three kinds of node that `source` builds and `decode` reads. An alias is the
node that it names, so the tree may share nodes; it has no cycles and a bounded expansion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tileops.diagnostics.model import Span

Scalar: TypeAlias = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """One scalar: its value by YAML 1.1, and the text it was written as.

    `plain` says that it was written without quotes, so that `no` and `"no"` can be told apart.
    """

    value: Scalar
    text: str
    span: Span
    plain: bool

    def place(self, offset: int, length: int = 1) -> Span:
        """Where the character at `offset` of the text stands in the file.

        The whole scalar where that is not known: text with escapes, or over several lines.
        """
        quote = 0 if self.plain else 1
        if self.span.length != len(self.text) + 2 * quote:
            return self.span
        return self.span.shifted(offset + quote, length)


@dataclass(frozen=True, slots=True)
class SequenceNode:
    items: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class MappingNode:
    """Entries in the order of the text. Keys are distinct, but need not be strings."""

    entries: tuple[tuple[ScalarNode, Node], ...]
    span: Span

    def get(self, name: str) -> Node | None:
        """The value under the string key `name`."""
        for key, value in self.entries:
            if key.value == name and isinstance(key.value, str):
                return value
        return None


Node: TypeAlias = ScalarNode | SequenceNode | MappingNode
