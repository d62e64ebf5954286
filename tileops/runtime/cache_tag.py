"""The mark by which torch's compile caches on disk tell our sources apart.

They do not notice a changed policy, fake or reference: a process that inlines would take another
one's opaque artifact. In: what a registry is known by. Out: `tileops=<hash>` in
`torch.compiler.config.cache_key_tag`, beside whatever stands there already.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import torch.compiler.config as compiler_config

_PACKAGE = Path(__file__).parent.parent
# What no compiled graph depends on.
_APART = frozenset({"cli", "validator", "diagnostics", "testing", "__pycache__"})
_MARK = "tileops="
# Stand beside namespaces, which have no blanks.
_TARGET = "default target"
_POLICY = "boundary policy"
_registries: dict[str, str] = {}


def tag_caches(
    namespace: str, schemas: Iterable[str], fingerprint: str, classes: Iterable[type]
) -> None:
    """Makes the caches depend on a registry: schemas, manifest and the sources of its classes."""
    digest = hashlib.blake2b(digest_size=16)
    for text in (fingerprint, _sources(), *_files(classes), *schemas):
        digest.update(text.encode())
        digest.update(b"\0")
    _registries[namespace] = digest.hexdigest()
    _write(everywhere=True)


def set_target(name: str | None, everywhere: bool) -> None:
    """Makes the caches depend on the default target, which decides what is inlined."""
    _set(_TARGET, name, everywhere)


def set_policy(overrides: Mapping[str, object], everywhere: bool) -> None:
    """Makes the caches depend on the boundary policies that stand over those of the classes."""
    _set(_POLICY, repr(sorted(overrides.items())) if overrides else None, everywhere)


def _set(name: str, value: str | None, everywhere: bool) -> None:
    if value is None:
        _registries.pop(name, None)
    else:
        _registries[name] = value
    if _registries:
        _write(everywhere)


def keep() -> None:
    """Puts the mark back where this context has a tag of its own without it.

    Every fake calls this, since from torch 2.13 on each context has its own tag: a fake runs in
    the context that compiles, before the caches are asked.
    """
    if _MARK not in compiler_config.cache_key_tag and _registries:
        _write(everywhere=False)


def _mark() -> str:
    together = hashlib.blake2b(repr(sorted(_registries.items())).encode(), digest_size=12)
    return _MARK + together.hexdigest()


def _write(everywhere: bool) -> None:
    """Puts the mark of all registries into the tag, in place of the one from before."""
    mark = _mark()
    compiler_config.cache_key_tag = _marked(compiler_config.cache_key_tag, mark)
    if not everywhere:
        return
    # From torch 2.13 on a value set here is this context's only, and the other threads read the
    # defaults.
    entry = getattr(compiler_config, "_config", {}).get("cache_key_tag")
    for name in ("default", "env_value_default"):
        value = getattr(entry, name, None)
        if isinstance(value, str):
            setattr(entry, name, _marked(value, mark))


def _marked(tag: str, mark: str) -> str:
    kept = [part for part in tag.split(";") if part and not part.startswith(_MARK)]
    return ";".join([*kept, mark])


@cache
def _sources() -> str:
    """The package's own code by content, so that equal installations share a cache (3 ms)."""
    digest = hashlib.blake2b(digest_size=16)
    for folder, names, files in os.walk(_PACKAGE):
        names[:] = sorted(set(names) - _APART)
        for name in sorted(files):
            if name.endswith(".py"):
                digest.update((Path(folder) / name).read_bytes())
    return digest.hexdigest()


def _files(classes: Iterable[type]) -> list[str]:
    """The sources of classes from outside the package."""
    found = set()
    for cls in classes:
        path = getattr(sys.modules.get(cls.__module__), "__file__", None)
        if path is not None and not Path(path).is_relative_to(_PACKAGE) and os.path.exists(path):
            found.add(path)
    return [Path(path).read_text(encoding="utf-8", errors="replace") for path in sorted(found)]
