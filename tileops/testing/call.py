"""One call of an operator as a function of its tensors, which is what gets compiled.

In: an overload and its arguments. Out: a function whose parameters are the tensors, and whose other
arguments are constants of its text: held in a closure, they would turn symbolic under dynamic=True.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

__all__ = ["Call"]

_LITERALS = (bool, int, str, type(None))


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """`overload(*args, **kwargs)`; `free` names integer arguments that vary between calls.

    `unbacked` are (argument, axis) pairs whose sizes the entry's indices make dynamic.
    """

    overload: Any
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    free: tuple[str, ...] = ()
    unbacked: tuple[tuple[str, int], ...] = ()

    def __call__(self) -> Any:
        """Makes the call."""
        return self.overload(*self.args, **self.kwargs)

    @property
    def arguments(self) -> dict[str, Any]:
        """Every argument by its name in the schema."""
        names = [argument.name for argument in self.overload._schema.arguments]
        return {**dict(zip(names, self.args, strict=False)), **self.kwargs}

    @property
    def tensors(self) -> dict[str, torch.Tensor]:
        """The tensors of the call by argument name."""
        return {k: v for k, v in self.arguments.items() if isinstance(v, torch.Tensor)}

    @property
    def written(self) -> tuple[str, ...]:
        """The arguments that the schema declares as written."""
        return tuple(
            a.name
            for a in self.overload._schema.arguments
            if a.alias_info is not None and a.alias_info.is_write
        )

    def with_tensors(self, change: Callable[[str, torch.Tensor], torch.Tensor]) -> Call:
        """The same call with each tensor replaced."""
        names = [argument.name for argument in self.overload._schema.arguments]

        def new(name: str, value: Any) -> Any:
            return change(name, value) if isinstance(value, torch.Tensor) else value

        args = tuple(new(name, value) for name, value in zip(names, self.args, strict=False))
        return replace(self, args=args, kwargs={k: new(k, v) for k, v in self.kwargs.items()})

    def cloned(self) -> Call:
        """The same call with copies of the tensors, strides kept."""
        return self.with_tensors(_copy)

    def moving(self) -> list[Any]:
        """The values of the function's parameters."""
        return [v for k, v in self.arguments.items() if self._moves(k, v)]

    def function(self, callee: Any = None) -> Callable[..., Any]:
        """A new function of `moving()` that makes the call, or calls `callee` with the tensors."""
        names: dict[str, Any] = {"_callee": self.overload if callee is None else callee}
        schema = [argument.name for argument in self.overload._schema.arguments]
        parameters, parts = [], []
        for position, (name, value) in enumerate(self.arguments.items()):
            moves = self._moves(name, value)
            if callee is not None and not moves:
                continue
            text = f"_{name}" if moves else _constant(f"_c_{name}", value, names)
            parameters += [text] if moves else []
            positional = callee is None and position < len(self.args) and name == schema[position]
            parts.append(text if positional else f"{name}={text}")
        source = f"def call({', '.join(parameters)}):\n    return _callee({', '.join(parts)})\n"
        exec(source, names)
        return names["call"]  # type: ignore[no-any-return]

    def _moves(self, name: str, value: Any) -> bool:
        return isinstance(value, torch.Tensor) or name in self.free


def _copy(name: str, tensor: torch.Tensor) -> torch.Tensor:
    copy = torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )
    with torch.no_grad():
        copy.copy_(tensor)
    return copy.requires_grad_(tensor.requires_grad)


def _constant(name: str, value: Any, names: dict[str, Any]) -> str:
    """A value as text; what has no text of its own becomes a global."""
    if type(value) in _LITERALS:
        return repr(value)
    if type(value) is float and value - value == 0:
        return repr(value)
    if isinstance(value, Sequence) and all(type(item) in _LITERALS for item in value):
        return repr(list(value))
    names[name] = value
    return name
