"""The text of one overload's functions, from its arguments and what the operator declares of them.

In: a layout. Out: one function of Python text for each kind that library.py registers. Names with a
leading underscore are those that adapters.py puts beside the text.
"""

from __future__ import annotations

from collections.abc import Iterable

from tileops.codegen.model import Role
from tileops.runtime import launch_key
from tileops.runtime.bound import Keyword, Layout

_INDENT = "    "


def signature(layout: Layout) -> str:
    """The parameters of a function that takes the overload's arguments."""
    parts: list[str] = []
    for argument in layout.arguments:
        if argument.keyword_only and "*" not in parts:
            parts.append("*")
        parts.append(
            argument.name if argument.required else f"{argument.name}=_default_{argument.name}"
        )
    return ", ".join(parts)


def _call(layout: Layout) -> str:
    return ", ".join(f"{a.name}={a.name}" if a.keyword_only else a.name for a in layout.arguments)


def _tuple(items: Iterable[str]) -> str:
    text = ", ".join(items)
    return f"({text},)" if text else "()"


def _infer(layout: Layout, branches: bool) -> list[str]:
    held = layout.held
    lines = _follow(layout)
    if layout.device and held:
        lines.append(f"{layout.device} = _indexed({layout.device})")
    elif layout.device:
        lines.append(f"{layout.device} = _place({layout.device}, {_target(layout)})")
    for name in layout.infinite:
        # A schema cannot carry the default; None stands for it.
        lines += [f"if {name} is None:", f"{_INDENT}{name} = _infinite_{name}"]
    arguments = ", ".join(name or "None" for name in layout.inferred)
    lines.append(f"_device, _specs, _indices = _infer({arguments})")
    if not layout.decided and not (layout.device and not held):
        lines += ["if _device is None:", f"{_INDENT}_device = _place(None, {_target(layout)})"]
    for name in held:
        declared = layout.on_device.get(name, True)
        if declared:
            test = f"{name} is not None and {name}.device != _device"
            lines += [f"if {test}:", f"{_INDENT}{name} = {name}.to(_device)"]
    if layout.bound_outputs:
        specs = ", ".join(f"_s{position}" for position in range(len(layout.bound_outputs)))
        lines.append(f"{specs}, = _specs")
    if branches:
        lines.append(f"_right = _branch({arguments})")
        lines.append(f"if _right != {layout.overload.name!r}:")
        lines.append(f"{_INDENT}_wrong_branch(_right)")
    return lines


def _follow(layout: Layout) -> list[str]:
    """Construction-time tensors brought to the inputs' device and their signature dtypes."""
    leaders = _tuple(layout.leaders)
    params = ", ".join(f'"{a.name}": {a.name}' for a in layout.arguments if a.role is Role.PARAM)
    return [f"{name} = _follow_{name}({name}, {leaders}, {{{params}}})" for name in layout.held]


def _allocate(layout: Layout) -> str:
    """The returned outputs, empty."""
    texts = []
    for position in layout.returned:
        spec = f"_s{position}"
        text = f"_empty({spec}[0], dtype={spec}[1], device=_device)"
        texts.append(f"None if {spec} is None else {text}" if _nullable(layout) else text)
    if not texts:
        return "None"
    return texts[0] if len(texts) == 1 else "(" + ", ".join(texts) + ")"


def _nullable(layout: Layout) -> bool:
    return not layout.overload.written and "?" in layout.overload.schema.rpartition("->")[2]


def _served(layout: Layout) -> str:
    """What dispatch is given: inputs in manifest order, the rest by keyword, effects in place."""
    split = layout.split()
    positional = _tuple(layout.arguments[i].name for i in split.positional)
    keywords = ", ".join(f'"{k.name}": {_keyword(layout, k)}' for k in split.keywords)
    return f"_device, _specs, {positional}, {{{keywords}}}"


def _keyword(layout: Layout, keyword: Keyword) -> str:
    names = [layout.arguments[position].name for position in keyword.positions]
    return names[0] if keyword.gather is None else f"_gather_{keyword.name}({', '.join(names)})"


