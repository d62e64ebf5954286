"""The events of a YAML parser -> the frozen tree of `nodes`, within limits.

In: the text of one document. Out: its root node, or findings. The tree is built from events and not
by the parser's composer, which recurses as deep as the text nests and knows no limits.
"""

from __future__ import annotations

from typing import Any

import yaml
from yaml import SafeLoader
from yaml.constructor import SafeConstructor
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from tileops.diagnostics import codes
from tileops.diagnostics.model import Code, Findings, Label, Span
from tileops.diagnostics.text import shorten, split_lines
from tileops.manifest.nodes import MappingNode, Node, Scalar, ScalarNode, SequenceNode

MAX_DEPTH = 40
MAX_NODES = 500_000
MAX_EXPANSION = 100_000
MAX_FINDINGS = 100
# Longer plain scalars are text: YAML's base-60 numbers take quadratic time to convert.
MAX_NUMBER = 200

_LOADER: Any = getattr(yaml, "CSafeLoader", SafeLoader)
_TAG = "tag:yaml.org,2002:"
_CONSTRUCTORS = {
    _TAG + "int": SafeConstructor.construct_yaml_int,
    _TAG + "float": SafeConstructor.construct_yaml_float,
    _TAG + "bool": SafeConstructor.construct_yaml_bool,
    _TAG + "null": SafeConstructor.construct_yaml_null,
}
_CONSTRUCTOR = SafeConstructor()
# First characters of plain text that may be something else than text.
_RESOLVABLE = frozenset(SafeLoader.yaml_implicit_resolvers)
# What plain text may resolve to and is a string here: the manifest has no dates and no merge keys.
_TEXT_TAGS = {_TAG + "str", "!"}
_SEQUENCE_TAGS = {None, "!", _TAG + "seq"}
_MAPPING_TAGS = {None, "!", _TAG + "map"}


class Stop(Exception):
    """Ends the building of a tree; the reason is among the findings already."""


class _Frame:
    """A collection that is still open."""

    __slots__ = ("anchor", "children", "height", "mapping", "span", "weight")

    def __init__(self, mapping: bool, anchor: str | None, span: Span) -> None:
        self.mapping = mapping
        self.anchor = anchor
        self.span = span
        self.children: list[Node] = []
        self.weight = 1
        self.height = 1


