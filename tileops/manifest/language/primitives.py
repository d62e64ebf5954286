"""The primitives of the expression language: one implementation each, with kinds and domain.

A primitive works on ints and on symbolic sizes (`symbolic`), so that the validator, the generated
checks and the fakes share it. Outside its domain it raises `DomainError`. To add one: a function, a
row in `PRIMITIVES`, a test, a row in the language reference.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tileops.manifest.dtypes import DTYPES
from tileops.manifest.language.functions import (
    balanced_sizes,
    broadcast,
    category,
    ceil_div,
    coalesce_dtype,
    conv_out,
    every,
    extremum,
    float_result,
    mhc_expansion,
    moe_capacity,
    per_axis,
    pool_out,
    prod,
    promote_int_to_float,
    promote_types,
    real_of,
    reduced,
    repeat,
    representable,
    sum_result,
    total,
    unique_axes,
    valid_axes,
)
from tileops.manifest.language.kinds import (
    ANY_DTYPE,
    AXES,
    BOOL,
    DIM,
    INT,
    MAYBE_INT,
    NONE,
    NUMBER,
    SEQ_BOOL,
    SEQ_INT,
    SEQ_MAYBE_INT,
    SHAPE,
    ADTKind,
    DTypeKind,
    EnumKind,
    Kind,
    MaybeKind,
    SeqKind,
    UnionKind,
    fits,
)
from tileops.manifest.language.symbolic import DomainError, maximum, minimum


@dataclass(frozen=True, slots=True)
class Formal:
    """One formal argument: its name, the kind it takes, whether it may be left out."""

    name: str
    kind: Kind
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Primitive:
    """One member. `result` maps the argument kinds to the result's kind; `variadic` repeats the
    last formal; `total` members never raise."""

    name: str
    formals: tuple[Formal, ...]
    result: Callable[[tuple[Kind, ...]], Kind]
    run: Callable[..., Any]
    variadic: bool = False
    total: bool = False
    yields_list: bool = False


# --- the table ------------------------------------------------------------------------------------


def _always(kind: Kind) -> Callable[[tuple[Kind, ...]], Kind]:
    return lambda _: kind


def _dim_of_dims(kinds: tuple[Kind, ...]) -> Kind:
    return DIM if all(fits(kind, DIM) for kind in kinds) else INT


def _dtype_sets(run: Callable[..., str]) -> Callable[[tuple[Kind, ...]], Kind]:
    """The result set of a dtype primitive: the primitive over its arguments' sets."""

    def result(kinds: tuple[Kind, ...]) -> Kind:
        names: set[str] = set()
        for choice in itertools.product(*map(_dtype_values, kinds)):
            try:
                names.add(run(*choice))
            except DomainError:
                continue
        return DTypeKind(tuple(name for name in DTYPES if name in names))

    return result


def _dtype_values(kind: Kind) -> tuple[str | None, ...]:
    if isinstance(kind, DTypeKind):
        return kind.names
    if isinstance(kind, MaybeKind):
        return (*_dtype_values(kind.item), None)
    return (None,)


_LAYOUT = ADTKind("*", ())
_AXIS_VALUES = UnionKind((INT, SEQ_MAYBE_INT, NONE))
_EMPTY = EnumKind(("full", "noop", "reject"))
_WINDOW = tuple(Formal(name, INT) for name in ("length", "kernel", "stride", "padding", "dilation"))
_SEQ = SeqKind(UnionKind((MAYBE_INT, BOOL)))


def _p(
    name: str,
    formals: tuple[Formal, ...],
    result: Kind | Callable[[tuple[Kind, ...]], Kind],
    run: Callable[..., Any],
    *,
    variadic: bool = False,
    total: bool = False,
    yields_list: bool = False,
) -> Primitive:
    kind_of = result if callable(result) else _always(result)
    return Primitive(name, formals, kind_of, run, variadic, total, yields_list)


def _dtype(name: str, run: Callable[..., str], *formals: Formal) -> Primitive:
    return _p(name, formals, _dtype_sets(run), run)


_T = Formal("dtype", ANY_DTYPE)
_A, _B = Formal("a", INT), Formal("b", INT)
_ITEMS = Formal("items", SEQ_INT)
_DEFAULT = Formal("default", MAYBE_INT, optional=True)

PRIMITIVES: dict[str, Primitive] = {
    primitive.name: primitive
    for primitive in (
        _p("broadcast", (Formal("shape", SHAPE),), SHAPE, broadcast, variadic=True),
        _p(
            "reduced",
            (
                Formal("shape", SHAPE),
                Formal("axes", AXES),
                Formal("keepdim", BOOL),
                Formal("empty", _EMPTY),
            ),
            SHAPE,
            reduced,
        ),
        _p("valid_axes", (Formal("axes", AXES), Formal("rank", INT)), BOOL, valid_axes, total=True),
        _p("unique_axes", (Formal("axes", AXES), Formal("rank", INT)), BOOL, unique_axes),
        _p(
            "per_axis",
            (
                Formal("value", _AXIS_VALUES),
                Formal("i", INT),
                Formal("n", INT),
                Formal("fallback", MAYBE_INT, optional=True),
            ),
            INT,
            per_axis,
        ),
        _p("ceil_div", (_A, _B), _dim_of_dims, ceil_div),
        _p("len", (Formal("items", _SEQ),), DIM, len, total=True),
        _p("prod", (_ITEMS,), INT, prod, total=True),
        _p("sum", (_ITEMS,), INT, total, total=True),
        _p("max", (_ITEMS, _DEFAULT), INT, extremum(maximum, "max")),
        _p("min", (_ITEMS, _DEFAULT), INT, extremum(minimum, "min")),
        _p("all", (Formal("items", SEQ_BOOL),), BOOL, every, total=True),
        _p("conv.out", _WINDOW, INT, conv_out),
        _p("pool.out", (*_WINDOW, Formal("ceil_mode", BOOL)), DIM, pool_out),
        _p(
            "moe.capacity",
            (Formal("layout", _LAYOUT), Formal("rows", INT), Formal("experts", INT)),
            DIM,
            moe_capacity,
        ),
        _p("mhc.expansion", (Formal("q", INT),), DIM, mhc_expansion),
        _dtype("promote_int_to_float", promote_int_to_float, _T),
        _dtype("coalesce_dtype", coalesce_dtype, Formal("first", MaybeKind(ANY_DTYPE)), _T),
        _dtype("promote_types", promote_types, _T, Formal("other", ANY_DTYPE)),
        _dtype("float_result", float_result, _T),
        _dtype("sum_result", sum_result, _T),
        _dtype("real_of", real_of, _T),
        _p(
            "balanced_sizes",
            (Formal("total", INT), Formal("count", INT)),
            SEQ_INT,
            balanced_sizes,
            yields_list=True,
        ),
        _p(
            "repeat",
            (Formal("value", INT), Formal("count", INT)),
            SEQ_INT,
            repeat,
            yields_list=True,
        ),
        _p(
            "category",
            (Formal("value", UnionKind((NUMBER, ANY_DTYPE))),),
            EnumKind(("bool", "int", "float", "complex")),
            category,
            total=True,
        ),
        _p(
            "representable",
            (Formal("value", NUMBER), Formal("dtype", ANY_DTYPE)),
            BOOL,
            representable,
            total=True,
        ),
    )
}