def _effects(layout: Layout) -> str:
    if not layout.overload.written:
        return ""
    outputs = _tuple(name or "None" for name in layout.bound_outputs)
    return f", {outputs}, {_tuple(layout.unbound)}"


def _function(name: str, layout: Layout, body: list[str]) -> str:
    lines = [f"def {name}({signature(layout)}):", *(_INDENT + line for line in body)]
    return "\n".join(lines) + "\n"


def run(layout: Layout, branches: bool) -> str:
    empty = [
        f"(_s{position} is None or 0 in _s{position}[0])"
        if _nullable(layout)
        else f"0 in _s{position}[0]"
        for position, bound in enumerate(layout.bound_outputs)
        if bound or position in layout.returned
    ]
    empty += [f"{name}.numel() == 0" for name in layout.unbound]
    target = _target(layout)
    # Without tensors no key tells a meta call from a real one.
    meta = ' or _device.type == "meta"' if layout.device else ""
    key = launch_key.expression(layout)
    body = [
        *_kept(layout, key),
        *_infer(layout, branches),
        *_contents_check(layout),
        f"if {' and '.join(empty)}{meta}:",
        f"{_INDENT}return {_allocate(layout)}",
        *_fast(layout),
        f"return _serve({target}, {_served(layout)}{_effects(layout)}"
        + (", key=_key)" if key else ")"),
    ]
    return _function("run", layout, body)


def _kept(layout: Layout, key: str) -> list[str]:
    """The launches of an equal call made again, which was checked when it was first made."""
    if not key:
        return []
    leader = next(a.name for a in layout.arguments if a.type == "Tensor" and a.is_tensor)
    tests = [f"{leader}.is_cuda", f"{_target(layout)} is None"]
    tests += ["not validate_inputs" for a in layout.arguments if a.name == "validate_inputs"]
    lines = ["_key = None", f"if {' and '.join(tests)}:", f"{_INDENT}_key = {key}"]
    if layout.overload.written:
        # Whether what is written overlaps another argument is asked first.
        return lines
    inputs = [layout.arguments[i].name for i in layout.split().positional]
    memory = _tuple((*inputs, *layout.keyword_tensors()))
    return [
        *lines,
        f"{_INDENT}_found = _find(_key)",
        f"{_INDENT}if _found is not None and not _attention.count:",
        f"{_INDENT * 2}return _found.call({memory})",
    ]


def _contents_check(layout: Layout) -> list[str]:
    """Where the entry has `validate_inputs`: the contents held to every `requires`."""
    if not any(a.name == "validate_inputs" for a in layout.arguments):
        return []
    values = ", ".join(
        f'"{name}": {name}' for name in layout.tensors if name not in layout.overload.written
    )
    split = layout.split()
    values += "".join(f', "{k.name}": {_keyword(layout, k)}' for k in split.keywords)
    return ["if validate_inputs:", f"{_INDENT}_validate({{{values}}}, _indices)"]


def composite(layout: Layout, branches: bool) -> str:
    """Checks, then the class's own forward: its stages are what AOT sees."""
    values = ", ".join(f'"{a.name}": {a.name}' for a in layout.arguments)
    body = [*_infer(layout, branches), f"return _compose({{{values}}})"]
    return _function("run", layout, body)


def _fast(layout: Layout) -> list[str]:
    """The reference called in place, where nothing but it can serve: the host cost of a CPU call.

    Anything unusual about its results goes to the dispatcher, which copes or explains.
    """
    if layout.overload.written or layout.placed:
        return []
    split = layout.split()
    names = [a.name for a in layout.arguments]
    arguments = [names[i] for i in split.positional]
    arguments += [f"{k.name}={_keyword(layout, k)}" for k in split.keywords]
    count = len(layout.returned)
    results = "_r0" if count == 1 else "_results"
    lines = [
        f"if {_target(layout)} is None and not _attention.count "
        "and _device in _by_reference and not _autocast():",
        f"{_INDENT}{results} = _implementation({', '.join(arguments)})",
    ]
    indent = _INDENT
    if count > 1:
        lines.append(f"{indent}if type(_results) is tuple and len(_results) == {count}:")
        indent += _INDENT
        lines.append(f"{indent}{', '.join(f'_r{i}' for i in range(count))} = _results")
    tests = [_usual(layout, position) for position in layout.returned]
    lines += [f"{indent}if {' and '.join(tests)}:", f"{indent}{_INDENT}return {results}"]
    lines.append(f"{_INDENT}return _finish({results}, {_served(layout)})")
    return lines


