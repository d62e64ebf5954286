"""`tileops show OP`: one entry, as it is written and as what is derived from it.

Each view is one row of `VIEWS`: the option `--<name>`, its help, and a function from the entry's
place in the manifest to the text shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from tileops.cli.derived import operator, planned
from tileops.cli.errors import OK, CommandError
from tileops.cli.manifest_option import add_spec_option, find_entry, read_outline
from tileops.cli.output import table, write
from tileops.diagnostics.model import Findings
from tileops.diagnostics.text import printable, split_lines
from tileops.manifest.fingerprint import spec_folder
from tileops.manifest.outline import OutlineEntry
from tileops.manifest.source import read_text, split_entries
from tileops.manifest.workload.text import rows_text


@dataclass(frozen=True, slots=True)
class View:
    name: str
    help: str
    text: Callable[[OutlineEntry], str]


def source(entry: OutlineEntry) -> str:
    """The lines of the entry, under the place where they stand."""
    text = read_text(entry.path, entry.span.file, Findings()) or ""
    lines = split_lines(text)
    first, last = entry.span.line, len(lines)
    if (index := split_entries(text)) is not None:
        first, last = index.get(entry.op, (first, last))
    body = "\n".join(printable(line) for line in lines[first - 1 : last]).rstrip()
    return f"# {entry.span.file}:{entry.span.line}\n{body}\n"


def plan(entry: OutlineEntry) -> str:
    """The steps that check a call and give its outputs."""
    return f"{planned(entry)[1]}\n"


def schema(entry: OutlineEntry) -> str:
    """One line for each overload."""
    overloads = operator(entry).header.overloads
    return "".join(f"tileops::{overload.schema}\n" for overload in overloads)


def code(entry: OutlineEntry) -> str:
    """The generated Python text."""
    return operator(entry).source.rstrip() + "\n"


def rows(entry: OutlineEntry) -> str:
    """Every case: what its row gives, and the types of the call."""
    return rows_text(*planned(entry))


def implementations(entry: OutlineEntry) -> str:
    """What can serve a call, in the order in which it is tried, and the boundary policies."""
    if find_spec("torch") is None:
        raise CommandError("implementations are code, which needs torch")
    from tileops.runtime.boundary import policy_of
    from tileops.runtime.shipped import registered
    from tileops.runtime.targets import EAGER, TRITON, targets

    if entry.path.parent.resolve() != spec_folder().resolve():
        raise CommandError("implementations are known of the manifest that ships alone")
    registry = registered()
    if entry.op not in registry:
        raise CommandError(f"{entry.op} is not registered; `tileops doctor` says why")
    found = registry.bound(entry.op).op_class
    if found is None or getattr(found, "reference", None) is None:
        return f"{entry.op} has no implementation: it is {entry.status}\n"
    kernels = getattr(found, "kernel_types", {})
    rows = [(TRITON.name, name, kernel.path) for name, kernel in kernels.items()]
    rows += [
        (target.name, target.name, _place(target.implementations[entry.op]))
        for target in targets()
        if entry.op in target.implementations
    ]
    rows.append((EAGER.name, "reference", _place(found.reference)))
    policy = policy_of(found, entry.op)
    return (
        table(("target", "implementation", "function"), rows)
        + f"boundary policy: {policy.cuda} on cuda, {policy.cpu} on cpu\n"
    )


def _place(function: Callable[..., object]) -> str:
    return f"{function.__module__}:{function.__qualname__}"


VIEWS: tuple[View, ...] = (
    View("yaml", "the entry as it is written (the default)", source),
    View("plan", "the steps that check a call and give its outputs", plan),
    View("schema", "the operators, as torch.library gets them", schema),
    View("code", "the generated functions", code),
    View("rows", "the calls that its workload rows denote", rows),
    View("implementations", "what serves its calls, in order", implementations),
)


def configure(parser: argparse.ArgumentParser) -> None:
    add_spec_option(parser)
    parser.add_argument("op", metavar="OP", help="class or operator, as `tileops list` names it")
    for view in VIEWS:
        parser.add_argument(
            f"--{view.name}", dest="views", action="append_const", const=view, help=view.help
        )


def run(args: argparse.Namespace) -> int:
    entries, errors = read_outline(args.spec)
    if errors and args.op not in {entry.op for entry in entries}:
        raise CommandError(f"{args.op!r} is not among what could be read of the manifest")
    entry = find_entry(entries, args.op)
    views = args.views or [VIEWS[0]]
    write("\n".join(view.text(entry) for view in views))
    return OK
