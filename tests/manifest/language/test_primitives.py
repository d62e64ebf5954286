"""Every primitive over its domain and outside of it; dtypes against torch itself."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tileops.manifest.adt import ADTValue
from tileops.manifest.dtypes import DTYPES
from tileops.manifest.language.primitives import PRIMITIVES
from tileops.manifest.language.symbolic import DomainError

MASKED = ADTValue("masked", {"max_m": 8})
TIGHT = ADTValue("contiguous", {"packing": "tight", "metadata_kind": "per_row", "alignment": 1})
ALIGNED = ADTValue("contiguous", {"packing": "aligned", "metadata_kind": "per_row", "alignment": 4})
RAISES = DomainError

#: Primitive, arguments, and the value or that it raises.
TABLE: list[tuple[str, tuple[Any, ...], Any]] = [
    ("broadcast", ((2, 1), (3,)), (2, 3)),
    ("broadcast", ((0,), (1,)), (0,)),
    ("broadcast", ((), (4, 1), (5,)), (4, 5)),
    ("broadcast", ((2,), (3,)), RAISES),
    ("broadcast", ((0,), (2,)), RAISES),
    ("broadcast", (), RAISES),
    ("reduced", ((2, 3, 4), None, False, "full"), ()),
    ("reduced", ((2, 3, 4), None, True, "full"), (1, 1, 1)),
    ("reduced", ((2, 3, 4), -1, False, "full"), (2, 3)),
    ("reduced", ((2, 3, 4), [0, -3, 2], True, "full"), (1, 3, 1)),
    ("reduced", ((2, 3), [], False, "full"), ()),
    ("reduced", ((2, 3), [], False, "noop"), (2, 3)),
    ("reduced", ((2, 3), [], False, "reject"), RAISES),
    ("reduced", ((2, 3), 2, False, "full"), RAISES),
    ("reduced", ((2, 3), True, False, "full"), RAISES),
    ("reduced", ((2, 3), [False], False, "full"), RAISES),
    ("reduced", ((), 0, True, "full"), ()),
    ("reduced", ((), [-1], False, "full"), ()),
    ("reduced", ((), 1, False, "full"), RAISES),
    ("valid_axes", (None, 0), True),
    ("valid_axes", (-1, 0), True),
    ("valid_axes", (1, 0), False),
    ("valid_axes", ([0, 2], 3), True),
    ("valid_axes", ([0, 3], 3), False),
    ("unique_axes", ([0, -1], 2), True),
    ("unique_axes", ([1, -1], 2), False),
    ("unique_axes", (5, 2), RAISES),
    ("unique_axes", (None, 2), True),
    ("per_axis", (3, 1, 2), 3),
    ("per_axis", ((4, 5), 1, 2), 5),
    ("per_axis", ((4, None), 1, 2, 9), 9),
    ("per_axis", (None, 0, 2, 7), 7),
    ("per_axis", (None, 0, 2), RAISES),
    ("per_axis", ((4,), 0, 2), RAISES),
    ("per_axis", (4, 2, 2), RAISES),
    ("ceil_div", (7, 2), 4),
    ("ceil_div", (-7, 2), -3),
    ("ceil_div", (7, 0), RAISES),
    ("len", ((1, 2),), 2),
    ("prod", ((),), 1),
    ("prod", ((2, -3),), -6),
    ("sum", ((),), 0),
    ("max", ((2, 5),), 5),
    ("max", ((),), RAISES),
    ("max", ((), 4), 4),
    ("min", ((2, 5), 1), 2),
    ("min", ((),), RAISES),
    ("all", ([],), True),
    ("all", ([True, False],), False),
    ("conv.out", (8, 3, 1, 0, 1), 6),
    ("conv.out", (1, 3, 1, 0, 1), -1),
    ("conv.out", (8, 3, 0, 0, 1), RAISES),
    ("pool.out", (1, 3, 1, 0, 1, False), 0),
    ("pool.out", (8, 3, 0, 0, 1, True), RAISES),
    ("moe.capacity", (MASKED, 10, 4), 32),
    ("moe.capacity", (TIGHT, 10, 4), 10),
    ("moe.capacity", (ALIGNED, 10, 4), 24),
    ("mhc.expansion", (8,), 2),
    ("mhc.expansion", (9,), RAISES),
    ("mhc.expansion", (0,), RAISES),
    ("mhc.expansion", (-1,), RAISES),
    ("promote_int_to_float", ("int8",), "float32"),
    ("promote_int_to_float", ("bool",), "bool"),
    ("coalesce_dtype", (None, "int8"), "int8"),
    ("coalesce_dtype", ("bool", "int8"), "bool"),
    ("promote_types", ("float8_e5m2", "float16"), RAISES),
    ("float_result", ("bool",), "float32"),
    ("float_result", ("bfloat16",), "bfloat16"),
    ("sum_result", ("uint8",), "int64"),
    ("sum_result", ("float16",), "float16"),
    ("real_of", ("complex128",), "float64"),
    ("real_of", ("int8",), "int8"),
    ("balanced_sizes", (7, 3), (3, 2, 2)),
    ("balanced_sizes", (7, 0), RAISES),
    ("balanced_sizes", (-1, 2), RAISES),
    ("repeat", (5, 3), (5, 5, 5)),
    ("repeat", (5, -1), RAISES),
    ("category", (True,), "bool"),
    ("category", (1,), "int"),
    ("category", (1.0,), "float"),
    ("category", (1j,), "complex"),
    ("category", ("uint8",), "int"),
    ("representable", (1 + 0j, "float32"), False),
    ("representable", (1e39 + 0j, "complex64"), False),
    ("representable", (-255, "uint8"), True),
    ("representable", (-256, "uint8"), False),
    ("representable", (-0.5, "uint8"), False),
    ("representable", (math.inf, "float8_e4m3fn"), False),
    ("representable", (math.nan, "float8_e4m3fn"), True),
    ("representable", (math.nan, "int8"), False),
    ("representable", (1e300, "bool"), True),
]  # fmt: skip


@pytest.mark.rule("PRM-1", "PRM-2", "PRM-4")
@pytest.mark.parametrize(("name", "args", "expected"), TABLE)
def test_values_and_domains(name: str, args: tuple[Any, ...], expected: Any) -> None:
    if expected is RAISES:
        with pytest.raises(DomainError):
            PRIMITIVES[name].run(*args)
    else:
        found = PRIMITIVES[name].run(*args)
        assert found == expected and isinstance(found, bool) == isinstance(expected, bool)


def test_every_primitive_stands_in_the_table() -> None:
    assert {name for name, _, _ in TABLE} == set(PRIMITIVES)


@pytest.mark.rule("PRM-1")
def test_total_primitives_have_no_row_that_raises() -> None:
    raising = {name for name, _, expected in TABLE if expected is RAISES}
    for name, primitive in PRIMITIVES.items():
        assert not (primitive.total and name in raising), name


TORCH = {name: getattr(torch, name) for name, info in DTYPES.items() if info.in_torch}


@pytest.mark.rule("PRM-3")
def test_promotion_is_that_of_torch() -> None:
    for a, b in itertools.product(TORCH, TORCH):
        try:
            expected = str(torch.promote_types(TORCH[a], TORCH[b])).removeprefix("torch.")
        except RuntimeError:
            expected = "raises"
        try:
            found = PRIMITIVES["promote_types"].run(a, b)
        except DomainError:
            found = "raises"
        assert found == expected, (a, b)


EDGES = [
    number
    for info in DTYPES.values()
    if info.category in ("int", "float")
    for limit in (info.low, info.high)
    for number in (limit, -limit, limit + 1, limit - 1, float(limit))
] + [0, 1, -1, 0.5, -0.5, True, False, math.inf, -math.inf, math.nan, 1j, complex(1e300, 0), 2**70]


def converts(value: Any, dtype: torch.dtype) -> bool:
    """Whether torch's checked scalar conversion takes the value; `fill_` overflows silently."""
    try:
        torch.zeros(1, dtype=dtype).masked_fill_(torch.tensor([True]), value)
    except (RuntimeError, OverflowError, TypeError):
        return False
    return True