def _usual(layout: Layout, position: int) -> str:
    """Whether a result is exactly what the operator returns; `_Tensor` is a plain one."""
    result, spec = f"_r{position}", f"_s{position}"
    tensors = "".join(f", {name}" for name in layout.tensors)
    tests = [
        f"type({result}) is _Tensor",
        f"{result}.dtype is {spec}[1]",
        f"{result}.device == _device",
        f"{result}.shape == {spec}[0]",
        f"{result}.is_contiguous()",
        f"not {result}._is_view()",
        f"(not {result}.is_inference() or _own({result}{tensors}))",
        *(f"{result} is not {name}" for name in layout.tensors),
    ]
    test = " and ".join(tests)
    if _nullable(layout):
        return f"({result} is None if {spec} is None else {test})"
    return test


def _target(layout: Layout) -> str:
    return next((a.name for a in layout.arguments if a.role is Role.TARGET), "None")


def fake(layout: Layout, branches: bool) -> str:
    body = ["_keep_tag()", *_infer(layout, branches), f"return {_allocate(layout)}"]
    return _function("fake", layout, body)


def plain(layout: Layout, branches: bool) -> str:
    body = [*_infer(layout, branches), f"return _plain({_served(layout)}{_effects(layout)})"]
    return _function("plain", layout, body)


def transform(layout: Layout, differentiable: bool) -> str:
    refuse = [] if differentiable else [f"_refuse_transform({_tuple(layout.tensors)})"]
    body = [*refuse, f"return _plain_function({_call(layout)})"]
    return _function("transform", layout, body)


def boundary(layout: Layout) -> str:
    """A call of an explicit target, or that reads contents, keeps its node."""
    kept = [f"{_target(layout)} is not None"]
    kept += ["validate_inputs" for a in layout.arguments if a.name == "validate_inputs"]
    body = [
        f"if {' or '.join(kept)}:",
        f'{_INDENT}return "opaque"',
        f"return _policy({_tuple(layout.tensors)})",
    ]
    return _function("boundary", layout, body)


def kernels(layout: Layout, branches: bool) -> str:
    if layout.overload.written:
        # Whether a written input shares memory with another cannot be asked of a graph.
        return _function("kernels", layout, ["return NotImplemented"])
    body = [*_infer(layout, branches), f"return _kernels({_served(layout)})"]
    return _function("kernels", layout, body)


def autograd(layout: Layout, seed: str | None) -> str:
    optional = {a.name for a in layout.arguments if a.type == "Tensor?"}
    wanted = [
        f"({name} is not None and {name}.requires_grad)"
        if name in optional
        else f"{name}.requires_grad"
        for name in layout.tensors
    ]
    direct = "".join(
        f" and ({name} is None or _direct({name}))" if name in optional else f" and _direct({name})"
        for name in layout.tensors
    )
    # What was drawn is in the graph that autograd keeps of the reference.
    drawn = []
    if seed is not None and not layout.overload.written:
        drawn = [f"if {seed} is None:", f"{_INDENT}return _transform_function({_call(layout)})"]
    body = [
        # Above autograd, so that the gradient finds its way back.
        *_follow(layout),
        # Tangents would be silently zero behind a kernel.
        "if _forward_ad._current_level >= 0:",
        f"{_INDENT}return _transform_function({_call(layout)})",
        f"if _grad_enabled() and ({' or '.join(wanted) or 'False'}):",
        *(_INDENT + line for line in drawn),
        f"{_INDENT}return _apply({', '.join(a.name for a in layout.arguments)})",
        # Plain tensors and no mode: no other key is between here and the implementation.
        f"if _modes() == 0{direct}:",
        f"{_INDENT}return _run_function({_call(layout)})",
        "with _below_autograd():",
        f"{_INDENT}return _operator({_call(layout)})",
    ]
    return _function("autograd", layout, body)
