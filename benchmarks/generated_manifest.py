"""Manifests of any size, made of the entries that ship.

In: a number of entries and a folder. Out: YAML files there. An entry is a shipped one under another
name and with other index names, so that no two have an expression in common and nothing that is
kept by text helps; the mix of families, kinds and sizes stays that of the shipped manifest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tileops.manifest.files import TYPES_FILE
from tileops.manifest.fingerprint import spec_folder
from tileops.manifest.source import split_entries

_STAGE = re.compile(r"\bop: *([A-Za-z_]\w*)")
_INDEX = re.compile(r"^      ([A-Za-z_]\w*):", re.MULTILINE)
_FORALL = re.compile(r"^    forall:\n((?:      .*\n|\n)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one shipped entry, the file that it stands in, and the ops that it names."""

    op: str
    stem: str
    text: str
    stages: tuple[str, ...]


def write_manifest(folder: Path, count: int, source: Path | None = None) -> int:
    """Writes `count` entries, or a few more where the last one has stages; returns how many."""
    source = source or spec_folder()
    shipped = {piece.op: piece for piece in _pieces(source)}
    folder.mkdir(parents=True, exist_ok=True)
    types = source / TYPES_FILE
    if types.exists():
        (folder / TYPES_FILE).write_text(types.read_text("utf-8"), "utf-8")
    written = 0
    copy = 0
    while written < count:
        chosen = _chosen(shipped, count - written)
        files: dict[str, list[str]] = {}
        for piece in chosen:
            files.setdefault(piece.stem, []).append(_varied(piece, copy, shipped))
        for stem, texts in files.items():
            (folder / f"{stem}_copy{copy}.yaml").write_text("\n".join(texts), "utf-8")
        written += len(chosen)
        copy += 1
    return written


def _pieces(source: Path) -> Iterator[Piece]:
    for path in sorted(source.glob("*.yaml")):
        if path.name == TYPES_FILE:
            continue
        text = path.read_text("utf-8")
        lines = text.splitlines(keepends=True)
        places = split_entries(text)
        if places is None:
            raise ValueError(f"{path} is no flat mapping of entries")
        for op, (first, last) in places.items():
            entry = "".join(lines[first - 1 : last])
            yield Piece(op, path.stem, entry, tuple(dict.fromkeys(_STAGE.findall(entry))))


def _chosen(shipped: dict[str, Piece], count: int) -> list[Piece]:
    """Up to `count` pieces evenly over the shipped ones, with the stages that they name."""
    every = list(shipped)
    step = max(1.0, len(every) / count)
    names: dict[str, None] = {}
    at = 0.0
    while at < len(every) and len(names) < count:
        _with_stages(every[int(at)], shipped, names)
        at += step
    for name in every:
        if len(names) >= min(count, len(every)):
            break
        _with_stages(name, shipped, names)
    return [shipped[name] for name in every if name in names]


def _with_stages(op: str, shipped: dict[str, Piece], names: dict[str, None]) -> None:
    if op in names or op not in shipped:
        return
    names[op] = None
    for stage in shipped[op].stages:
        _with_stages(stage, shipped, names)


def _varied(piece: Piece, copy: int, shipped: dict[str, Piece]) -> str:
    text = piece.text
    for op in {piece.op, *piece.stages} & set(shipped):
        text = re.sub(rf"\b{op}\b", _renamed(op, copy), text)
    forall = _FORALL.search(text)
    # Single words in capitals are no names of anything else in an entry.
    indices = {
        name for name in _INDEX.findall(forall.group(1) if forall else "") if name[0].isupper()
    }
    if indices:
        either = "|".join(sorted(map(re.escape, indices), key=len, reverse=True))
        text = re.sub(rf"(?<![\w.-])({either})(?![\w-])", rf"\g<1>{copy}", text)
    return text


def _renamed(op: str, copy: int) -> str:
    """RMSNormFwdOp -> RMSNormCopy3FwdOp: the ending says the direction."""
    for ending in ("FwdOp", "BwdOp", "Op"):
        if op.endswith(ending):
            return f"{op.removesuffix(ending)}Copy{copy}{ending}"
    return f"{op}Copy{copy}"
