"""What each code means: the pages under `pages/`, one file for each stage, read into data.

In: nothing, or a code by id or name. Out: `Explanation`, its text for a terminal, and the whole
reference as Markdown, which is what `docs/diagnostics.md` holds.

A page is a section `## ID name` with a paragraph that says what is wrong, one that begins with
`Why:`, and the fenced blocks of two examples under `Fails:` and `Mended:`. The words behind a fence
say what a block is: `signature` (the body of one), or `yaml`, `python` or `folder` with a file name
and perhaps an encoding. The line that the finding is at ends in `MARK`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tileops.diagnostics.codes import CODES
from tileops.diagnostics.model import Code

PAGES = Path(__file__).parent / "pages"
MARK = "# <- here"


@dataclass(frozen=True, slots=True)
class Block:
    """One file of an example, or the body of a signature."""

    info: str
    text: str

    @property
    def kind(self) -> str:
        return self.info.split()[0]


@dataclass(frozen=True, slots=True)
class Explanation:
    code: Code
    what: str
    why: str
    fails: tuple[Block, ...]
    mended: tuple[Block, ...]

    def __str__(self) -> str:
        head = f"{self.code.id} {self.code.name} ({self.code.severity.value})"
        parts = [head, self.what, f"Why: {self.why}"]
        for title, blocks in (("Fails:", self.fails), ("Mended:", self.mended)):
            parts += [title, *map(_shown, blocks)]
        return "\n\n".join(parts) + "\n"


def _shown(block: Block) -> str:
    body = "".join(f"    {line}".rstrip() + "\n" for line in block.text.splitlines())
    return f"  {block.info}\n{body}".rstrip()


def find_code(name: str) -> Code | None:
    """The code of that id or name."""
    return next((code for code in CODES if name in (code.id.lower(), code.id, code.name)), None)


def explain(code: Code) -> Explanation:
    """The page of a code."""
    return explanations()[code.id]


@cache
def explanations() -> dict[str, Explanation]:
    """Every page, by the id of its code."""
    result: dict[str, Explanation] = {}
    codes = {code.id: code for code in CODES}
    for path in sorted(PAGES.glob("*.md")):
        for part in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            head, _, body = part.partition("\n")
            name = head.split()[0]
            if name in result or codes[name].name != head.split()[1]:
                raise ValueError(f"{path.name}: {head} must be a code of the table, explained once")
            result[name] = _explanation(codes[name], body)
    return result


def _explanation(code: Code, body: str) -> Explanation:
    text, fails, mended = re.split(r"^(?:Fails|Mended):$", body, flags=re.MULTILINE)
    what, why = text.strip().split("\n\nWhy: ")
    return Explanation(code, what.strip(), why.strip(), _blocks(fails), _blocks(mended))


def _blocks(text: str) -> tuple[Block, ...]:
    found = re.findall(r"^```([^\n]+)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return tuple(Block(info, body) for info, body in found)


def reference_page() -> str:
    """Every code with its page, as Markdown."""
    lines = [
        "# Diagnostics",
        "",
        "What `tileops validate` may find. A code is stable and never reused; an advisory changes"
        " the exit status only with `--strict-advisories`. `tileops explain CODE` shows one of"
        " these sections. Generated from `tileops/diagnostics/pages`; `make accept` rewrites it.",
        "",
        *_table(CODES),
    ]
    for code in CODES:
        page = explain(code)
        lines += ["", f"## {code.id} {code.name}", "", page.what, "", f"Why: {page.why}"]
        for title, blocks in (("Fails:", page.fails), ("Mended:", page.mended)):
            lines += ["", title]
            for block in blocks:
                lines += ["", *_fenced(block)]
    return "\n".join(lines) + "\n"


def _table(codes: Iterable[Code]) -> list[str]:
    rows = ["| code | name | severity | meaning |", "|---|---|---|---|"]
    return rows + [f"| {c.id} | {c.name} | {c.severity.value} | {c.summary} |" for c in codes]


def _fenced(block: Block) -> list[str]:
    language = {"signature": "yaml", "folder": "text"}.get(block.kind, block.kind)
    words = block.info.split()[1:]
    title = "the signature of an entry" if block.kind == "signature" else " ".join(words)
    title = f"{title}, a folder" if block.kind == "folder" else title
    return [
        f"`{title}`:" if words else f"{title}:",
        "",
        f"```{language}",
        block.text.rstrip(),
        "```",
    ]