@pytest.mark.rule("PRM-3")
def test_representable_is_what_torch_converts() -> None:
    wrong = []
    for name, dtype in TORCH.items():
        if name.startswith("float8"):
            continue  # torch has no checked conversion that takes them
        for value in EDGES:
            if isinstance(value, complex) and DTYPES[name].category != "complex":
                continue  # refused by the language, whatever the imaginary part
            # A float64 next to the limit of int64 rounds to it.
            large = isinstance(value, float) and math.isfinite(value) and abs(value) >= 2.0**62
            if DTYPES[name].category == "int" and large:
                continue
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                continue
            found = PRIMITIVES["representable"].run(value, name)
            if found != converts(value, dtype):
                wrong.append((value, name, found))
    assert not wrong


@pytest.mark.rule("PRM-3")
@given(
    st.integers(1, 12),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 2),
    st.integers(1, 2),
    st.booleans(),
)
@settings(deadline=None, max_examples=150, derandomize=True, database=None)
def test_pool_and_conv_are_those_of_torch(
    length: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> None:
    padding = min(padding, kernel // 2)
    x = torch.zeros(1, 1, length)
    try:
        pooled = torch.nn.functional.max_pool1d(
            x, kernel, stride, padding, dilation=dilation, ceil_mode=ceil_mode
        ).shape[-1]
    except RuntimeError:
        pooled = 0
    assert (
        PRIMITIVES["pool.out"].run(length, kernel, stride, padding, dilation, ceil_mode) == pooled
    )
    out = PRIMITIVES["conv.out"].run(length, kernel, stride, padding, dilation)
    if length + 2 * padding >= dilation * (kernel - 1) + 1:
        weight = torch.zeros(1, 1, kernel)
        found = torch.nn.functional.conv1d(x, weight, None, stride, padding, dilation).shape[-1]
        assert out == found


@pytest.mark.rule("PRM-3")
@given(
    st.lists(st.sampled_from((0, 1, 2, 3)), max_size=4),
    st.lists(st.sampled_from((0, 1, 2, 3)), max_size=4),
)
@settings(deadline=None, max_examples=300, derandomize=True, database=None)
def test_broadcast_is_that_of_torch(a: list[int], b: list[int]) -> None:
    try:
        expected: Any = tuple(torch.broadcast_shapes(a, b))
    except RuntimeError:
        expected = None
    try:
        found: Any = PRIMITIVES["broadcast"].run(tuple(a), tuple(b))
    except DomainError:
        found = None
    assert found == expected
