"""The strata of the package, as a scan of its import statements.

In: a folder that holds a package `tileops`. Out: one line for each import that points upwards, or
to a library that its stratum does without. Imports inside functions count too, except that the
validator and the command line may look upwards from there.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# From the bottom up; a name that is none of these is the room of a family.
STRATA = (
    "_version",
    "static",
    "diagnostics",
    "manifest",
    "codegen",
    "validator",
    "runtime",
    "tiling",
)
FAMILY = len(STRATA)
ABOVE = {"testing": FAMILY + 2, "demo": FAMILY + 3, "cli": FAMILY + 4, "__main__": FAMILY + 5}
ROOT = FAMILY + 1

TORCH_FREE = ("_version", "static", "diagnostics", "manifest", "codegen", "validator")
LOOKS_UP = ("validator", "cli")
LIBRARIES = {"manifest": {"yaml"}, "testing": {"torch", "triton", "pytest"}, "demo": {"torch"}}


@dataclass(frozen=True)
class Import:
    module: str
    line: int
    target: str
    lazy: bool


def modules(root: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted((root / "tileops").rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(module: str, path: Path) -> Iterator[Import]:
    """Every import statement of a module; `from a import b` counts as `a.b`."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    pending: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text("utf-8")), False)]
    while pending:
        node, lazy = pending.pop()
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield Import(module, node.lineno, alias.name, lazy)
            case ast.ImportFrom(module=source, names=names, level=level):
                base = source or ""
                if level:
                    above = package.split(".")[: len(package.split(".")) - level + 1]
                    base = ".".join([*above, base] if base else above)
                for alias in names:
                    yield Import(module, node.lineno, f"{base}.{alias.name}", lazy)
        inner = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        pending += [(child, inner) for child in ast.iter_child_nodes(node)]


def room(module: str) -> str:
    """The part of the package that a module belongs to; empty for the package itself."""
    return module.split(".")[1] if "." in module else ""


def level(name: str) -> int:
    if not name:
        return ROOT
    return STRATA.index(name) if name in STRATA else ABOVE.get(name, FAMILY)


def violations(root: Path) -> list[str]:
    """What the package under `root` imports against the order of its strata."""
    known = {name for name, _ in modules(root)}
    found = []
    for module, path in modules(root):
        for item in imports(module, path):
            top = item.target.split(".")[0]
            fault = _inside(item, known) if top == "tileops" else _outside(item, path, top)
            if fault:
                found.append(f"{path.relative_to(root)}:{item.line}: {fault}")
    return found


def _inside(item: Import, known: set[str]) -> str:
    here = room(item.module)
    # `from tileops import name` takes a module where there is one, else what the package defines.
    there = room(item.target) if room(item.target) in {room(name) for name in known} else ""
    if item.lazy and here in LOOKS_UP:
        return ""
    if level(there) > level(here):
        return f"{here or 'tileops'} imports {there or 'tileops'}, which lies above it"
    if level(there) == level(here) and there != here:
        return f"{here or 'tileops'} imports {there or 'tileops'}, which lies beside it"
    return ""


def _outside(item: Import, path: Path, top: str) -> str:
    here = room(item.module)
    if top in sys.stdlib_module_names or top in LIBRARIES.get(here, set()):
        return ""
    if top == "triton":
        kernels = level(here) == FAMILY and path.name not in ("__init__.py", "reference.py")
        return "" if kernels or here == "tiling" else "triton is only for kernel files"
    if top == "torch":
        if here in TORCH_FREE or here in ("", "cli", "__main__"):
            return "" if item.lazy and here in LOOKS_UP else f"{here or 'tileops'} is free of torch"
        return ""
    if top == "yaml" and here == "cli" and item.lazy:
        return ""
    return f"{here or 'tileops'} does without {top}"
