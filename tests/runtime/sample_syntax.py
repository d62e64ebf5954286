"""How the hand-made operators of these tests are declared and compiled."""

import torch
from torch.fx.experimental.symbolic_shapes import guard_or_false

from tileops.codegen.model import (
    Argument,
    Header,
    Operator,
    Role,
)
from tileops.runtime.errors import CallError


def _hint(value):
    return value.node.hint if isinstance(value, torch.SymInt) else value


def compile_operator(operator):
    """A small equivalent of the generated code's support."""

    def require(condition, index, names):
        shown = {k: v for k, v in names.items() if not k.startswith("_")}
        text = CHECKS[operator.header.op][index]
        for name, value in names.items():
            text = text.replace("{" + name + "}", str(_hint(value)))
        if isinstance(condition, torch.SymBool):
            try:
                torch._check_value(condition, lambda: text)
            except ValueError as error:
                raise CallError(text) from error
            return
        assert shown is not None
        raise CallError(text)

    def broadcast(a, b):
        length = max(len(a), len(b))
        a, b = (1,) * (length - len(a)) + tuple(a), (1,) * (length - len(b)) + tuple(b)
        result = []
        for left, right in zip(a, b, strict=True):
            if guard_or_false(left == 1):
                result.append(right)
            elif guard_or_false(right == 1):
                result.append(left)
            else:
                condition = left == right
                if condition is not True:
                    require(condition, 0, {"left": left, "right": right})
                result.append(left)
        return tuple(result)

    names = {"_require": require, "_broadcast": broadcast, "torch": torch}
    exec(compile(operator.source, f"<sample {operator.header.op}>", "exec"), names)
    return names


def tensor(name, optional=False, keyword_only=False):
    return Argument(
        name, Role.INPUT, "Tensor?" if optional else "Tensor", "None" if optional else None,
        "None" if optional else None, keyword_only,
    )  # fmt: skip


def param(name, kind, default=None, python=None, role=Role.PARAM):
    return Argument(
        name, role, kind, default, python if python is not None else default, True, name
    )


TARGET = Argument("target", Role.TARGET, "str?", "None", "None", True, "")


def header(op, operator, overloads, **kwargs):
    facts = {
        "family": "sample",
        "status": "implemented",
        "takes_tensors": True,
        "composite": False,
        "contiguous": (),
        "differentiable": True,
    } | kwargs
    return Header(op=op, operator=operator, overloads=overloads, **facts)


CHECKS = {}


def declare(header, arguments, source, checks, parameters, outputs, index_names):
    """An operator without signature and plan, which only the generator's own code reads."""
    CHECKS[header.op] = checks
    names = tuple(a.name for a in arguments if a.role is not Role.TARGET)
    return Operator(
        header, arguments, parameters, outputs, index_names, names, "_", source, None, None
    )
