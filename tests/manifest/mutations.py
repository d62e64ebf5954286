"""Every field of an entry, changed: deleted, retyped, duplicated, renamed, swapped.

In: the node of an entry. Out: changed nodes with words that say what was done.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from tileops.manifest.nodes import MappingNode, Node, ScalarNode, SequenceNode

Path = tuple[int, ...]

#: What a value is retyped to: other types, other sorts of text, hostile text.
VALUES: tuple[object, ...] = (
    None, True, 0, -1, 1.5, float("nan"), "", "x", "N", "[", "[*x]", "[N, N]", "[-1]", "[*N]", "1 +",
    "present(x)", "not present(x)", "x is None", "True", "float32", "float8_e4m3", "'a' | 'b'", "int",
    "lambda: 0", "(" * 60, "-" * 300 + "1", "1" + " + 1" * 300, "not " * 300 + "True", "DType[float16]",
    "Dim", "Shape", "list[int]", "N // 0", "N % 0", "x.value", "x.kind == 'a'", "F[N]", "é", "a" * 3000,
    "1" * 400, "2 ** 2", "prod(N)", "sum(n for n in N)", "broadcast(*S)", "None", "inf", "out", "self",
)  # fmt: skip


def paths(node: Node, at: Path = ()) -> Iterator[Path]:
    """The place of every node below: positions of children, from the root."""
    if isinstance(node, MappingNode):
        for position, (_, value) in enumerate(node.entries):
            yield (*at, position)
            yield from paths(value, (*at, position))
    elif isinstance(node, SequenceNode):
        for position, item in enumerate(node.items):
            yield (*at, position)
            yield from paths(item, (*at, position))


def mutate(root: Node, path: Path, rng: random.Random) -> tuple[str, Node]:
    """The tree with one node changed."""
    if len(path) == 1:
        return _change(root, path[0], rng)
    child = root.entries[path[0]][1] if isinstance(root, MappingNode) else _items(root)[path[0]]
    words, changed = mutate(child, path[1:], rng)
    return words, _put(root, path[0], changed)


def _items(node: Node) -> tuple[Node, ...]:
    assert isinstance(node, SequenceNode)
    return node.items


def _put(root: Node, at: int, child: Node) -> Node:
    if isinstance(root, MappingNode):
        entries = list(root.entries)
        entries[at] = (entries[at][0], child)
        return replace(root, entries=tuple(entries))
    items = list(_items(root))
    items[at] = child
    assert isinstance(root, SequenceNode)
    return replace(root, items=tuple(items))


def _change(parent: Node, at: int, rng: random.Random) -> tuple[str, Node]:
    kind = rng.choice(("delete", "retype", "retype", "retype", "duplicate", "rename", "swap"))
    if isinstance(parent, SequenceNode):
        items = list(parent.items)
        if kind == "delete":
            del items[at]
        elif kind == "duplicate":
            items.append(items[at])
        elif kind == "swap":
            other = rng.randrange(len(items))
            items[at], items[other] = items[other], items[at]
        else:
            items[at] = retyped(items[at], rng)
        return f"{kind} item {at}", replace(parent, items=tuple(items))
    assert isinstance(parent, MappingNode)
    entries = list(parent.entries)
    key, value = entries[at]
    if kind == "delete":
        del entries[at]
    elif kind == "duplicate":
        entries.append((_scalar(key, f"{key.text}2"), value))
    elif kind == "rename":
        name = rng.choice(
            (f"{key.text}_", "x", "N", "lambda", "1", True, 3, None, "a b", "out", "inf", "T")
        )
        if all(name != other.value for other, _ in entries):
            entries[at] = (_scalar(key, name), value)
    elif kind == "swap":
        other = rng.randrange(len(entries))
        entries[at] = (key, entries[other][1])
        entries[other] = (entries[other][0], value)
    else:
        entries[at] = (key, retyped(value, rng))
    return f"{kind} {key.text}", replace(parent, entries=tuple(entries))


def retyped(node: Node, rng: random.Random) -> Node:
    """Another value in the place of a node; text may also be cut or joined with other text."""
    span = node.span
    choice = rng.randrange(len(VALUES) + 12)
    if isinstance(node, ScalarNode) and isinstance(node.value, str) and choice >= len(VALUES) + 4:
        text = node.value
        cut = rng.randrange(len(text) + 1)
        insert = rng.choice(
            ("", "(", ")", "*", "-", " if ", " and ", "N", "x", ".", ",", "1", "not ")
        )
        end = min(len(text), cut + rng.randrange(3))
        return ScalarNode(text[:cut] + insert + text[end:], text, span, False)
    if choice < len(VALUES):
        value = VALUES[choice]
        return ScalarNode(value, str(value), span, False)  # type: ignore[arg-type]
    scalar = ScalarNode("x", "x", span, True)
    if choice % 2:
        return SequenceNode((node, scalar), span)
    return MappingNode(((scalar, node),), span)


def _scalar(key: ScalarNode, value: object) -> ScalarNode:
    return ScalarNode(value, str(value), key.span, True)  # type: ignore[arg-type]
