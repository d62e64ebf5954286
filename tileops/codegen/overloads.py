"""Effect branches -> overload headers: one operator schema per set of tensors written.

In: a checked signature, its arguments and its effect branches. Out: what registration needs.
"""

from __future__ import annotations

from tileops.codegen.model import Argument, Header, Output, OverloadHeader, Role
from tileops.manifest.dtypes import DTYPES
from tileops.manifest.language.kinds import DTypeKind, members_of
from tileops.manifest.language.syntax import Literal, Name
from tileops.manifest.signature.effects import EffectBranch, condition_of
from tileops.manifest.signature.model import Signature, Tensor


def overload(
    signature: Signature, arguments: tuple[Argument, ...], branch: EffectBranch
) -> OverloadHeader:
    """The schema of one effect branch."""
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    conditional = {
        tensor.name for tensor in signature.inputs if not isinstance(condition_of(tensor), bool)
    }
    shown = [item for item in arguments if item.role is not Role.OUT or branch.out]
    required = [
        at
        for at, item in enumerate(shown)
        if not item.keyword_only and item.name in branch.written and item.name in conditional
    ]
    parts: list[str] = []
    keyword = False
    for at, item in enumerate(shown):
        if item.keyword_only and not keyword:
            parts.append("*")
            keyword = True
        type_, default = item.type, item.default
        if item.name in branch.written or item.role is Role.OUT:
            type_ = f"Tensor({next(letters)}!)"
            default = None
        elif required and at < required[-1]:
            # A schema has no default before an argument without one.
            default = None
        parts.append(f"{type_} {item.name}" + ("" if default is None else f"={default}"))
    returns = ["Tensor?" if name in branch.nullable else "Tensor" for name in branch.returns]
    result = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
    suffix = "" if branch.name == "default" else f".{branch.name}"
    written = (*branch.written, *(("out",) if branch.out else ()))
    return OverloadHeader(
        branch.name,
        f"{signature.operator}{suffix}({', '.join(parts)}) -> {result}",
        written,
        branch.returns,
    )


def header_of(
    signature: Signature, arguments: tuple[Argument, ...], branches: tuple[EffectBranch, ...]
) -> Header:
    """What registration needs to know."""
    entry = signature.entry
    return Header(
        op=signature.op,
        family=signature.family,
        status="" if entry.status is None else entry.status.text,
        operator=signature.operator,
        overloads=tuple(overload(signature, arguments, branch) for branch in branches),
        takes_tensors=bool(signature.inputs or signature.construction),
        composite=entry.composition is not None,
        contiguous=tuple(tensor.name for tensor in signature.inputs if tensor.decl.contiguous),
        differentiable=any(_may_float(tensor, signature) for tensor in signature.outputs),
    )


def _may_float(tensor: Tensor, signature: Signature) -> bool:
    names: tuple[str, ...] = ()
    match tensor.dtype:
        case Literal(value=str(name)):
            names = (name,)
        case Name(id=name):
            names = tuple(
                item
                for kind in members_of(signature.kinds[name])
                if isinstance(kind, DTypeKind)
                for item in kind.names
            )
        case _:
            return True
    return any(DTYPES[name].category in ("float", "complex") for name in names)


def outputs_of(signature: Signature) -> tuple[Output, ...]:
    return tuple(
        Output(
            tensor.name,
            tensor.presence is not None,
            "" if tensor.decl.alias is None else tensor.decl.alias.text,
            tensor.decl.buffer is not None,
        )
        for tensor in signature.outputs
    )
