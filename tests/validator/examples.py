"""The examples of `tileops explain`, made into manifests and classes and validated.

In: the blocks of an example. Out: the findings, and the lines that its text marks. Codes of reading
(TO1xx below TO120) are looked for by reading alone, those of a bare signature without its rows.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import ModuleType
from typing import Any

from tileops.diagnostics.explain import MARK, Block
from tileops.diagnostics.model import Diagnostic, Findings
from tileops.manifest.entry import Entry
from tileops.manifest.files import family_files
from tileops.manifest.load import load_manifest
from tileops.manifest.source import parse_text, read_text
from tileops.validator.compiled import outcome_of
from tileops.validator.model import Options, Phase, Subject
from tileops.validator.rules import RULES
from tileops.validator.workers import Event as WorkerEvent
from tileops.validator.workers import Worker

FRAME = "ExampleFwdOp:\n  family: toy\n  status: spec-only\n  signature:\n"
REST = '  workloads: [{label: a}]\n  roofline: {flops: "1"}\n'


def file_of(block: Block) -> str:
    return "toy.yaml" if block.kind == "signature" else block.info.split()[1]


def text_of(block: Block) -> str:
    """The text of a block's file, lines that say so repeated."""
    text = block.text
    if block.kind == "signature":
        text = FRAME + "".join(f"    {line}\n" for line in text.splitlines()) + REST
    return re.sub(
        r"^(.*)  # repeated (\d+) times\n",
        lambda found: f"{found.group(1)}\n" * int(found.group(2)),
        text,
        flags=re.MULTILINE,
    )


def write(blocks: tuple[Block, ...], folder: Path) -> None:
    folder.mkdir()
    for block in blocks:
        path = folder / file_of(block)
        if block.kind == "folder":
            path.mkdir()
        elif block.kind != "python":
            encoding = block.info.split()[2:] or ["utf-8"]
            path.write_text(text_of(block), encoding=encoding[0])


def marked(blocks: tuple[Block, ...]) -> set[tuple[str, int]]:
    """The places that an example marks; the first line of a first file with nothing to mark."""
    places = {
        (file_of(block), number)
        for block in blocks
        for number, line in enumerate(text_of(block).split("\n"), start=1)
        if line.endswith(MARK)
    }
    return places or {(file_of(blocks[0]), 1)}


def findings_in(
    blocks: tuple[Block, ...],
    folder: Path,
    reading: bool,
    compiles: bool = False,
    apart: bool = False,
) -> list[Diagnostic]:
    """What validating an example finds; `compiles` asks for the compile checks too."""
    write(blocks, folder)
    findings = Findings()
    if reading:
        for file in family_files(folder, findings):
            text = read_text(file.path, file.path.name, findings)
            if text is not None:
                parse_text(text, file.path.name, findings)
        return list(findings)
    manifest = load_manifest(folder)
    findings.items += manifest.findings.items
    code = next((block for block in blocks if block.kind == "python"), None)
    bare = blocks[0].kind == "signature"
    with classes(code, folder):
        for entry in manifest.entries:
            subject = Subject(manifest, entry, findings, Options())
            for rule in RULES:
                if rule.phase is (Phase.STATIC if code is None else rule.phase) and not (
                    bare and rule.name == "workloads"
                ):
                    rule.run(subject)
            if compiles and code is not None:
                findings.items += compiled(entry, code, folder, apart)
    return list(findings)


def compiled(entry: Entry, code: Block, folder: Path, apart: bool) -> Iterator[Diagnostic]:
    """What the compile checks find, made here or, `apart`, in a worker."""
    if not apart:
        yield from outcome_of(entry, made_here(entry.op)).findings
        return
    (folder / "code.txt").write_text(f"{code.info}\n{code.text}")
    command = [sys.executable, "-m", "tests.validator.example_worker", str(folder)]
    with Worker(lambda channel: [*command, str(channel)], 20, Event()) as worker:
        yield from outcome_of(entry, worker.check(entry.op)).findings


def made_here(op: str) -> Iterator[WorkerEvent]:
    from tileops.testing.steps import run_steps

    for step, found in run_steps(steps_of(op)):
        if found is not None:
            yield WorkerEvent(
                step.check, step.row, step.case, found.code, found.message, found.made
            )


def steps_of(op: str) -> Iterator[Any]:
    """The compile checks of the class in place."""
    from tileops.testing.boundary import steps
    from tileops.testing.cases import rows

    cls = getattr(sys.modules["tileops.toy"], op)
    return steps(rows(cls, registry=cls.registry))


@contextmanager
def classes(block: Block | None, folder: Path) -> Iterator[None]:
    """The module of an example in place of `tileops.toy`, its operators registered."""
    if block is None:
        yield
        return
    from tileops.runtime.op import Op
    from tileops.runtime.shipped import registry_of

    module: Any = ModuleType("tileops.toy")
    exec(compile(block.text, file_of(block), "exec"), module.__dict__)
    found = registry_of(folder, f"tileops_explain_{folder.parent.name}_{folder.name}")
    for value in list(vars(module).values()):
        if isinstance(value, type) and issubclass(value, Op) and value is not Op:
            value.registry = found
    sys.modules["tileops.toy"] = module
    try:
        yield
    finally:
        del sys.modules["tileops.toy"]
