"""What each operator over rows does to a row, as the row kernels take it.

In: an operator's tensors and parameters. Out: its tensors in the kernels' places, and how those
that scale, shift and gate lie. No triton.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from tileops.norm.reference import FLOAT32_EPSILON
from tileops.tiling.strides import Rows, as_vector, rows_of

__all__ = ["Form", "form_of"]

_SHAPING = ("scale", "shift", "gate")


@dataclass(frozen=True, slots=True)
class Form:
    """A call: the `trailing` axes of x are a row.

    Scale, shift and gate lie as `how` says: "vector", shaped as a row; "tile", shaped as x;
    "group", one axis, whose elements go round x's axes 1 and 2, each for `run` elements of a row.
    """

    output: torch.Tensor
    x: torch.Tensor
    trailing: int
    eps: float
    scale: torch.Tensor | None = None
    shift: torch.Tensor | None = None
    gate: torch.Tensor | None = None
    total: torch.Tensor | None = None
    residual: torch.Tensor | None = None
    centred: bool = True
    how: str = "vector"
    run: int = 1
    steps: tuple[int, ...] = (1, 1, 1)
    """The strides of vectors."""

    @property
    def operands(self) -> tuple[torch.Tensor | None, ...]:
        """What the kernels read, in their order."""
        return self.x, self.residual, self.scale, self.shift, self.gate

    def has_rows(self) -> bool:
        """Whether rows are found without a copy."""
        return rows_of(self.x.shape, list(self._walks()), self.trailing) is not None

    def placed(self) -> tuple[Rows, Form]:
        """Rows of the input, which is copied first where strides make no rows."""
        form = self._with_vectors() if self.how == "vector" else self
        rows = rows_of(form.x.shape, list(form._walks()), form.trailing)
        if rows is None:
            form = form._copied()
            rows = rows_of(form.x.shape, list(form._walks()), form.trailing)
            assert rows is not None
        return rows, form

    def strides(self, rows: Rows) -> list[int | None]:
        """Row strides and the inner stride of every operand, in kernel order."""
        places = iter(zip(rows.row_strides, rows.inner, strict=True))
        found: list[int | None] = []
        for position, tensor in enumerate(self.operands):
            if tensor is None:
                found += [None] * 4
            elif position >= 2 and self.how == "vector":
                found += [None, None, None, self.steps[position - 2]]
            else:
                row, inner = next(places)
                grouped = position >= 2 and self.how == "group"
                found += [*row, tensor.stride(0) if grouped else inner]
        return found

    def constants(self) -> dict[str, Any]:
        """What the kernels are compiled for."""
        how = self.how
        if how == "group":
            how = "spread" if self.x.shape[2] == 1 else "grouped"
        found: dict[str, Any] = {"CENTRED": self.centred, "RESIDUAL": self.residual is not None}
        for name in _SHAPING:
            found[name.upper()] = "none" if getattr(self, name) is None else how
        return found

    def _walks(self) -> Iterator[Sequence[int]]:
        """The strides along x's axes of what is walked as x is.

        A row's elements of a grouped operand are found by `run`: only its rows are walked.
        """
        for position, tensor in enumerate(self.operands):
            if tensor is None or (position >= 2 and self.how == "vector"):
                continue
            if position >= 2 and self.how == "group":
                yield 0, tensor.stride(0) * self.x.shape[2], *self.x.stride()[2:]
            else:
                yield tensor.stride()

    def _copied(self) -> Form:
        names = ("x", "residual", *(_SHAPING if self.how == "tile" else ()))
        given = {name: getattr(self, name) for name in names}
        return replace(self, **{n: t.contiguous() for n, t in given.items() if t is not None})

    def _with_vectors(self) -> Form:
        """Operands of the shape of a row, copied first where they have more strides than one."""
        found = [as_vector(getattr(self, name)) for name in _SHAPING]
        vectors = {name: vector for name, (vector, _) in zip(_SHAPING, found, strict=True)}
        return replace(self, **vectors, steps=tuple(step for _, step in found))


def form_of(function: str, tensors: Sequence[torch.Tensor], params: Mapping[str, Any]) -> Form:
    """The operator's call: outputs first, then inputs."""
    eps = params.get("eps")
    eps = FLOAT32_EPSILON if eps is None else eps
    match function:
        case "rms_norm" | "layer_norm":
            output, x, *affine = tensors
            trailing = len(params["normalized_shape"])
            return Form(output, x, trailing, eps, *affine, centred=function == "layer_norm")
        case "add_rms_norm" | "add_layer_norm":
            output, total, x, residual, *affine = tensors
            form = Form(output, x, 1, eps, *affine, total=total, residual=residual)
            return replace(form, centred=function == "add_layer_norm")
        case "ada_layer_norm":
            output, x, *modulation = tensors
            return Form(output, x, 1, eps, *modulation, how="tile")
        case "group_norm":
            output, x, *affine = tensors
            return _grouped(output, x, int(params["num_groups"]), eps, affine)
        case "instance_norm":
            output, x, _, _, *affine = tensors
            return _grouped(output, x, x.shape[1], eps, affine)
    raise ValueError(f"rows serve no {function}")


def _grouped(
    output: torch.Tensor,
    x: torch.Tensor,
    groups: int,
    eps: float,
    affine: Sequence[torch.Tensor | None],
) -> Form:
    """Channels in groups: rows of [batch, group]."""
    run = 1
    for size in x.shape[2:]:
        run = run * size
    x = x.unflatten(1, (groups, x.shape[1] // groups))
    return Form(output, x, x.dim() - 2, eps, *affine, how="group", run=run)
