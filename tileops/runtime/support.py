"""The names that generated code may call, on real and symbolic values.

In: the operator whose text is compiled. Out: a namespace. On ints every function is plain Python;
what only torch's shape environment can answer is installed into the language's `symbolic` hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import torch

from tileops.codegen.model import Operator, Role
from tileops.manifest.adt import ADTValue
from tileops.manifest.dtypes import DTYPES
from tileops.manifest.language import symbolic
from tileops.manifest.language.evaluate import compare
from tileops.manifest.language.primitives import PRIMITIVES
from tileops.manifest.language.symbolic import DomainError
from tileops.manifest.signature.interpret import (
    CallRejected,
    TensorMeta,
    check_param,
    interpret,
)
from tileops.manifest.signature.model import MISSING
from tileops.runtime.errors import CallError

#: torch dtype of every dtype name that has one, and back.
TORCH_DTYPES: dict[str, torch.dtype] = {
    name: getattr(torch, name) for name, info in DTYPES.items() if info.in_torch
}
DTYPE_NAMES: dict[torch.dtype, str] = {dtype: name for name, dtype in TORCH_DTYPES.items()}


def _guard_or_false(condition: Any) -> bool:
    from torch.fx.experimental.symbolic_shapes import guard_or_false

    return guard_or_false(condition)


def _check(condition: Any, message: str) -> None:
    try:
        torch._check_value(condition, lambda: message)
    except ValueError as error:
        raise DomainError(str(error)) from None


symbolic.install(symbolic.Hooks(_guard_or_false, _check))


def dtype_set(names: tuple[str, ...]) -> frozenset[torch.dtype]:
    return frozenset(TORCH_DTYPES[name] for name in names if name in TORCH_DTYPES)


def is_contiguous(tensor: torch.Tensor) -> bool:
    """Contiguity where it is known; a layout that depends on unbacked sizes passes."""
    try:
        return tensor.is_contiguous()
    except Exception as error:
        if type(error).__name__ == "GuardOnDataDependentSymNode":
            return True
        raise


def bare(value: Any) -> Any:
    """The int of a one-item list, which is how a schema carries `int | list`."""
    if isinstance(value, list | tuple) and len(value) == 1:
        return value[0]
    return value


def either(plain: Any, word: str | None, default: Any) -> Any:
    """The value of a parameter that two arguments carry; both together are none of its values."""
    if word is None:
        return default if plain is None else plain
    return word if plain is None else f"{plain} and {word}"


def bad_length(value: Any, lengths: tuple[int, ...]) -> bool:
    """Whether a sequence has a length that its type does not allow; a bare int is no sequence."""
    return isinstance(value, list | tuple) and len(value) not in lengths


def adt_view(kind: str | None, fields: Mapping[str, Any]) -> ADTValue | None:
    """An ADT value from the arguments that its parameter is spread over."""
    if kind is None:
        return None
    return ADTValue(kind, {name: value for name, value in fields.items() if value is not None})


def in_combos(values: tuple[Any, ...], rows: tuple[tuple[str, ...], ...]) -> bool:
    """Whether the dtypes that are there equal those of a row."""
    return any(
        all(have is None or have == want for have, want in zip(values, row, strict=True))
        for row in rows
    )


def hint(value: Any) -> Any:
    """A symbolic value as the number that stands for it, where it has one."""
    node = getattr(value, "node", None)
    if node is None:
        return value
    found = getattr(node, "hint", None)
    return str(value) if found is None else found


def meta_of(tensor: torch.Tensor) -> TensorMeta:
    """What the interpreter sees of a tensor."""
    device = tensor.device
    name = device.type if device.index is None else f"{device.type}:{device.index}"
    shape = tuple(hint(size) for size in tensor.shape)
    dtype = DTYPE_NAMES.get(tensor.dtype, str(tensor.dtype).removeprefix("torch."))
    return TensorMeta(shape, dtype, name, is_contiguous(tensor))


def manifest_value(value: Any) -> Any:
    """A Python argument as the interpreter reads it."""
    if isinstance(value, torch.dtype):
        return DTYPE_NAMES.get(value, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, list | tuple):
        return type(value)(map(hint, value)) if type(value) in (list, tuple) else list(value)
    return hint(value)


class Sentences:
    """What a failed check of one operator says."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator

    def arguments(self, local: Mapping[str, Any]) -> dict[str, Any]:
        """The call as the interpreter takes it, from the local names of `infer`."""
        result: dict[str, Any] = {}
        adts = {param.name for param in self.operator.signature.params} & {
            argument.param
            for argument in self.operator.arguments
            if argument.param and argument.param != argument.name
        }
        for argument in self.operator.arguments:
            if argument.role is Role.TARGET:
                continue
            value = local.get(argument.name)
            if argument.param in adts:
                result[argument.param] = local.get(f"{self.operator.prefix}{argument.param}")
            elif isinstance(value, torch.Tensor):
                result[argument.name] = meta_of(value)
            else:
                result[argument.name] = manifest_value(value)
        for param in self.operator.signature.params:
            if param.name not in result and param.default is not MISSING:
                # An object, which the operator leaves out.
                result[param.name] = param.default
        return result

    def sentence(self, local: Mapping[str, Any]) -> str:
        """The interpreter's sentence for a call that generated code refuses."""
        try:
            interpret(self.operator.signature, self.operator.plan, self.arguments(local))
        except CallRejected as error:
            return str(error)
        except TypeError:
            # Sizes without a value: only the declaration is known.
            return f"{self.operator.header.operator}: sizes must satisfy the declared signature"
        return (
            f"{self.operator.header.operator}: generated checks refuse a call that the signature"
            " admits; this is a bug in tileops, please report it with the call"
        )

    def reject(self, local: Mapping[str, Any]) -> NoReturn:
        raise CallError(self.sentence(local))

    def require(self, condition: Any, local: Mapping[str, Any]) -> None:
        """Raises unless a condition holds; a symbolic one becomes a guard of the trace."""
        if condition is False:
            self.reject(local)
        try:
            torch._check_value(condition, lambda: self.sentence(local))
        except ValueError as error:
            raise CallError(str(error)) from None

    def bad_param(self, name: str, value: Any) -> bool:
        param = self.operator.signature.param(name)
        assert param is not None
        if getattr(value, "node", None) is not None:
            return False
        found = manifest_value(value)
        return check_param(param, found, self.operator.signature) is not None


