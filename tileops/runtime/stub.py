"""What an operator class does not write: `__init__`, `forward` and `__call__`, from its operator.

In: a class and the operator of its entry. Out: real functions with the manifest's parameter names,
defaults and kinds, spelled as text and put on the class at the first use of one of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from tileops.codegen.model import Argument, Operator, OverloadHeader, Role
from tileops.runtime import parameters, targets
from tileops.runtime.bound import Bound

if TYPE_CHECKING:
    from tileops.runtime.pricing import LastCall

GENERATED = ("__init__", "forward", "__call__")
LAST_CALLS = "_last_calls"
_LISTED = "_as_list_"
_lock = threading.RLock()
_PLAIN = (torch.Tensor, torch.nn.Parameter, type(None))


class Lazy:
    """Stands on a class for a function that is generated when somebody first looks at it."""

    def __init__(self, name: str, general: Callable[..., Any]) -> None:
        self.name = name
        self.general = general

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None and not owner.has_entry():  # type: ignore[attr-defined]
            # help() looks at bases too.
            return self.general
        function = generated(owner, self.name)
        return function if instance is None else function.__get__(instance, owner)


def generated(cls: Any, name: str) -> Callable[..., Any]:
    """The generated method of a class, whether or not the class also writes it by hand."""
    made = cls.__dict__.get("_generated_methods")
    if made is None:
        made = materialise(cls)
    return made[name]  # type: ignore[no-any-return]


def materialise(cls: Any) -> dict[str, Callable[..., Any]]:
    """Generates the methods and puts those that the class does not write on it, once."""
    with _lock:
        made = cls.__dict__.get("_generated_methods")
        if made is not None:
            return made  # type: ignore[no-any-return]
        made = _Methods(cls).made
        for name, function in made.items():
            if isinstance(cls.__dict__.get(name), Lazy):
                setattr(cls, name, function)
        cls._generated_methods = made
        return made


def parameter_names(cls: Any) -> tuple[str, ...]:
    """The construction parameters of a class, in manifest order."""
    return tuple(p.name for p in cls.bound().operator.parameters)


def construct(self: Any, values: dict[str, Any], target: str | None) -> None:
    """Checks the parameters and keeps them; sequences become tuples."""
    cls = type(self)
    bound: Bound = cls.bound()
    operator = bound.operator
    state = {
        p.name: parameters.check(cls.__name__, p.name, p.type, values[p.name])
        for p in operator.parameters
    }
    if target is not None:
        targets.find(target, cls.__name__)
    checks = bound.functions.get("construct")
    if checks is not None:
        checks(**state)
    listed = {
        _LISTED + a.param: (state[a.param],) if type(state[a.param]) is int else state[a.param]
        for a in operator.arguments
        if _is_listed(a)
    }
    self.__dict__.update(state, target=target, **listed)


def completed(self: Any, *tensors: Any) -> None:
    """Remembers a finished call of real tensors, for `eval_roofline`, per thread."""
    for tensor in tensors:
        if type(tensor) not in _PLAIN:
            return
    self.__dict__.setdefault(LAST_CALLS, {})[threading.get_ident()] = [
        None if tensor is None else (tensor.shape, tensor.dtype) for tensor in tensors
    ]


def completed_with(contents: tuple[int, ...]) -> Callable[..., None]:
    """`completed` where a cost function reads contents: of the inputs at these places."""
    from tileops.runtime.pricing import version_of

    def remember(self: Any, *tensors: Any) -> None:
        completed(self, *tensors)
        found = self.__dict__.get(LAST_CALLS, {}).get(threading.get_ident())
        if found is not None:
            given = {place: tensors[place] for place in contents if tensors[place] is not None}
            found.append({place: (item, version_of(item)) for place, item in given.items()})

    return remember


def last_call(self: Any) -> LastCall | None:
    """What `completed` remembers for this thread."""
    from tileops.runtime.pricing import LastCall

    found = self.__dict__.get(LAST_CALLS, {}).get(threading.get_ident())
    if found is None:
        return None
    operator: Operator = type(self).bound().operator
    names = [a.name for a in operator.arguments if a.role in (Role.INPUT, Role.OUT)]
    inputs = {
        name: None if item is None else (tuple(item[0]), item[1])
        for name, item in zip(names, found, strict=False)
    }
    contents = found[len(names)] if len(found) > len(names) else {}
    return LastCall(
        inputs, self.parameters(), {names[place]: item for place, item in contents.items()}
    )


def equal(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Equality of parameters, tensors by value; instances that hold none yet are not equal."""
    if not a or a.keys() != b.keys():
        return False
    for left, right in zip(a.values(), b.values(), strict=True):
        if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
            if left is not right and not (left.shape == right.shape and torch.equal(left, right)):
                return False
        elif type(left) is not type(right) or left != right:
            return False
    return True


