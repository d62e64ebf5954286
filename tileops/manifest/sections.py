"""Located nodes -> sections, names, flags and text. Legal keys are `SECTIONS`, and nowhere else.

In: nodes of one entry. Out: their values, with a finding and a path in `unreadable` for each that
cannot be read. What an entry is made of is `tileops.manifest.decode`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tileops.diagnostics import codes
from tileops.diagnostics.model import Code, Findings, Label, Span
from tileops.manifest.entry import Text
from tileops.manifest.nodes import MappingNode, Node, ScalarNode, SequenceNode

#: Section -> its legal keys; a key marked with `!` is required.
SECTIONS: dict[str, tuple[str, ...]] = {
    "entry": (
        "family!",
        "status!",
        "ref_api",
        "signature!",
        "workloads!",
        "roofline!",
        "composition",
    ),
    "signature": (
        "forall",
        "params",
        "inputs",
        "outputs",
        "types",
        "let",
        "shape_rules",
        "dtype_combos",
    ),
    "param": ("type!", "default", "kw_only"),
    "construction tensor": ("dtype!", "shape!", "optional", "contiguous", "device"),
    "input": (
        "dtype!",
        "shape!",
        "optional",
        "kw_only",
        "mutated",
        "write_only",
        "contiguous",
        "device",
        "values",
        "requires",
    ),
    "output": ("dtype!", "shape!", "nullable", "buffer", "alias", "contiguous"),
    "type family": ("params!", "match!", "cases!"),
    "case": ("when!", "is!"),
    "roofline": ("flops", "bytes", "func"),
    "composition": ("kind!", "stages!"),
    "stage": ("name!", "op", "kernel", "optional"),
}


#: What to do about a merge key.
MERGE = "merge keys are not read, write the fields out"


@dataclass(slots=True)
class Reader:
    """Typed access to the nodes of one entry; what is wrong becomes a finding."""

    op: str
    findings: Findings
    unreadable: set[str] = field(default_factory=set)
    #: Sections with a merge key, and sections none of whose keys is one of theirs.
    merged: set[str] = field(default_factory=set)
    foreign: set[str] = field(default_factory=set)

    def report(
        self,
        code: Code,
        span: Span,
        path: str,
        message: str,
        *,
        help: str = "",
        labels: tuple[Label, ...] = (),
        lost: bool = True,
    ) -> None:
        """One finding; `lost` when the field at `path` is not available after it."""
        self.findings.add(code, span, message, op=self.op, field=path, help=help, labels=labels)
        if lost:
            self.unreadable.add(path)

    # --- sections -----------------------------------------------------------------------------

    def section(self, node: Node | None, name: str, path: str) -> dict[str, Node] | None:
        """The keys of a fixed section, checked against `SECTIONS`."""
        if not isinstance(node, MappingNode):
            if node is not None:
                self.wrong(node, path, "a mapping")
            return None
        legal = {key.rstrip("!") for key in SECTIONS[name]}
        result: dict[str, Node] = {}
        if any(key.value == "<<" for key, _ in node.entries):
            self.merged.add(path)
        for key, value in node.entries:
            if isinstance(key.value, str) and key.value in legal:
                result[key.value] = value
            else:
                known = ", ".join(item.rstrip("!") for item in SECTIONS[name])
                self.report(
                    codes.UNKNOWN_KEY,
                    key.span,
                    f"{path}.{key.text}" if path else key.text,
                    f"{key.value!r} must be a key of {name}, legal are {known}",
                    help=MERGE if key.value == "<<" else "",
                    lost=False,
                )
        if node.entries and not result:
            self.foreign.add(path)
        return result

    def required(self, keys: dict[str, Node], name: str, path: str, at: Span) -> None:
        for key in SECTIONS[name]:
            if key.endswith("!") and key[:-1] not in keys:
                where = f"{path}.{key[:-1]}" if path else key[:-1]
                if path in self.merged | self.foreign:
                    # Its keys were reported, of which none is one of these.
                    self.unreadable.add(where)
                    continue
                self.report(codes.MISSING_KEY, at, where, f"{path or self.op} must have {key[:-1]}")

    def named(self, node: Node | None, path: str) -> Iterator[tuple[Text, Node]]:
        """The entries of a mapping whose keys are names."""
        if node is None:
            return
        if not isinstance(node, MappingNode):
            self.wrong(node, path, "a mapping of names")
            return
        for key, value in node.entries:
            name = key.value
            # Other letters may look like these ones, and expressions are ASCII.
            if not isinstance(name, str) or not (name.isidentifier() and name.isascii()):
                self.report(
                    codes.BAD_NAME,
                    key.span,
                    f"{path}.{key.text}",
                    f"{path} must map names of ASCII letters, digits and _, got the key {name!r}",
                    help=MERGE if name == "<<" else "",
                )
                self.unreadable.add(path)
                continue
            yield Text(name, key), value

    def items(self, node: Node | None, path: str) -> tuple[Node, ...]:
        if node is None:
            return ()
        if not isinstance(node, SequenceNode):
            self.wrong(node, path, "a list")
            return ()
        return node.items

    def wrong(self, node: Node, path: str, expected: str) -> None:
        got = {MappingNode: "a mapping", SequenceNode: "a list"}.get(type(node))
        if isinstance(node, SequenceNode) and not node.items:
            got = "an empty list"
        if isinstance(node, ScalarNode):
            got = "nothing" if node.value is None else repr(node.value)
        self.report(codes.WRONG_TYPE, node.span, path, f"{path} must be {expected}, got {got}")

    # --- scalars ------------------------------------------------------------------------------

    def text(self, node: Node | None, path: str, *, number: bool = False) -> Text | None:
        """A string; with `number`, also an integer or float, which stands for its own text."""
        if node is None:
            return None
        if isinstance(node, ScalarNode):
            if isinstance(node.value, str):
                return Text(node.value, node)
            if number and isinstance(node.value, bool | int | float):
                return Text(repr(node.value), node)
        self.wrong(node, path, "text")
        return None

    def flag(self, node: Node | None, path: str) -> bool:
        if node is None:
            return False
        if isinstance(node, ScalarNode) and isinstance(node.value, bool):
            return node.value
        self.wrong(node, path, "true or false")
        return False

    def flag_or_text(self, node: Node | None, path: str) -> bool | Text:
        if node is None:
            return False
        if isinstance(node, ScalarNode) and isinstance(node.value, bool):
            return node.value
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            return Text(node.value, node)
        self.wrong(node, path, "true, false or an expression")
        return False

    def device(self, node: Node | None, path: str) -> bool:
        text = self.text(node, path)
        if text is not None and text.text != "cpu":
            self.report(codes.WRONG_TYPE, text.span, path, f"{path} must be cpu, got {text.text!r}")
        return text is not None

    def texts(self, node: Node | None, path: str) -> tuple[Text, ...]:
        found = (
            self.text(item, f"{path}[{at}]", number=True)
            for at, item in enumerate(self.items(node, path))
        )
        return tuple(text for text in found if text is not None)

    def shape(self, node: Node | None, path: str) -> Text | None:
        if isinstance(node, SequenceNode):
            self.report(
                codes.WRONG_TYPE,
                node.span,
                path,
                f"{path} must be text, got a list",
                help='quote the shape: "[B, N]"',
            )
            return None
        return self.text(node, path)

    def distinct(self, name: Text, seen: dict[str, Text], path: str, what: str) -> None:
        first = seen.setdefault(name.text, name)
        if first is not name:
            self.report(
                codes.DUPLICATE_NAME,
                name.span,
                path,
                f"the {what} {name} must have a name of its own, got one that is taken",
                labels=(Label(first.span, "first declared here"),),
            )
