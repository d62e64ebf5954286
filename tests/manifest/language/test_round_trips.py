"""What is parsed prints back: expressions, shapes, parameter types, forall kinds; and what fails."""

from __future__ import annotations

import keyword
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.manifest.textcases import check_signature
from tileops.manifest.dtypes import DTYPE_NAMES
from tileops.manifest.language.parse import ExprError, parse_expression, parse_shape
from tileops.manifest.language.syntax import (
    Apply,
    Axes,
    Axis,
    Binary,
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Expr,
    Field,
    Literal,
    Name,
    Negate,
    Not,
    Present,
    SliceExpr,
    Splice,
    Subscript,
    TupleExpr,
)
from tileops.manifest.language.types import (
    ADTType,
    DTypeType,
    ListType,
    LiteralType,
    TupleType,
    UnionType,
    WordType,
    parse_forall_kind,
    parse_type,
)

QUICK = settings(deadline=None, max_examples=250, derandomize=True, database=None)
NAMES = st.sampled_from(("A", "b", "some_name", "_x", "len", "max", "T"))
STRINGS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=6)
LITERALS = st.one_of(
    st.integers(0, 2**70),
    st.floats(min_value=0, allow_nan=False),
    st.booleans(),
    st.none(),
    STRINGS,
).map(Literal)
ATOMS = st.one_of(
    LITERALS,
    NAMES.map(Name),
    NAMES.map(Present),
    st.builds(Field, NAMES, st.sampled_from(("kind", "value"))),
)


def compares(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    """Comparisons, chained or not; an operand that is None would be a rejected form."""
    operand = inner.filter(lambda node: node != Literal(None))
    ops = st.sampled_from(("==", "!=", "<", "<=", ">", ">=", "in", "not in"))
    return st.tuples(operand, st.lists(st.tuples(ops, operand), min_size=1, max_size=3)).map(
        lambda pair: Compare(pair[0], tuple(o for o, _ in pair[1]), tuple(e for _, e in pair[1]))
    )


def compound(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    items = st.lists(inner, max_size=3).map(tuple)
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    maybe = st.none() | inner
    fold = st.builds(Comprehension, inner, NAMES, inner).map(lambda node: (node,))
    names = st.sampled_from(("broadcast", "conv.out", "anything"))
    keywords = st.dictionaries(NAMES, inner, max_size=2).map(lambda d: tuple(d.items()))
    return st.one_of(
        st.builds(TupleExpr, items),
        st.builds(Subscript, inner, inner),
        st.builds(SliceExpr, inner, maybe, maybe),
        st.builds(Negate, inner),
        st.builds(Not, inner),
        st.builds(Binary, st.sampled_from(("+", "-", "*", "//", "%")), inner, inner),
        compares(inner),
        st.builds(BoolOp, st.sampled_from(("and", "or")), several),
        st.builds(Conditional, inner, inner, inner),
        st.builds(Call, names, items, keywords),
        st.builds(Call, st.sampled_from(("all", "sum", "max", "min")), fold),
    )


EXPRESSIONS = st.recursive(ATOMS, compound, max_leaves=12)


@given(EXPRESSIONS)
@QUICK
@pytest.mark.rule("EXP-1")
def test_expressions(node: Expr) -> None:
    assert parse_expression(str(node)) == node


SPLICES = st.one_of(
    NAMES.map(Name), st.builds(Call, NAMES, st.lists(EXPRESSIONS, max_size=2).map(tuple))
)
SHAPES = st.one_of(
    st.lists(st.one_of(EXPRESSIONS.map(Axis), SPLICES.map(Splice)), max_size=4).map(
        lambda items: Axes(tuple(items))
    ),
    st.builds(Apply, NAMES, st.lists(EXPRESSIONS, min_size=1, max_size=3).map(tuple)),
)


@given(SHAPES)
@QUICK
@pytest.mark.rule("SHP-1")
def test_shapes(term: Axes | Apply) -> None:
    assert parse_shape(str(term)) == term


SINGLE = st.one_of(
    st.sampled_from(
        ("int", "bool", "float", "str", "None", "torch.dtype", "Thing", "a.b.Thing")
    ).map(WordType),
    STRINGS.filter(lambda text: "'" not in text and "\\" not in text).map(LiteralType),
    st.sampled_from(DTYPE_NAMES).filter(lambda name: name != "bool").map(DTypeType),
    st.just(ADTType("Layout")),
)


def containers(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    flat = inner.filter(lambda item: not isinstance(item, UnionType))
    unions = st.lists(flat, min_size=2, max_size=3, unique=True).map(lambda m: UnionType(tuple(m)))
    return st.one_of(
        st.builds(ListType, inner),
        st.builds(TupleType, inner.map(lambda item: (item,)), st.just(True)),
        st.lists(inner, min_size=1, max_size=3).map(lambda items: TupleType(tuple(items), False)),
        unions,
    )


@given(st.recursive(SINGLE, containers, max_leaves=6))
@QUICK
@pytest.mark.rule("TYP-2")
def test_parameter_types(type_: object) -> None:
    assert parse_type(str(type_), {"Layout": ("a",)}) == type_


@given(st.lists(st.sampled_from(DTYPE_NAMES), min_size=1, unique=True))
@QUICK
@pytest.mark.rule("TYP-1")
def test_forall_kinds(names: list[str]) -> None:
    kind = parse_forall_kind(f"DType[{' | '.join(names)}]")
    if len(names) < len(DTYPE_NAMES):
        assert parse_forall_kind(str(kind)) == kind


HOSTILE = (
    "(" * 1000 + "1" + ")" * 1000,
    "[" * 1000,
    "-" * 1500 + "1",
    "not " * 450 + "True",
    "1" + " + 1" * 450,
    " if ".join(["1"] * 300),
    "a" + ".a" * 500,
    "a" + "[0]" * 400,
    "f(" * 40 + ")" * 40,
    "1" * 5000,
    "1" * 1900,
    "x" * 10_000_000,
    "\x00",
    "é",
    "'\\ud800'",
    "1\n+ 1",
    "a" + " < a" * 400,
    "x if x else " * 150 + "x",
    "**x",
    "*x",
    "x y",
    "",
    " ",
    *keyword.kwlist,
)


@pytest.mark.rule("ENT-5")
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:20]) + str(len(text)))
def test_hostile_text_is_an_error_or_an_expression_at_once(text: str) -> None:
    start = time.process_time()
    for parse in (
        parse_expression,
        parse_shape,
        parse_forall_kind,
        lambda text: parse_type(text, {}),
    ):
        try:
            parse(text)
        except ExprError as error:
            assert error.message
    quoted = text[:3000].replace("\\", "\\\\").replace('"', '\\"')
    if quoted.isprintable():
        body = (
            'forall: {N: Dim}\ninputs: {x: {dtype: float32, shape: "[N]"}}\n'
            f'outputs: {{y: {{dtype: float32, shape: "[{quoted}]"}}}}\nshape_rules: ["{quoted}"]'
        )
        checked = check_signature(body)
        assert checked.plan is not None or checked.items
    assert time.process_time() - start < 5