def namespace(operator: Operator) -> dict[str, Any]:
    """Every name that the text of one operator may call, spelled with its prefix."""
    sentences = Sentences(operator)
    names: dict[str, Callable[..., Any] | Any] = {
        "reject": sentences.reject,
        "require": sentences.require,
        "bad_param": sentences.bad_param,
        "bad_adt": sentences.bad_param,
        "dtype_set": dtype_set,
        "dtypes": TORCH_DTYPES,
        "dtype_names": DTYPE_NAMES,
        "is_contiguous": is_contiguous,
        "bare": bare,
        "bad_length": bad_length,
        "either": either,
        "adt_view": adt_view,
        "in_combos": in_combos,
        "compare": compare,
        "DomainError": DomainError,
        "inf": float("inf"),
        "len": len,
        "locals": locals,
        "type": type,
        "int": int,
        "float": float,
        "conditional": symbolic.conditional,
        "negation": symbolic.negation,
        "conjunction": symbolic.conjunction,
        "disjunction": symbolic.disjunction,
        "floor_div": symbolic.floor_div,
        "modulo": symbolic.modulo,
        "member": symbolic.member,
        "item_of": symbolic.item_of,
        "same_sequence": symbolic.same_sequence,
    }
    for name, primitive in PRIMITIVES.items():
        names[f"p_{name.replace('.', '_')}"] = primitive.run
    return {f"{operator.prefix}G_{name}": value for name, value in names.items()}
