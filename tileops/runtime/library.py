"""torch.library: schemas, fakes and kernels of every overload, defined once per process.

In: a header. Out: `torch.ops.<namespace>.<operator>`, whose functions are built on the first call.
What those functions do is adapters.py; nothing here looks past the header.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch._subclasses.functional_tensor import FunctionalTensorMode

from tileops.codegen.model import Header, OverloadHeader

_lock = threading.RLock()


class _Process:
    """What is registered in this process, also by a copy of the package that was imported before:
    operators outlive the modules that define them. By qualified overload: schema, slot, package.
    """

    def __init__(self) -> None:
        self.libraries: dict[str, torch.library.Library] = {}
        self.overloads: dict[str, tuple[str, Slot, str]] = {}


def _process() -> _Process:
    holder = sys.modules.setdefault("_tileops_process", ModuleType("_tileops_process"))
    found: _Process = vars(holder).setdefault("registered", _Process())
    return found


@dataclass(frozen=True, slots=True)
class Functions:
    """What one overload does: on real tensors, as a fake, above autograd, as plain PyTorch, inside
    torch.func transforms, what AOT makes of it, and as its kernels."""

    run: Callable[..., Any]
    fake: Callable[..., Any]
    autograd: Callable[..., Any]
    plain: Callable[..., Any]
    transform: Callable[..., Any]
    boundary: Callable[..., str]
    kernels: Callable[..., Any]


_PACKAGE = str(Path(__file__).resolve().parents[1])
_KINDS = ("run", "fake", "autograd", "plain", "transform", "boundary", "kernels")


class Slot:
    """The functions of one overload, absent until the first call asks for one of them."""

    __slots__ = ("_build", *_KINDS)
    kinds = _KINDS

    def __init__(self, build: Callable[[], Functions]) -> None:
        self._build: Callable[[], Functions] | None = build

    def build_with(self, other: Slot) -> None:
        """Takes the functions of `other` instead of its own."""
        with _lock:
            for kind in _KINDS:
                with suppress(AttributeError):
                    delattr(self, kind)
            self._build = other._build

    def __getattr__(self, kind: str) -> Any:
        if kind not in _KINDS:
            raise AttributeError(kind)
        self._prepare()
        return object.__getattribute__(self, kind)

    def _prepare(self) -> None:
        """Builds the functions, once, whichever thread comes first."""
        with _lock:
            if self._build is None:
                return
            functions = self._build()
            for kind in _KINDS:
                setattr(self, kind, getattr(functions, kind))
            self._build = None


def is_composite(header: Header) -> bool:
    """Whether the operator is its stages; without code it has none, but still its own fake."""
    return header.composite and header.status == "implemented"


def schema_text(header: Header, overload: OverloadHeader) -> str:
    """The schema without namespace: "norm_rms_norm_fwd.out(Tensor x, ...) -> ()"."""
    text = overload.schema.strip()
    if text.startswith("("):
        return _name(header, overload) + text
    return text.partition("::")[2] if "::" in text.partition("(")[0] else text


def register(namespace: str, header: Header, slots: dict[str, Slot]) -> None:
    """Defines every overload of `header`; the same schemas again are a no-op, others an error.

    Where a copy of the package that was imported before has defined them, this one serves them.
    """
    process = _process()
    with _lock:
        library = process.libraries.get(namespace)
        if library is None:
            library = torch.library.Library(namespace, "FRAGMENT")
            process.libraries[namespace] = library
        ordered = sorted(header.overloads, key=lambda overload: overload.name != "default")
        for overload in ordered:
            qualified = f"{namespace}::{_name(header, overload)}"
            schema = schema_text(header, overload)
            slot = slots[overload.name]
            if qualified not in process.overloads:
                _define(library, header, overload, schema, slot)
                process.overloads[qualified] = (schema, slot, _PACKAGE)
                continue
            known, serving, package = process.overloads[qualified]
            if known != schema or getattr(serving, "kinds", None) != _KINDS:
                raise ValueError(
                    f"{qualified} is already registered from {package} as {known}, not as {schema}"
                )
            if type(serving) is not Slot:
                serving.build_with(slot)
                process.overloads[qualified] = (schema, serving, _PACKAGE)


def _name(header: Header, overload: OverloadHeader) -> str:
    return header.operator + ("" if overload.name == "default" else f".{overload.name}")


def _tags(header: Header, schema: str) -> tuple[torch.Tag, ...]:
    """An input that must be contiguous must also arrive so from Inductor; of two draws neither is
    the other."""
    tags = []
    if header.contiguous:
        tags.append(getattr(torch.Tag, "needs_contiguous_strides", torch.Tag.needs_exact_strides))
    if "SymInt? seed=None" in schema:
        tags.append(torch.Tag.nondeterministic_seeded)
    return tuple(tags)


def _define(
    library: torch.library.Library,
    header: Header,
    overload: OverloadHeader,
    schema: str,
    slot: Slot,
) -> None:
    library.define(schema, tags=_tags(header, schema))
    name = _name(header, overload)
    if is_composite(header):
        library.impl(name, _run(slot), "CompositeImplicitAutograd")
        return
    # One kernel for all devices.
    library.impl(name, _run(slot), "CompositeExplicitAutograd")
    library._register_fake(name, _fake(slot))
    if not header.takes_tensors:
        return
    library.impl(name, _autograd(slot), "Autograd")
    # Fires inside torch.func transforms only, which can neither differentiate nor batch a kernel.
    library.impl(name, _transform(slot), "FuncTorchDynamicLayerFrontMode")
    library._register_torch_dispatch_rule(name, FunctionalTensorMode, _boundary(slot))


def _run(slot: Slot) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        return slot.run(*args, **kwargs)

    return run


def _fake(slot: Slot) -> Callable[..., Any]:
    def fake(*args: Any, **kwargs: Any) -> Any:
        return slot.fake(*args, **kwargs)

    return fake


def _autograd(slot: Slot) -> Callable[..., Any]:
    def autograd(*args: Any, **kwargs: Any) -> Any:
        return slot.autograd(*args, **kwargs)

    return autograd


def _transform(slot: Slot) -> Callable[..., Any]:
    def transform(*args: Any, **kwargs: Any) -> Any:
        return slot.transform(*args, **kwargs)

    return transform


def _boundary(slot: Slot) -> Callable[..., Any]:
    """What AOT sees when it functionalizes: the node, or in its place the kernels or the
    reference."""

    def rule(mode: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        kwargs = kwargs or {}
        policy = slot.boundary(*args, **kwargs)
        if policy != "opaque":
            # Imported here, where a compiler is at work already.
            from tileops.runtime.inlining import attempt

            inline = slot.plain if policy == "reference" else slot.kernels
            with mode:
                result = attempt(inline, args, kwargs)
            if result is not NotImplemented:
                return result
        return mode.__torch_dispatch__(func, types, args, kwargs)

    return rule
