"""Workload rows read: keys, values, dtype cases, labels, ids.

In: a workload and its entry's rows, still nodes. Out: `Case`s in the order of row and dtype case,
and findings located at the row's key. A row that cannot be read gives no cases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tileops.diagnostics import codes
from tileops.diagnostics.model import Code, Findings, Label, Span
from tileops.manifest.entry import RowDecl
from tileops.manifest.language.kinds import DTypeKind, Kind, members_of
from tileops.manifest.nodes import MappingNode, Node, ScalarNode, SequenceNode
from tileops.manifest.signature.model import Signature
from tileops.manifest.values import plain, read_value
from tileops.manifest.workload.branch import Branch, Workload
from tileops.manifest.workload.case import Case
from tileops.manifest.workload.index_values import index_value

_LABEL = re.compile(r"[A-Za-z0-9._-]{1,24}")
_FIXED = ("some", "dtype_cases", "label")


def read_rows(workload: Workload, findings: Findings) -> tuple[Case, ...]:
    """Every case of an entry whose row can be read."""
    result: list[Case] = []
    for at, decl in enumerate(workload.signature.entry.workloads):
        result += _Row(workload, decl, at, findings).cases()
    _check_ids(workload.signature, result, findings)
    return tuple(result)


@dataclass(slots=True)
class _Row:
    workload: Workload
    decl: RowDecl
    at: int
    findings: Findings

    @property
    def signature(self) -> Signature:
        return self.workload.signature

    def report(self, code: Code, span: Span, key: str, message: str) -> None:
        path = f"workloads[{self.at}].{key}" if key else f"workloads[{self.at}]"
        self.findings.add(code, span, message, op=self.signature.op, field=path)

    def cases(self) -> Iterator[Case]:
        before = self.findings.errors
        keys = self.keys()
        label = self.label()
        params = self.params(keys)
        passed = self.some(keys.get("some"))
        if self.findings.errors > before:
            return
        point = self.workload.point(params, passed)
        branch = self.workload.branch(point)
        self.check_indices(keys, branch)
        indices = self.indices(keys, branch)
        assignments = self.assignments(keys, branch)
        if self.findings.errors > before:
            return
        for dtypes in assignments:
            yield Case(
                self.workload,
                self.decl,
                self.case_id(label, dtypes, params),
                label,
                params,
                indices,
                dtypes,
                passed,
                point,
            )

    # --- keys ---------------------------------------------------------------------------------

    def keys(self) -> dict[str, tuple[ScalarNode, Node]]:
        known = {*_FIXED, *self.signature.indices}
        known |= {param.name for param in self.signature.params}
        lets = {let.name for let in self.signature.lets}
        result: dict[str, tuple[ScalarNode, Node]] = {}
        for key, value in self.decl.items:
            if isinstance(key.value, str) and key.value in known:
                result[key.value] = (key, value)
                continue
            what = "is a let, which a row never gives" if key.value in lets else "is unknown"
            self.report(
                codes.BAD_ROW_KEY,
                key.span,
                key.text,
                f"{key.value!r} must be a parameter, an index, some, dtype_cases or label,"
                f" it {what}",
            )
        return result

    def label(self) -> str:
        node = self.decl.get("label")
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            if _LABEL.fullmatch(node.value):
                return node.value
            shown = repr(node.value)
        else:
            shown = "nothing" if node is None else repr(plain(node))
        self.report(
            codes.BAD_LABEL,
            self.decl.span if node is None else node.span,
            "label",
            f"label must be 1 to 24 characters of A-Z, a-z, 0-9, '.', '_' and '-', got {shown}",
        )
        return ""

    def params(self, keys: Mapping[str, tuple[ScalarNode, Node]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for param in self.signature.params:
            if param.name not in keys:
                if param.required:
                    self.missing(param.name, "a parameter without default")
                else:
                    result[param.name] = param.default
                continue
            node = keys[param.name][1]
            try:
                result[param.name] = read_value(node, param.type, self.signature.adts)
            except ValueError as error:
                self.bad_value(param.name, node, f"{param.name} {error}")
        return result

    def missing(self, name: str, what: str) -> None:
        message = f"the row must give {name}, {what}, got nothing"
        self.report(codes.BAD_ROW_KEY, self.decl.span, name, message)

    def bad_value(self, name: str, node: Node, message: str) -> None:
        self.report(codes.BAD_ROW_VALUE, node.span, name, message)

    def some(self, entry: tuple[ScalarNode, Node] | None) -> frozenset[str]:
        """The optional tensors that the row passes."""
        if entry is None:
            return frozenset()
        node = entry[1]
        own = {tensor.name for tensor in self.signature.tensors if tensor.own_presence}
        own -= {tensor.name for tensor in self.signature.outputs}
        if not isinstance(node, SequenceNode):
            self.bad_value("some", node, f"some must be a list of tensors, got {plain(node)!r}")
            return frozenset()
        names: set[str] = set()
        for item in node.items:
            name = plain(item)
            if not isinstance(name, str) or name not in own:
                listed = ", ".join(sorted(own)) or "none"
                self.bad_value(
                    "some",
                    item,
                    f"some must name tensors that are optional: true ({listed}), got {name!r}",
                )
            elif name in names:
                self.bad_value("some", item, f"some must name a tensor once, got {name} again")
            else:
                names.add(name)
        return frozenset(names)

    # --- indices ------------------------------------------------------------------------------

    def check_indices(self, keys: Mapping[str, tuple[ScalarNode, Node]], branch: Branch) -> None:
        for name, kind in self.signature.indices.items():
            is_dtype = isinstance(kind, DTypeKind)
            if name in keys:
                key = keys[name][0]
                if is_dtype:
                    why = "a DType index is given under dtype_cases"
                elif name in branch.solved:
                    why = "a generator solves it"
                elif name not in branch.relevant:
                    why = "nothing uses it on this row's branch"
                else:
                    continue
                self.report(
                    codes.BAD_ROW_KEY, key.span, name, f"the row must not give {name}, {why}"
                )
            elif name in branch.written and not is_dtype:
                self.missing(name, "an index that no generator solves")

    def indices(
        self, keys: Mapping[str, tuple[ScalarNode, Node]], branch: Branch
    ) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name in branch.written:
            kind = self.signature.indices[name]
            if name not in keys or isinstance(kind, DTypeKind):
                continue
            node = keys[name][1]
            try:
                result[name] = index_value(node, kind)
            except ValueError as error:
                self.bad_value(name, node, f"{name} {error}")
        return result

    # --- dtypes -------------------------------------------------------------------------------

    def assignments(
        self, keys: Mapping[str, tuple[ScalarNode, Node]], branch: Branch
    ) -> list[dict[str, str]]:
        names = [
            name for name in branch.relevant if isinstance(self.signature.indices[name], DTypeKind)
        ]
        if "dtype_cases" not in keys:
            if not names:
                return [{}]
            self.missing("dtype_cases", f"the row's DType indices {', '.join(names)}")
            return []
        key, node = keys["dtype_cases"]
        if not names:
            self.report(
                codes.BAD_ROW_KEY,
                key.span,
                "dtype_cases",
                "the row must not give dtype_cases, no DType index is relevant on its branch",
            )
            return []
        if not isinstance(node, SequenceNode) or not node.items:
            self.bad_value("dtype_cases", node, "dtype_cases must be a non-empty list of mappings")
            return []
        found = [self.assignment(item, names) for item in node.items]
        return [item for item in found if item is not None]

    def assignment(self, node: Node, names: list[str]) -> dict[str, str] | None:
        listed = ", ".join(names)
        if not isinstance(node, MappingNode):
            self.bad_value("dtype_cases", node, f"a dtype case must map {listed} to dtypes")
            return None
        values: dict[str, str] = {}
        for key, value in node.entries:
            name = key.value
            if not isinstance(name, str) or name not in names:
                self.report(
                    codes.BAD_ROW_KEY,
                    key.span,
                    "dtype_cases",
                    f"a dtype case must give {listed}, got {name!r}",
                )
                continue
            kind = self.signature.indices[name]
            given = plain(value)
            assert isinstance(kind, DTypeKind)
            if given not in kind.names:
                allowed = " or ".join(kind.names)
                self.bad_value("dtype_cases", value, f"{name} must be {allowed}, got {given!r}")
                continue
            values[name] = given
        absent = [name for name in names if name not in values]
        if absent and len(values) == len(node.entries):
            self.report(
                codes.BAD_ROW_KEY,
                node.span,
                "dtype_cases",
                f"a dtype case must give {listed}, got no {', '.join(absent)}",
            )
        return None if absent else {name: values[name] for name in names}

    def case_id(self, label: str, dtypes: Mapping[str, str], params: Mapping[str, Any]) -> str:
        parts = [label, *dtypes.values()]
        for param in self.signature.params:
            value = params[param.name]
            if is_dtype_param(param.kind) and value is not None:
                parts.append(value)
        return "-".join(parts)


def is_dtype_param(kind: Kind) -> bool:
    """Whether a parameter of that kind holds a dtype."""
    return any(isinstance(member, DTypeKind) for member in members_of(kind))


# --- across rows ----------------------------------------------------------------------------------


def _check_ids(signature: Signature, cases: list[Case], findings: Findings) -> None:
    """Ids are distinct, and rows that share a label differ in dtypes only."""
    labels: dict[str, Case] = {}
    ids: dict[str, Case] = {}
    again: dict[str, int] = {}
    reported: set[int] = set()
    places = {id(decl): at for at, decl in enumerate(signature.entry.workloads)}
    for case in cases:
        first = labels.setdefault(case.label, case)
        at = places[id(case.decl)]
        where = case.decl.get("label")
        span = case.decl.span if where is None else where.span
        if case.decl is not first.decl and _beyond_dtypes(case, first):
            if id(case.decl) not in reported:
                reported.add(id(case.decl))
                findings.add(
                    codes.BAD_LABEL,
                    span,
                    f"rows that share the label {case.label} must differ in dtypes only",
                    op=signature.op,
                    field=f"workloads[{at}].label",
                    labels=(Label(first.decl.span, "the first of them"),),
                )
            continue
        other = ids.setdefault(case.id, case)
        if other is not case:
            again[case.id] = again.get(case.id, 0) + 1
            if other.decl is case.decl:
                span = _dtypes_place(case, again[case.id]) or span
            findings.add(
                codes.DUPLICATE_CASE,
                span,
                f"cases must have distinct ids, got {case.id} again",
                op=signature.op,
                field=f"workloads[{at}]",
                labels=(Label(_dtypes_place(other, 0) or other.decl.span, "the other case"),),
            )


def _dtypes_place(case: Case, nth: int) -> Span | None:
    """Where the row writes the dtypes of a case for the nth time."""
    node = case.decl.get("dtype_cases")
    if not isinstance(node, SequenceNode):
        return None
    same = [item.span for item in node.items if plain(item) == dict(case.dtypes)]
    return same[nth] if nth < len(same) else None


def _beyond_dtypes(case: Case, other: Case) -> bool:
    def facts(item: Case) -> Any:
        dtypes = {p.name for p in item.signature.params if is_dtype_param(p.kind)}
        params = {name: value for name, value in item.params.items() if name not in dtypes}
        return params, item.indices, item.passed

    return bool(facts(case) != facts(other))


__all__ = ["is_dtype_param", "read_rows"]
