"""Located tree -> `Entry`. The legal keys of every section are `sections.SECTIONS`.

In: the node of one entry and its key. Out: an `Entry` and findings. Decoding is per field: what
cannot be read becomes a finding and a path in `Entry.unreadable`, and the rest is kept.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import replace

from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings, Span
from tileops.manifest.entry import (
    CaseDecl,
    ComboDecl,
    CompositionDecl,
    Entry,
    FamilyDecl,
    IndexDecl,
    LetDecl,
    ParamDecl,
    RooflineDecl,
    RowDecl,
    StageDecl,
    TensorDecl,
    Text,
)
from tileops.manifest.nodes import MappingNode, Node, ScalarNode, SequenceNode
from tileops.manifest.sections import Reader

STATUSES = ("implemented", "spec-only")

#: Names that no tensor, parameter, index or let may have, beside keywords and `__names__`.
RESERVED = frozenset({"inf", "self", "target"})

_FAMILY = re.compile(r"[a-z][a-z0-9_]*")
_OP_NAME = re.compile(r"[A-Z][A-Za-z0-9]*Op")


def decode_entry(key: ScalarNode, node: Node, findings: Findings) -> Entry | None:
    """The entry under `key`, or None when it is no mapping or its key no name."""
    if not isinstance(key.value, str):
        findings.add(
            codes.BAD_OP_NAME, key.span, f"an entry's key must be a class name, got {key.value!r}"
        )
        return None
    return _Decoder(key.value, findings).entry(key, node)


class _Decoder(Reader):
    def entry(self, key: ScalarNode, node: Node) -> Entry | None:
        if not isinstance(node, MappingNode):
            self.wrong(node, self.op, "a mapping")
            return None
        if not _OP_NAME.fullmatch(self.op):
            self.report(
                codes.BAD_OP_NAME,
                key.span,
                "",
                f"an entry's key must be {{PascalCaseName}}[Fwd|Bwd]Op, got {self.op!r}",
            )
        keys = self.section(node, "entry", "") or {}
        self.required(keys, "entry", "", key.span)
        signature = self.section(keys.get("signature"), "signature", "signature") or {}
        status = self.text(keys.get("status"), "status")
        if status is not None and status.text not in STATUSES:
            self.report(
                codes.WRONG_TYPE,
                status.span,
                "status",
                f"status must be {' or '.join(STATUSES)}, got {status.text!r}",
            )
        entry = Entry(
            name=Text(self.op, key),
            family=self.family(keys.get("family")),
            status=status,
            ref_api=self.ref_api(keys.get("ref_api")),
            forall=tuple(self.forall(signature.get("forall"))),
            params=tuple(self.params(signature.get("params"))),
            inputs=tuple(self.tensors(signature.get("inputs"), "input", "inputs")),
            outputs=tuple(self.tensors(signature.get("outputs"), "output", "outputs")),
            types=tuple(self.families(signature.get("types"))),
            lets=tuple(self.lets(signature.get("let"))),
            rules=self.texts(signature.get("shape_rules"), "signature.shape_rules"),
            combos=tuple(self.combos(signature.get("dtype_combos"))),
            workloads=tuple(self.rows(keys.get("workloads"))),
            roofline=self.roofline(keys.get("roofline")),
            composition=self.composition(keys.get("composition"), node),
        )
        self.check_names(entry)
        if not entry.inputs and not entry.outputs and "signature" in keys:
            self.report(
                codes.MISSING_KEY, key.span, "signature", f"{self.op} must have inputs or outputs"
            )
        return replace(entry, unreadable=frozenset(self.unreadable))

    def family(self, node: Node | None) -> Text | None:
        """The family, which becomes part of names in generated text."""
        text = self.text(node, "family")
        if text is not None and not _FAMILY.fullmatch(text.text):
            self.report(
                codes.BAD_NAME,
                text.span,
                "family",
                f"family must be a name in lower case, got {text.text!r}",
            )
            return None
        return text

    def ref_api(self, node: Node | None) -> Text | None:
        text = self.text(node, "ref_api")
        if text is not None and not all(part.isidentifier() for part in text.text.split(".")):
            message = f"ref_api must be a qualified name, got {text.text!r}"
            self.report(codes.BAD_NAME, text.span, "ref_api", message)
            return None
        return text

    def forall(self, node: Node | None) -> Iterator[IndexDecl]:
        for name, value in self.named(node, "signature.forall"):
            kind = self.text(value, f"signature.forall.{name}")
            if kind is not None:
                yield IndexDecl(name, kind)

    def params(self, node: Node | None) -> Iterator[ParamDecl]:
        for name, value in self.named(node, "signature.params"):
            path = f"signature.params.{name}"
            if isinstance(value, MappingNode) and (value.get("dtype") or value.get("shape")):
                tensor = self.tensor(name, value, "construction tensor", path)
                if tensor is not None:
                    yield ParamDecl(name, None, tensor=tensor)
                continue
            keys = self.section(value, "param", path)
            if keys is None:
                continue
            self.required(keys, "param", path, name.span)
            yield ParamDecl(
                name,
                self.text(keys.get("type"), f"{path}.type"),
                keys.get("default"),
                self.flag(keys.get("kw_only"), f"{path}.kw_only"),
            )

    def tensors(self, node: Node | None, section: str, group: str) -> Iterator[TensorDecl]:
        for name, value in self.named(node, f"signature.{group}"):
            tensor = self.tensor(name, value, section, f"signature.{group}.{name}")
            if tensor is not None:
                yield tensor

    def tensor(self, name: Text, node: Node, section: str, path: str) -> TensorDecl | None:
        keys = self.section(node, section, path)
        if keys is None:
            return None
        self.required(keys, section, path, name.span)
        return TensorDecl(
            name=name,
            dtype=self.text(keys.get("dtype"), f"{path}.dtype"),
            shape=self.shape(keys.get("shape"), f"{path}.shape"),
            optional=self.flag_or_text(keys.get("optional"), f"{path}.optional"),
            nullable=self.text(keys.get("nullable"), f"{path}.nullable"),
            kw_only=self.flag(keys.get("kw_only"), f"{path}.kw_only"),
            mutated=self.flag_or_text(keys.get("mutated"), f"{path}.mutated"),
            write_only=self.flag(keys.get("write_only"), f"{path}.write_only"),
            buffer=self.text(keys.get("buffer"), f"{path}.buffer"),
            alias=self.text(keys.get("alias"), f"{path}.alias"),
            contiguous=self.flag(keys.get("contiguous"), f"{path}.contiguous"),
            on_cpu=self.device(keys.get("device"), f"{path}.device"),
            values=self.text(keys.get("values"), f"{path}.values"),
            requires=self.texts(keys.get("requires"), f"{path}.requires"),
        )

    def families(self, node: Node | None) -> Iterator[FamilyDecl]:
        for name, value in self.named(node, "signature.types"):
            path = f"signature.types.{name}"
            keys = self.section(value, "type family", path)
            if keys is None:
                continue
            self.required(keys, "type family", path, name.span)
            formals = []
            for formal, kind in self.named(keys.get("params"), f"{path}.params"):
                text = self.text(kind, f"{path}.params.{formal}")
                if text is not None:
                    formals.append((formal, text))
            match_node = keys.get("match")
            listed = isinstance(match_node, SequenceNode)
            parts = match_node.items if isinstance(match_node, SequenceNode) else (match_node,)
            found = (self.text(part, f"{path}.match") for part in parts)
            cases = keys.get("cases")
            yield FamilyDecl(
                name,
                tuple(formals),
                tuple(text for text in found if text is not None),
                listed,
                tuple(self.cases(cases, f"{path}.cases")),
                name.span if cases is None else self.key_span(value, "cases"),
            )

    @staticmethod
    def key_span(node: Node, name: str) -> Span:
        assert isinstance(node, MappingNode)
        return next(key.span for key, _ in node.entries if key.value == name)

    def cases(self, node: Node | None, path: str) -> Iterator[CaseDecl]:
        for at, item in enumerate(self.items(node, path)):
            keys = self.section(item, "case", f"{path}[{at}]")
            if keys is None:
                continue
            self.required(keys, "case", f"{path}[{at}]", item.span)
            shape = self.shape(keys.get("is"), f"{path}[{at}].is")
            if shape is not None and "when" in keys:
                yield CaseDecl(keys["when"], shape)

    def lets(self, node: Node | None) -> Iterator[LetDecl]:
        for name, value in self.named(node, "signature.let"):
            expr = self.text(value, f"signature.let.{name}", number=True)
            if expr is not None:
                yield LetDecl(name, expr)

    def combos(self, node: Node | None) -> Iterator[ComboDecl]:
        path = "signature.dtype_combos"
        if isinstance(node, SequenceNode) and not node.items:
            self.wrong(node, path, "a non-empty list")
        for at, item in enumerate(self.items(node, path)):
            pairs = []
            for name, value in self.named(item, f"{path}[{at}]"):
                text = self.text(value, f"{path}[{at}].{name}")
                if text is not None:
                    pairs.append((name, text))
            yield ComboDecl(item.span, tuple(pairs))

    def rows(self, node: Node | None) -> Iterator[RowDecl]:
        if isinstance(node, SequenceNode) and not node.items:
            self.wrong(node, "workloads", "a non-empty list")
        for at, item in enumerate(self.items(node, "workloads")):
            if isinstance(item, MappingNode):
                yield RowDecl(item.span, item.entries)
            else:
                self.wrong(item, f"workloads[{at}]", "a mapping")

    def roofline(self, node: Node | None) -> RooflineDecl | None:
        keys = self.section(node, "roofline", "roofline")
        if keys is None or node is None:
            return None
        if ("func" in keys) == ("flops" in keys) or ("func" in keys and "bytes" in keys):
            self.report(
                codes.BAD_ROOFLINE,
                node.span,
                "roofline",
                "roofline must have either flops, with or without bytes, or func, got"
                f" {', '.join(sorted(keys)) or 'none of them'}",
            )
        return RooflineDecl(
            node.span,
            self.text(keys.get("flops"), "roofline.flops", number=True),
            self.text(keys.get("bytes"), "roofline.bytes", number=True),
            self.text(keys.get("func"), "roofline.func"),
        )

    def composition(self, node: Node | None, entry: Node) -> CompositionDecl | None:
        keys = self.section(node, "composition", "composition")
        if keys is None or node is None:
            return None
        self.required(keys, "composition", "composition", self.key_span(entry, "composition"))
        kind = self.text(keys.get("kind"), "composition.kind")
        if kind is not None and kind.text != "composite":
            self.report(
                codes.WRONG_TYPE,
                kind.span,
                "composition.kind",
                f"composition.kind must be composite, got {kind.text!r}",
            )
        stages = tuple(self.stages(keys.get("stages")))
        listed = keys.get("stages")
        if isinstance(listed, SequenceNode) and not listed.items:
            self.wrong(listed, "composition.stages", "a non-empty list")
        return None if kind is None else CompositionDecl(node.span, kind, stages)

    def stages(self, node: Node | None) -> Iterator[StageDecl]:
        seen: dict[str, Text] = {}
        for at, item in enumerate(self.items(node, "composition.stages")):
            path = f"composition.stages[{at}]"
            keys = self.section(item, "stage", path)
            if keys is None:
                continue
            self.required(keys, "stage", path, item.span)
            name = self.text(keys.get("name"), f"{path}.name")
            if ("op" in keys) == ("kernel" in keys):
                self.report(
                    codes.WRONG_TYPE,
                    item.span,
                    path,
                    f"{path} must have either op or kernel, got"
                    f" {'both' if 'op' in keys else 'neither'}",
                )
            if name is not None:
                self.distinct(name, seen, path, "stage")
            if name is None or ("op" in keys) == ("kernel" in keys):
                continue
            yield StageDecl(
                name,
                self.text(keys.get("op"), f"{path}.op"),
                self.text(keys.get("kernel"), f"{path}.kernel"),
                self.flag(keys.get("optional"), f"{path}.optional"),
            )

    # --- names --------------------------------------------------------------------------------

    def check_names(self, entry: Entry) -> None:
        seen: dict[str, Text] = {}
        groups: tuple[tuple[str, str, tuple[Text, ...]], ...] = (
            ("index", "signature.forall", tuple(decl.name for decl in entry.forall)),
            ("parameter", "signature.params", tuple(decl.name for decl in entry.params)),
            ("input", "signature.inputs", tuple(decl.name for decl in entry.inputs)),
            ("output", "signature.outputs", tuple(decl.name for decl in entry.outputs)),
            ("let", "signature.let", tuple(decl.name for decl in entry.lets)),
        )
        buffers = {
            decl.name.text
            for decl in entry.inputs
            if decl.mutated is True and decl.write_only and decl.kw_only
        } & {decl.alias.text for decl in entry.outputs if decl.alias is not None}
        for what, path, names in groups:
            for name in names:
                self.distinct(name, seen, f"{path}.{name}", what)
                out = name.text == "out" and not (what == "input" and "out" in buffers)
                dunder = re.fullmatch(r"__\w*__", name.text) is not None
                if name.text in RESERVED or out or dunder or keyword.iskeyword(name.text):
                    self.report(
                        codes.RESERVED_NAME,
                        name.span,
                        f"{path}.{name}",
                        f"the {what} {name} must not have a reserved name",
                    )
