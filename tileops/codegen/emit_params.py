"""Parameters in a generated function: how they are spelled inside, and what is left to check.

The operator schema holds part of a type; only what it does not hold is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileops.codegen.body import Context
from tileops.codegen.operator_schema import is_object, is_word_union, word_argument
from tileops.manifest.language.kinds import ADTKind, DTypeKind, Kind, members_of
from tileops.manifest.language.types import (
    ListType,
    LiteralType,
    ParamType,
    TupleType,
    WordType,
    alternatives,
)
from tileops.manifest.signature.model import MISSING, Param, Signature

_INT = WordType("int")
_NONE = WordType("None")
_NUMBERS = frozenset({"int", "float", "bool", "complex", "Number"})


def is_dtype(kind: Kind) -> bool:
    return any(isinstance(member, DTypeKind) for member in members_of(kind))


def adt_of(kind: Kind) -> ADTKind | None:
    return next((member for member in members_of(kind) if isinstance(member, ADTKind)), None)


def local_names(signature: Signature, prefix: str) -> dict[str, str]:
    """Parameters that are spelled otherwise inside: dtypes by name, spread ones as one value."""
    return {
        param.name: f"{prefix}{param.name}"
        for param in signature.params
        if is_dtype(param.kind)
        or adt_of(param.kind) is not None
        or is_word_union(param)
        or is_object(param)
    }


def param_lines(ctx: Context) -> Iterator[str]:
    """The lines that give those parameters their inner spelling."""
    for param in ctx.signature.params:
        adt = adt_of(param.kind)
        if adt is not None:
            fields = {
                name: f"{param.name}_{name}"
                for constructor in ctx.signature.adts[adt.name].constructors
                for name in constructor.fields
            }
            inner = ", ".join(f"{name!r}: {arg}" for name, arg in fields.items())
            view = ctx.low.support("adt_view")
            yield f"{ctx.prefix}{param.name} = {view}({param.name}, {{{inner}}})"
        elif is_object(param):
            # The operator has no argument for it.
            yield f"{ctx.prefix}{param.name} = {param.default!r}"
        elif is_word_union(param):
            default = None if param.default is MISSING else param.default
            word = word_argument(param, ctx.signature)
            value = f"{ctx.low.support('either')}({param.name}, {word}, {default!r})"
            if _takes_bare_int(param):
                value = f"{ctx.low.support('bare')}({value})"
            yield f"{ctx.prefix}{param.name} = {value}"
        elif is_dtype(param.kind):
            names = ctx.low.support("dtype_names")
            yield f"{ctx.prefix}{param.name} = {names}.get({param.name})"
        elif _takes_bare_int(param):
            yield f"{param.name} = {ctx.low.support('bare')}({param.name})"


def check_param(ctx: Context, name: str) -> None:
    """Checks what the schema's type does not already hold."""
    param = ctx.signature.param(name)
    assert param is not None
    members = alternatives(param.type)
    optional = _NONE in members
    if is_object(param):
        return
    if is_word_union(param):
        own = ctx.low.name(name)
        bad = f"{ctx.low.support('bad_param')}({name!r}, {own})"
        ctx.fail_if(f"{_fast(ctx, own, list(members))}{bad}")
        return
    if adt_of(param.kind) is not None:
        ctx.fail_if(f"{ctx.low.support('bad_adt')}({name!r}, {ctx.low.name(name)})")
        return
    dtypes = [kind for kind in members_of(param.kind) if isinstance(kind, DTypeKind)]
    if dtypes:
        absent = f"{name} is not None and " if optional else ""
        ctx.fail_if(f"{absent}{ctx.low.name(name)} not in {dtypes[0].names!r}")
        return
    plain = [item for item in members if item != _NONE]
    strings = tuple(item.value for item in plain if isinstance(item, LiteralType))
    if strings and len(strings) == len(plain):
        allowed = (*strings, None) if optional else strings
        ctx.fail_if(f"{name} not in {allowed!r}")
        return
    lengths = _lengths(plain)
    if lengths:
        wrong = ctx.low.support("bad_length")
        ctx.fail_if(f"{wrong}({name}, {lengths!r})")
    elif _needs_check(plain):
        ctx.fail_if(f"{_fast(ctx, name, plain)}{ctx.low.support('bad_param')}({name!r}, {name})")


def _lengths(members: list[ParamType]) -> tuple[int, ...]:
    """The lengths that a sequence may have, where a parameter is fixed tuples of ints and ints."""
    tuples = [item for item in members if isinstance(item, TupleType) and not item.variadic]
    fixed = all(part == _INT for item in tuples for part in item.items)
    if not fixed or any(item != _INT and item not in tuples for item in members):
        return ()
    return tuple(dict.fromkeys(len(item.items) for item in tuples))


def _fast(ctx: Context, name: str, members: list[ParamType]) -> str:
    """A test of the commonest type, ahead of the complete one."""
    for word in ("int", "float"):
        if WordType(word) in members or WordType("Number") in members:
            return f"{ctx.low.builtin('type')}({name}) is not {ctx.low.builtin(word)} and "
    return ""


def _needs_check(members: list[ParamType]) -> bool:
    """Whether the schema admits values that the manifest's type does not."""
    fixed = any(isinstance(item, TupleType) and not item.variadic for item in members)
    words = {item.word for item in members if isinstance(item, WordType)}
    scalar = len(words & _NUMBERS) > 1 or words == {"complex"}
    nested = any(isinstance(item, ListType) for item in members) and len(members) > 2
    return fixed or scalar or nested


def _takes_bare_int(param: Param) -> bool:
    members = alternatives(param.type)
    return _INT in members and any(isinstance(item, ListType | TupleType) for item in members)
