"""The generated methods of an operator class, spelled as text.

In: a class and the operator of its entry. Out: real functions with the manifest's parameter names,
defaults and kinds. What they call is in stub.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.codegen.model import Argument, Operator, OverloadHeader, Parameter, Role
from tileops.manifest.adt import ADTValue
from tileops.runtime import construction, spread, stub
from tileops.runtime.bound import Bound


def _is_listed(argument: Argument) -> bool:
    """A parameter that the schema takes as a list, where the class also takes one int."""
    return argument.role is Role.PARAM and "]" in argument.type


class Methods:
    """Spells the methods of one class."""

    def __init__(self, cls: Any) -> None:
        from tileops.runtime import adapters, library

        self.cls = cls
        self.bound: Bound = cls.bound()
        self.operator: Operator = self.bound.operator
        self.inputs = [a for a in self.operator.arguments if a.role in (Role.INPUT, Role.OUT)]
        self.listed = tuple(
            dict.fromkeys(a.param for a in self.operator.arguments if _is_listed(a))
        )
        self.injected = tuple(getattr(cls, "injected_parameters", ()))
        carried = {a.param or a.name for a in self.operator.arguments}
        held = [
            (p.name, self._default(p)) for p in self.operator.parameters if p.name not in carried
        ]
        held += [(name, None) for name in self.injected]
        header = self.bound.header
        packet = self.bound.packet()
        self.names: dict[str, Any] = {
            "_construct": stub.construct,
            "_holding": stub.holding,
            "_held": tuple(held),
            "_completed": self._remember(),
            "_compiling": torch.compiler.is_compiling,
            "_empty": torch.empty,
            "_field": _field,
            "_word": _word,
            "_moved": construction.moved,
            "_device_or_default": _default_device,
        }
        self.branches = self.bound.branch is not None
        self.names["_branch"] = self.bound.branch
        self.layouts = []
        for overload in header.overloads:
            self.names[f"_call_{overload.name}"] = getattr(packet, overload.name)
            self.layouts.append(self.bound.layout(overload, library.schema_text(header, overload)))
        texts = [self._init(), self._infer_arguments()]
        if held:
            texts.append(self._forward("_plain_forward"))
            body = ["return " + self._holding()]
            texts += [self._forward(name, body) for name in stub.GENERATED[1:]]
        else:
            texts += [self._forward(name) for name in stub.GENERATED[1:]]
        text = "\n".join(texts)
        label = f"{self.bound.namespace}.{header.op}"
        adapters.define(label, "class", text, self.names)
        self.made = {name: self._finish(name) for name in stub.GENERATED}
        self.made["completed"] = self.names["_completed"]
        self.made["infer_arguments"] = self.names["_infer_arguments"]

    def _remember(self) -> Callable[..., None]:
        from tileops.runtime.pricing import reads_contents

        read = reads_contents(self.bound)
        places = tuple(i for i, a in enumerate(self.inputs) if a.name in read)
        return stub.completed_with(places) if places else stub.completed

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
                self.names[f"_default_{p.name}"] = self._default(p)
            parts.append(p.name if p.default is None else f"{p.name}=_default_{p.name}")
        if "*" not in parts:
            parts.append("*")
        parts += [*(f"{name}=None" for name in self.injected), "target=None"]
        values = ", ".join(f'"{p.name}": {p.name}' for p in self.operator.parameters)
        injected = ", ".join(f'"{name}": {name}' for name in self.injected)
        return (
            f"def __init__({', '.join(parts)}):\n"
            f'    """Checks the parameters of the entry."""\n'
            f"    _construct(self, {{{values}}}, target, {{{injected}}})\n"
        )

    def _default(self, parameter: Parameter) -> Any:
        if parameter.default is None:
            return None
        signature = self.operator.signature
        declared = None if signature is None else signature.param(parameter.name)
        if declared is not None and isinstance(declared.default, ADTValue):
            kind = getattr(declared.kind, "item", declared.kind)
            constructor = signature.adts[kind.name].constructor(declared.default.kind)
            return spread.python_value(constructor, declared.default.fields)
        return eval(parameter.default, _constants())

    def _infer_arguments(self) -> str:
        """The arguments of `infer`, for the checks around a forward that is written by hand."""
        names = ", ".join(a.name for a in self.inputs)
        values = ", ".join(
            self._argument(a) for a in self.operator.arguments if a.role is not Role.TARGET
        )
        return f"def _infer_arguments(self{', ' * bool(names)}{names}):\n    return [{values}]\n"

    def _holding(self) -> str:
        names = "".join(f", {a.name}" for a in self._ordered())
        return f"_holding(self, _held, _plain_forward{names})"

    def _ordered(self) -> list[Argument]:
        """The parameters of forward, which come in another order than the schema's."""
        first = [a for a in self.inputs if a.role is Role.INPUT and not a.keyword_only]
        buffers = [a for a in self.inputs if a.role is Role.OUT]
        return [*first, *buffers, *(a for a in self.inputs if a not in first and a not in buffers)]

    def _forward(self, name: str, body: list[str] | None = None) -> str:
        # `out` follows the inputs that are not keyword-only.
        first = [a for a in self.inputs if a.role is Role.INPUT and not a.keyword_only]
        buffers = [a for a in self.inputs if a.role is Role.OUT]
        last = [a for a in self.inputs if a.role is Role.INPUT and a.keyword_only]
        parts = ["self"]
        parts += [a.name if a.default is None else f"{a.name}=None" for a in first]
        parts += [f"{a.name}=None" for a in buffers]
        parts += ["*"] * bool(last and name != "_plain_forward")
        parts += [a.name if a.default is None else f"{a.name}=None" for a in last]
        lines = [f"def {name}({', '.join(parts)}):", '    """Calls the operator."""']
        lines += self._dispatch(buffers) if body is None else [f"    {line}" for line in body]
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
            return (
                f"_device_or_default(self.{argument.param})"
                if argument.param
                else ("_device_or_default(None)")
            )
        param = argument.param or argument.name
        if argument.role is Role.CONSTRUCTION_TENSOR:
            return f"_moved(self, {param!r}{self._leader(param)})"
        source = f"self.{stub.LISTED}{param}" if _is_listed(argument) else f"self.{param}"
        if argument.part == "plain":
            return f"(None if type(self.{param}) is str else {source})"
        if argument.part == "word":
            return f"(self.{param} if type(self.{param}) is str else None)"
        if argument.part:
            # An integer field may be symbolic, of which Dynamo cannot ask for attributes.
            name = argument.part[1:]
            enum = argument.type.startswith("str") and name != "kind"
            return f"{'_word' if enum else '_field'}(self.{param}, {name!r})"
        if _is_listed(argument):
            return source
        return f"self.{param}"

    def _leader(self, name: str) -> str:
        """Where a construction-time tensor goes: to the first input that decides the device."""
        signature = self.operator.signature
        declared = None if signature is None else signature.tensor(name)
        if declared is not None and declared.decl.on_cpu:
            return ""
        return "".join(f", {leader}" for leader in self.layouts[0].leaders)


def _default_device(device: Any) -> Any:
    """The device parameter, else torch's default device where one is set."""
    if device is not None:
        return device
    found = torch.empty(0).device
    return None if found.type == "cpu" else found


def _field(value: Any, name: str) -> Any:
    """A field of an ADT object, as the schema carries it; None on another constructor."""
    return getattr(value, name, None)


def _word(value: Any, name: str) -> Any:
    """An enum field as its literal; an ADTValue holds that itself."""
    field = getattr(value, name, None)
    return getattr(field, "value", field)


def _constants() -> dict[str, Any]:
    """What a parameter's default may name."""
    dtypes = {name: value for name, value in vars(torch).items() if isinstance(value, torch.dtype)}
    hidden = ("bool", "int", "float", "complex")
    named = {name: value for name, value in dtypes.items() if name not in hidden}
    # Without the built-in functions the text of a default can call nothing but this one.
    builtins = {"float": float}
    known = {"torch": torch, "inf": float("inf"), "nan": float("nan")}
    return {"__builtins__": builtins, **known, **named}