def _is_listed(argument: Argument) -> bool:
    """A parameter that the schema takes as a list, where the class also takes one int."""
    return argument.role is Role.PARAM and "]" in argument.type


class _Methods:
    """Spells the methods of one class."""

    def __init__(self, cls: Any) -> None:
        from tileops.runtime import adapters, library

        self.cls = cls
        self.bound: Bound = cls.bound()
        self.operator: Operator = self.bound.operator
        self.inputs = [a for a in self.operator.arguments if a.role in (Role.INPUT, Role.OUT)]
        header = self.bound.header
        packet = self.bound.packet()
        self.names: dict[str, Any] = {
            "_construct": construct,
            "_completed": self._remember(),
            "_compiling": torch.compiler.is_compiling,
            "_empty": torch.empty,
            "_field": _field,
            "_moved": _moved,
        }
        self.branches = self.bound.branch is not None
        self.names["_branch"] = self.bound.branch
        self.layouts = []
        for overload in header.overloads:
            self.names[f"_call_{overload.name}"] = getattr(packet, overload.name)
            self.layouts.append(self.bound.layout(overload, library.schema_text(header, overload)))
        text = self._init() + "\n" + self._forward("forward") + "\n" + self._forward("__call__")
        label = f"{self.bound.namespace}.{header.op}"
        adapters.define(label, "class", text, self.names)
        self.made = {name: self._finish(name) for name in GENERATED}

    def _remember(self) -> Callable[..., None]:
        from tileops.runtime.pricing import reads_contents

        read = reads_contents(self.bound)
        places = tuple(i for i, a in enumerate(self.inputs) if a.name in read)
        return completed_with(places) if places else completed

    def _finish(self, name: str) -> Callable[..., Any]:
        function = self.names[name]
        function.__qualname__ = f"{self.cls.__qualname__}.{name}"
        function.__module__ = self.cls.__module__
        function.generated_by_tileops = True
        if name == "__init__":
            function.__annotations__ = {p.name: p.annotation for p in self.operator.parameters} | {
                "target": "str | None",
                "return": "None",
            }
        else:
            function.__annotations__ = {
                a.name: "Tensor | None" if a.default is not None or a.role is Role.OUT else "Tensor"
                for a in self.inputs
            }
        return function  # type: ignore[no-any-return]

    def _init(self) -> str:
        parts = ["self"]
        for p in sorted(self.operator.parameters, key=lambda p: p.keyword_only):
            if p.keyword_only and "*" not in parts:
                parts.append("*")
            if p.default is not None:
                self.names[f"_default_{p.name}"] = eval(p.default, _constants())
            parts.append(p.name if p.default is None else f"{p.name}=_default_{p.name}")
        if "*" not in parts:
            parts.append("*")
        parts.append("target=None")
        values = ", ".join(f'"{p.name}": {p.name}' for p in self.operator.parameters)
        return (
            f"def __init__({', '.join(parts)}):\n"
            f'    """Checks the parameters of the entry."""\n'
            f"    _construct(self, {{{values}}}, target)\n"
        )

    def _forward(self, name: str) -> str:
        # `out` follows the inputs that are not keyword-only.
        first = [a for a in self.inputs if a.role is Role.INPUT and not a.keyword_only]
        buffers = [a for a in self.inputs if a.role is Role.OUT]
        last = [a for a in self.inputs if a.role is Role.INPUT and a.keyword_only]
        parts = ["self"]
        parts += [a.name if a.default is None else f"{a.name}=None" for a in first]
        parts += [f"{a.name}=None" for a in buffers]
        parts += ["*"] * bool(last)
        parts += [a.name if a.default is None else f"{a.name}=None" for a in last]
        lines = [f"def {name}({', '.join(parts)}):", '    """Calls the operator."""']
        lines += self._dispatch(buffers)
        return "\n".join(lines) + "\n"

    def _dispatch(self, buffers: list[Argument]) -> list[str]:
        if len(self.layouts) == 1:
            return ["    " + line for line in self._overload(0)]
        lines = []
        if self.branches:
            arguments = ", ".join(
                self._argument(a) for a in self.operator.arguments if a.role is not Role.TARGET
            )
            lines.append(f"    _right = _branch({arguments})")
        for position, layout in enumerate(self.layouts):
            overload: OverloadHeader = layout.overload
            if self.branches:
                test = f"_right == {overload.name!r}"
            else:
                given = buffers[0].name if buffers else "None"
                test = f"{given} is {'not ' if given in overload.written else ''}None"
            lines.append(f"    if {test}:")
            lines += ["        " + line for line in self._overload(position)]
        return lines

    def _overload(self, position: int) -> list[str]:
        """The call of one overload and the outputs in manifest order, written ones as passed."""
        layout = self.layouts[position]
        known = {a.name: a for a in self.operator.arguments}
        arguments = ", ".join(
            f"{a.name}={self._argument(known[a.name])}"
            if a.keyword_only
            else self._argument(known[a.name])
            for a in layout.arguments
        )
        lines = [f"_result = _call_{layout.overload.name}({arguments})"]
        passed = "".join(f", {a.name}" for a in self.inputs)
        lines += ["if not _compiling():", f"    _completed(self{passed})"]
        several = len(layout.returned) > 1
        outputs = []
        for index, bound in enumerate(layout.bound_outputs):
            if index in layout.returned:
                place = layout.returned.index(index)
                outputs.append(f"_result[{place}]" if several else "_result")
            else:
                outputs.append(bound or "None")
        if len(outputs) == len(layout.returned) or not outputs:
            lines.append("return _result" if outputs else "return None")
        else:
            lines.append(
                f"return {outputs[0]}" if len(outputs) == 1 else f"return ({', '.join(outputs)})"
            )
        return lines

    def _argument(self, argument: Argument) -> str:
        if argument.role in (Role.INPUT, Role.OUT):
            return argument.name
        if argument.role is Role.TARGET:
            return "self.target"
        if argument.role is Role.DEVICE:
            attribute = f"self.{argument.param or argument.name}"
            return f"({attribute} if {attribute} is not None else _empty(0).device)"
        param = argument.param or argument.name
        if argument.role is Role.CONSTRUCTION_TENSOR:
            inputs = [a.name for a in self.inputs if a.type == "Tensor"]
            return f"_moved(self.{param}, {inputs[0]})" if inputs else f"self.{param}"
        source = f"self.{_LISTED}{param}" if _is_listed(argument) else f"self.{param}"
        if argument.part == "plain":
            return f"(None if type(self.{param}) is str else {source})"
        if argument.part == "word":
            return f"(self.{param} if type(self.{param}) is str else None)"
        if argument.part:
            return f"_field(self.{param}, {argument.part[1:]!r})"
        if _is_listed(argument):
            return source
        return f"self.{param}"


def _field(value: Any, name: str) -> Any:
    """A field of an ADT object, as the schema carries it; None on another constructor."""
    field = getattr(value, name, None)
    return getattr(field, "value", field)


def _moved(tensor: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor | None:
    """A construction-time tensor on the device of the call."""
    if tensor is None or tensor.device == like.device:
        return tensor
    return tensor.to(like.device)


def _constants() -> dict[str, Any]:
    """What a parameter's default may name."""
    dtypes = {name: value for name, value in vars(torch).items() if isinstance(value, torch.dtype)}
    hidden = ("bool", "int", "float", "complex")
    named = {name: value for name, value in dtypes.items() if name not in hidden}
    # Without the built-in functions the text of a default can call nothing but this one.
    builtins = {"float": float}
    numbers = {"inf": float("inf"), "nan": float("nan")}
    return {"__builtins__": builtins, "torch": torch, **numbers, **named}
