"""The operators whose calls are timed, each in the forms between which a user chooses.

In: a device. Out: `Subject`s: tileops' operator and class, an operator of the same work defined
with nothing but `define` and `impl`, one of `torch.library.custom_op`, the reference itself, and
what torch has. A three-tensor and a ten-tensor operator come from a manifest of their own, so that
their work is as good as nothing and what is left is the call.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

import tileops
from tileops.norm import RMSNormFwdOp
from tileops.norm import reference as norm_reference
from tileops.runtime.op import Op

NAMESPACE = "tileops_benchmark"
ROWS, COLUMNS = 8, 64

_library = torch.library.Library(f"{NAMESPACE}_bare", "FRAGMENT")


@dataclass(frozen=True)
class Subject:
    """One operator. Every form takes the tensors; "bare" is what the ratio is to."""

    name: str
    tensors: tuple[torch.Tensor, ...]
    forms: dict[str, Callable[..., Any]]


def _entry(count: int) -> str:
    inputs = "".join(f'      x{at}: {{dtype: T, shape: "[B, N]"}}\n' for at in range(count))
    return (
        f"First{count}FwdOp:\n"
        "  family: elementwise\n  status: implemented\n  ref_api: torch.clone\n"
        "  signature:\n    forall:\n"
        "      B: Dim\n      N: Dim\n      T: DType[float32 | bfloat16]\n"
        f"    inputs:\n{inputs}"
        '    outputs:\n      y: {dtype: T, shape: "[B, N]"}\n'
        "  workloads:\n    - {label: small, B: 8, N: 64, dtype_cases: [{T: float32}]}\n"
        '  roofline: {flops: "B * N"}\n'
    )


def _first(x: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
    return x.clone()


class First3FwdOp(Op):
    """A copy of the first of three tensors of one shape and dtype."""

    reference = staticmethod(_first)


class First10FwdOp(Op):
    """A copy of the first of ten tensors of one shape and dtype."""

    reference = staticmethod(_first)


@functools.cache
def _own_manifest() -> None:
    with tempfile.TemporaryDirectory(prefix="tileops-dispatch-") as name:
        text = "\n".join(_entry(count) for count in (3, 10))
        Path(name, "elementwise.yaml").write_text(text, "utf-8")
        classes = (First3FwdOp, First10FwdOp)
        registry = tileops.load_manifest(name, NAMESPACE, classes)
        for cls in classes:
            # The text of an entry is read at its first call, and the folder does not stay.
            cls.registry = registry
            _ = registry.bound(cls.__name__).functions


@functools.cache
def _bare(name: str, schema: str, run: Callable[..., Any]) -> Any:
    """An operator without checks: define, impl and a fake."""
    _library.define(f"{name}{schema}")
    _library.impl(name, run, "CompositeExplicitAutograd")
    _library._register_fake(name, run)
    return getattr(getattr(torch.ops, f"{NAMESPACE}_bare"), name).default


@functools.cache
def _custom(name: str, schema: str, run: Callable[..., Any]) -> Any:
    """The same through torch.library.custom_op."""
    made = torch.library.custom_op(
        f"{NAMESPACE}_custom::{name}", run, mutates_args=(), schema=schema
    )
    made.register_fake(run)
    return made


def _norm(
    x: torch.Tensor,
    weight: torch.Tensor | None = None,
    *,
    normalized_shape: Sequence[int],
    eps: float | None = None,
) -> torch.Tensor:
    return norm_reference.rms_norm(x, weight, normalized_shape=normalized_shape, eps=eps)


def _norm_subject(device: str, weighted: bool) -> Subject:
    x = torch.randn(ROWS, COLUMNS, device=device)
    tensors = (x, torch.randn(COLUMNS, device=device)) if weighted else (x,)
    overload = torch.ops.tileops.norm_rms_norm_fwd.default
    shape = [COLUMNS]
    given = {"normalized_shape": shape, "eps": 1e-6}
    # The same arguments, so that ratios are of checks and not of torch's handling of lists.
    schema = "(Tensor x, Tensor? weight=None, *, SymInt[] normalized_shape, float? eps=None)"
    schema += " -> Tensor"
    return Subject(
        f"RMSNorm, {len(tensors)} tensor{'s' if weighted else ''}",
        tensors,
        {
            "tileops": functools.partial(overload, **given),
            "class": RMSNormFwdOp(**given),
            "bare": functools.partial(_bare("norm", schema, _norm), **given),
            "custom_op": functools.partial(_custom("norm", schema, _norm), **given),
            "reference": functools.partial(_norm, **given),
            "aten": lambda *t: F.rms_norm(t[0], shape, *t[1:], eps=1e-6),
        },
    )


def _first_subject(device: str, count: int) -> Subject:
    _own_manifest()
    cls = {3: First3FwdOp, 10: First10FwdOp}[count]
    schema = f"({', '.join(f'Tensor x{at}' for at in range(count))}) -> Tensor"
    overload = getattr(torch.ops, NAMESPACE)
    tensors = tuple(torch.randn(ROWS, COLUMNS, device=device) for _ in range(count))
    return Subject(
        f"copy, {count} tensors",
        tensors,
        {
            "tileops": getattr(overload, cls.bound().header.operator).default,
            "class": cls(),
            "bare": _bare(f"first{count}", schema, _first),
            "custom_op": _custom(f"first{count}", schema, _first),
            "reference": _first,
            "aten": lambda *t: torch.clone(t[0]),
        },
    )


def subjects(device: str) -> Sequence[tuple[str, Callable[[], Subject]]]:
    """The names of all subjects, each with what makes it."""
    return (
        ("RMSNorm, 1 tensor", functools.partial(_norm_subject, device, False)),
        ("RMSNorm, 2 tensors", functools.partial(_norm_subject, device, True)),
        ("copy, 3 tensors", functools.partial(_first_subject, device, 3)),
        ("copy, 10 tensors", functools.partial(_first_subject, device, 10)),
    )