class TreeBuilder:
    """Turns the events of one document into a tree."""

    def __init__(self, text: str, file: str, first_line: int, findings: Findings) -> None:
        self.text = text
        self.file = file
        self.shift = first_line
        self.findings = findings
        self.findings_before = len(findings)
        self.lines = split_lines(text)
        self.stack: list[_Frame] = []
        # Anchor -> node, its number of nodes when aliases are written out, and its height.
        self.anchors: dict[str, tuple[Node, int, int]] = {}
        self.open_anchors: set[str] = set()
        self.resolved: dict[str, tuple[Scalar]] = {}
        self.nodes = 0
        self.expanded = 0
        self.root: Node | None = None

    def build(self) -> Node | None:
        try:
            loader = _LOADER(self.text)
            try:
                self._read(loader)
            finally:
                loader.dispose()
        except yaml.MarkedYAMLError as error:
            self._syntax_error(error)
        except (yaml.YAMLError, UnicodeError) as error:
            start = Span(self.file, self.shift, 1)
            message = f"the text must be YAML, got: {shorten(str(error))}"
            raise self._stop(codes.YAML_SYNTAX, start, message) from None
        return self.root

    def _read(self, loader: Any) -> None:
        take = {
            ScalarEvent: self._scalar,
            MappingStartEvent: self._open,
            SequenceStartEvent: self._open,
            MappingEndEvent: self._close,
            SequenceEndEvent: self._close,
            AliasEvent: self._alias,
            DocumentStartEvent: self._document,
        }
        self.resolve = loader.resolve
        while (event := loader.get_event()) is not None:
            handle = take.get(type(event))
            if handle is not None:
                handle(event)

    def _document(self, event: Any) -> None:
        if self.root is not None:
            message = "a file must hold one YAML document, got the start of a second"
            raise self._stop(codes.YAML_SYNTAX, self._span(event), message)

    def _scalar(self, event: Any) -> None:
        span = self._span(event)
        text: str = event.value
        tag = event.tag
        value: Scalar = text
        if tag is not None:
            value = self._value(tag, text, span)
        elif event.implicit[0] and text[:1] in _RESOLVABLE and len(text) <= MAX_NUMBER:
            # The same numbers and words come again and again, and resolving one takes 10 us.
            known = self.resolved.get(text)
            if known is None:
                tag = self.resolve(yaml.ScalarNode, text, (True, False))
                if tag in _CONSTRUCTORS:
                    value = self._value(tag, text, span)
                if self.findings_before == len(self.findings):
                    self.resolved[text] = (value,)
            else:
                value = known[0]
        node = ScalarNode(value, text, span, not event.style)
        if event.anchor is not None:
            self.anchors[event.anchor] = (node, 1, 1)
        self._add(node, 1, 1)

    def _value(self, tag: str, text: str, span: Span) -> Scalar:
        if tag in _TEXT_TAGS:
            return text
        construct = _CONSTRUCTORS.get(tag)
        if construct is None:
            self._unknown_tag(tag, span)
            return text
        kind = tag.removeprefix(_TAG)
        try:
            if len(text) > MAX_NUMBER:
                raise ValueError
            value: Scalar = construct(_CONSTRUCTOR, yaml.ScalarNode(tag, text))
        except (ValueError, LookupError, ArithmeticError):
            message = f"a YAML {kind} must denote one, got {shorten(text)!r}"
            self._report(codes.BAD_SCALAR, span, message)
            return text
        return value

    def _open(self, event: Any) -> None:
        mapping = isinstance(event, MappingStartEvent)
        place = self._span(event)
        span = Span(place.file, place.line, place.column)
        if event.tag not in (_MAPPING_TAGS if mapping else _SEQUENCE_TAGS):
            self._unknown_tag(event.tag, span)
        if len(self.stack) >= MAX_DEPTH:
            raise self._too_deep(span)
        if event.anchor is not None:
            self.open_anchors.add(event.anchor)
        self.stack.append(_Frame(mapping, event.anchor, span))

    def _close(self, event: Any) -> None:
        frame = self.stack.pop()
        node: Node
        if frame.mapping:
            node = MappingNode(self._entries(frame.children), frame.span)
        else:
            node = SequenceNode(tuple(frame.children), frame.span)
        if frame.anchor is not None:
            self.open_anchors.discard(frame.anchor)
            self.anchors[frame.anchor] = (node, frame.weight, frame.height)
        self._add(node, frame.weight, frame.height)

    def _entries(self, children: list[Node]) -> tuple[tuple[ScalarNode, Node], ...]:
        entries: dict[tuple[type, Scalar], tuple[ScalarNode, Node]] = {}
        for key, value in zip(children[::2], children[1::2], strict=True):
            if not isinstance(key, ScalarNode):
                kind = "a mapping" if isinstance(key, MappingNode) else "a sequence"
                self._report(codes.COMPLEX_KEY, key.span, f"a key must be a scalar, got {kind}")
                continue
            identity = (type(key.value), key.value)
            if identity in entries:
                first = Label(entries[identity][0].span, "first given here")
                shown = shorten(repr(key.value))
                message = f"a mapping must have distinct keys, got {shown} again"
                self._report(codes.DUPLICATE_KEY, key.span, message, (first,))
                continue
            entries[identity] = (key, value)
        return tuple(entries.values())

    def _alias(self, event: Any) -> None:
        span = self._span(event)
        shown = shorten(event.anchor)
        if event.anchor in self.open_anchors:
            message = f"an alias must not stand inside its own anchor, got '*{shown}'"
            raise self._stop(codes.ALIAS_EXPANSION, span, message)
        if event.anchor not in self.anchors:
            message = f"an alias must name an anchor before it, got '*{shown}'"
            raise self._stop(codes.YAML_SYNTAX, span, message)
        node, weight, height = self.anchors[event.anchor]
        self.expanded += weight
        if self.expanded > MAX_EXPANSION:
            message = f"aliases must expand to at most {MAX_EXPANSION} nodes in all, got more"
            raise self._stop(codes.ALIAS_EXPANSION, span, message)
        if len(self.stack) + height > MAX_DEPTH + 1:
            raise self._too_deep(span)
        self._add(node, weight, height)

    def _add(self, node: Node, weight: int, height: int) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            message = f"a file must hold at most {MAX_NODES} YAML nodes, got more"
            raise self._stop(codes.FILE_TOO_LARGE, node.span, message)
        if not self.stack:
            self.root = node
            return
        frame = self.stack[-1]
        frame.children.append(node)
        frame.weight += weight
        if frame.height <= height:
            frame.height = height + 1

    def _span(self, event: Any) -> Span:
        """The place of an event; what goes over several lines ends with the first."""
        start, end = event.start_mark, event.end_mark
        line, column = start.line, start.column
        if end.line == line:
            length = end.column - column
        else:
            length = len(self.lines[line].rstrip()) - column if line < len(self.lines) else 1
        return Span(self.file, line + self.shift, column + 1, length if length > 0 else 1)

    def offset_span(self, offset: int) -> Span:
        """The place of the character at `offset` in the text."""
        before = split_lines(self.text[:offset])
        return Span(self.file, len(before) - 1 + self.shift, len(before[-1]) + 1)

    def _syntax_error(self, error: yaml.MarkedYAMLError) -> None:
        mark = error.problem_mark or error.context_mark
        span = Span(self.file, self.shift, 1)
        if mark is not None:
            # A missing bracket is noticed at the end of the text, maybe past its last line.
            line = min(mark.line, max(len(self.lines) - 1, 0))
            column = mark.column if line == mark.line else len(self.lines[line])
            span = Span(self.file, line + self.shift, column + 1)
        labels: tuple[Label, ...] = ()
        context = error.context_mark
        if error.context and context is not None and context.line + self.shift != span.line:
            place = Span(self.file, context.line + self.shift, context.column + 1)
            labels = (Label(place, error.context),)
        reason = error.problem or error.context or "it cannot be parsed"
        if "nesting depth" in reason:
            # libyaml looks ahead within a line and meets its own limit before ours is asked.
            raise self._too_deep(span)
        self._report(codes.YAML_SYNTAX, span, f"the text must be YAML, got: {reason}", labels)
        raise Stop

    def _unknown_tag(self, tag: str, span: Span) -> None:
        message = f"a value must not carry a YAML tag of its own, got {shorten(tag)!r}"
        self._report(codes.UNKNOWN_TAG, span, message)

    def _too_deep(self, span: Span) -> Stop:
        message = f"the text must nest at most {MAX_DEPTH} levels deep, got more"
        return self._stop(codes.TOO_DEEP, span, message)

    def _stop(self, code: Code, span: Span, message: str) -> Stop:
        self.findings.add(code, span, message)
        return Stop()

    def _report(self, code: Code, span: Span, message: str, labels: tuple[Label, ...] = ()) -> None:
        if len(self.findings) - self.findings_before >= MAX_FINDINGS:
            raise Stop
        self.findings.add(code, span, message, labels=labels)
