"""Parameters through classes and operators: sentences, edits, spread ones, tensors, objects."""

import copy
import pickle
from dataclasses import dataclass

import pytest
import torch

import tileops
from tests.runtime import own
from tileops.elementwise import GELUFwdOp
from tileops.manifest.adt import ADTValue
from tileops.moe.layout import ContiguousLayout, MaskedLayout, MetadataKind, Packing
from tileops.norm import RMSNormFwdOp
from tileops.reduction import SoftmaxFwdOp
from tileops.runtime.errors import CallError
from tileops.runtime.reference import ImplementationError


def test_an_axis_that_dynamo_makes_symbolic():
    compiled = torch.compile(SoftmaxFwdOp(dim=-1), fullgraph=True, dynamic=True)
    for size in (4, 6):
        x = torch.randn(size, 5)
        torch.testing.assert_close(compiled(x), x.softmax(-1))
    summed = torch.compile(
        lambda x, dim: SoftmaxFwdOp(dim=dim)(x), backend="aot_eager", fullgraph=True, dynamic=True
    )
    torch.testing.assert_close(summed(x, 0), x.softmax(0))


LITERALS = """
PadFwdOp:
  family: own
  ref_api: none
  status: implemented
  signature:
    forall: {N: Dim}
    params:
      padding: {type: "int | tuple[int, int] | 'valid' | 'same'", default: 0}
    inputs:
      x: {dtype: float32, shape: "[N]"}
    let:
      P: "0 if padding == 'valid' or padding == 'same' else per_axis(padding, 0, 2)"
    outputs:
      y: {dtype: float32, shape: "[N + 2 * P]"}
    shape_rules: ["P >= 0"]
  workloads:
    - {label: one, N: 4}
  roofline: {flops: "N"}
"""


def pad(x, *, padding):
    if isinstance(padding, str):
        return x.clone()
    return torch.nn.functional.pad(x, (padding[0], padding[0]))


LAYOUT = """
RowsFwdOp:
  family: own
  ref_api: none
  status: implemented
  signature:
    forall: {N: Dim}
    params:
      layout: {type: Layout}
    inputs:
      x: {dtype: float32, shape: "[N]"}
    outputs:
      y: {dtype: float32, shape: "[N]"}
    shape_rules: ["layout.kind == 'masked' or layout.alignment <= 128"]
  workloads:
    - {label: one, N: 4, layout: {masked: {max_m: 2}}}
  roofline: {flops: "N"}
"""
TYPES = """
adts:
  Layout:
    contiguous:
      python: %s.ContiguousLayout
      fields:
        packing: {type: "'tight' | 'aligned'", python: tileops.moe.layout.Packing}
        metadata_kind: {type: "'physical_psum' | 'per_row'", python: tileops.moe.layout.MetadataKind}
        alignment: Int
      invariant: "alignment > 0 and (packing == 'aligned' or alignment == 1)"
    masked:
      python: %s.MaskedLayout
      fields:
        max_m: Dim
      invariant: "max_m > 0"
"""
ALIGNED = ContiguousLayout(Packing.ALIGNED, MetadataKind.PER_ROW, 64)


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    # Dynamo counts compilations of all callables that are no functions together.
    torch._dynamo.reset()


def layout_op(place="tileops.moe.layout"):
    seen = []

    def rows(x, *, layout):
        seen.append(layout)
        return x * 2

    registry = own.load(LAYOUT, types=TYPES % (place, place), RowsFwdOp=rows)
    return registry.bound("RowsFwdOp").op_class, seen


def test_every_entry_registers():
    assert tileops.registry.skipped == () and len(tileops.registry.entries) == 206
    schema = str(torch.ops.tileops.convolution_conv2d_fwd.default._schema)
    assert "SymInt[]? padding=None, str? padding_name=None" in schema
    assert "epilogue" not in str(torch.ops.tileops.moe_post_permute_fwd.default._schema)


@pytest.mark.parametrize(
    ("value", "size"), [(0, 4), (1, 6), ((2, 0), 8), ("same", 4), ([1, 1], 6)]
)
def test_literals_beside_lists_take_an_argument_of_their_own(value, size):
    op = own.classes(LITERALS, PadFwdOp=pad)["PadFwdOp"]
    x = torch.randn(4)
    assert op(padding=value)(x).shape == (size,)
    compiled = torch.compile(op(value), backend="aot_eager", fullgraph=True, dynamic=True)
    assert compiled(x).shape == (size,) and compiled(torch.randn(5)).shape == (size + 1,)
    assert pickle.loads(pickle.dumps(value)) == value
    operator = op.bound().packet()
    named = {"padding_name": value} if isinstance(value, str) else {}
    plain = {} if named else {"padding": [value] if isinstance(value, int) else list(value)}
    assert operator(x, **named, **plain).shape == (size,)
    assert operator(x).shape == (4,)


def test_both_arguments_of_such_a_parameter_or_a_wrong_word_are_refused():
    op = own.classes(LITERALS, PadFwdOp=pad)["PadFwdOp"]
    operator = op.bound().packet()
    x = torch.randn(4)
    with pytest.raises(CallError, match=r"padding must be int .* got '.1. and same'"):
        operator(x, padding=[1], padding_name="same")
    with pytest.raises(CallError, match=r"padding must be int .* got 'full'") as caught:
        operator(x, padding_name="full")
    with pytest.raises(CallError) as constructed:
        op("full")
    assert str(constructed.value) == str(caught.value)


@pytest.mark.parametrize("layout", [ALIGNED, MaskedLayout(3)])
@pytest.mark.rule("ADT-4", "ADT-5")
def test_adts_round_trip_as_objects(layout):
    op, seen = layout_op()
    x = torch.randn(4, requires_grad=True)
    made = op(layout)
    made(x).sum().backward()
    for dynamic in (False, True):
        torch._dynamo.reset()
        torch.compile(made, backend="aot_eager", fullgraph=True, dynamic=dynamic)(x.detach())
    assert seen and all(item == layout and type(item) is type(layout) for item in seen)
    assert pickle.loads(pickle.dumps(layout)) == layout == copy.deepcopy(layout)
    assert type(layout).kind == ("masked" if isinstance(layout, MaskedLayout) else "contiguous")


def test_the_default_of_an_adt_is_an_object():
    text = LAYOUT.replace("{type: Layout}", "{type: Layout, default: {masked: {max_m: 2}}}")
    seen = []
    types = TYPES % (("tileops.moe.layout",) * 2)
    registry = own.load(text, types=types, RowsFwdOp=lambda x, *, layout: seen.append(layout) or x * 2)
    registry.bound("RowsFwdOp").op_class()(torch.randn(4))
    registry.bound("RowsFwdOp").packet()(torch.randn(4))
    assert seen == [MaskedLayout(2), MaskedLayout(2)]


def test_an_adt_whose_class_is_not_importable_is_its_value():
    op, seen = layout_op("no_such_package.layout")
    op(ALIGNED)(torch.randn(4))
    assert isinstance(seen[0], ADTValue) and seen[0].alignment == 64
    assert seen[0].packing == "aligned"


@pytest.mark.rule("ADT-6", "CAL-3")
def test_adt_invariants_and_rules_are_construction_checks():
    op, _ = layout_op()
    with pytest.raises(CallError, match="must satisfy"):
        op(ContiguousLayout(Packing.TIGHT, MetadataKind.PER_ROW, 64))
    with pytest.raises(CallError, match=r"layout.alignment <= 128"):
        op(ContiguousLayout(Packing.ALIGNED, MetadataKind.PER_ROW, 256))


@pytest.mark.parametrize(
    ("make", "call"),
    [
        (lambda: RMSNormFwdOp(()), lambda x: torch.ops.tileops.norm_rms_norm_fwd(
            x, normalized_shape=[])),
        (lambda: GELUFwdOp(approximate="erf"), lambda x: torch.ops.tileops.elementwise_gelu_fwd(
            x, approximate="erf")),
    ],
)  # fmt: skip
@pytest.mark.rule("CAL-3")
def test_construction_says_what_the_operator_says(make, call):
    with pytest.raises(CallError) as made:
        make()
    with pytest.raises(CallError) as called:
        call(torch.randn(2, 4))
    assert str(made.value) == str(called.value)


@pytest.mark.rule("CAL-3")
def test_an_edited_parameter_is_checked_again():
    op = RMSNormFwdOp((4,))
    op.normalized_shape = [2, 4]
    x = torch.randn(3, 2, 4)
    assert op.normalized_shape == (2, 4)
    torch.testing.assert_close(op(x), torch.nn.functional.rms_norm(x, (2, 4)))
    with pytest.raises(CallError, match="normalized_shape must be list"):
        op.normalized_shape = 2.5
    gelu = GELUFwdOp()
    with pytest.raises(CallError, match="approximate must be"):
        gelu.approximate = 3
    op.note = "anything else is an attribute"
    assert op.eval_roofline()[1] > 0
    op.normalized_shape = ()
    with pytest.raises(CallError, match="needs a completed eager call"):
        op.eval_roofline()
    with pytest.raises(CallError, match=r"len\(normalized_shape\) > 0"):
        op(x)


OBJECT = """
EpilogueFwdOp:
  family: own
  ref_api: none
  status: implemented
  signature:
    forall: {N: Dim}
    params:
      epilogue: {type: "ScaleSpec | None", default: null}
    inputs:
      x: {dtype: float32, shape: "[N]"}
    outputs:
      y: {dtype: float32, shape: "[N]"}
  workloads:
    - {label: one, N: 4}
  roofline: {flops: "N"}
"""


@dataclass
class ScaleSpec:
    """An object of the caller."""

    factor: float


def test_an_object_reaches_the_implementation_in_eager_calls_only():
    def scaled(x, *, epilogue=None):
        return x.clone() if epilogue is None else x * epilogue.factor

    op = own.classes(OBJECT, EpilogueFwdOp=scaled)["EpilogueFwdOp"]
    x = torch.randn(4, requires_grad=True)
    held = op(ScaleSpec(3.0))
    assert torch.equal(op()(x), x) and torch.equal(op.bound().packet()(x), x)
    y = held(x)
    assert torch.equal(y, x * 3)
    y.sum().backward()
    assert torch.equal(x.grad, torch.full((4,), 3.0))
    assert torch.equal(torch.compile(op(), backend="eager", fullgraph=True)(x), x)
    with pytest.raises(Exception, match="holds epilogue, which no operator schema carries"):
        torch.compile(held, backend="eager", fullgraph=True)(x)


def test_a_forward_by_hand_is_checked():
    class ByHand(RMSNormFwdOp):
        """Says what it was asked."""

        injected_parameters = ("kernel",)

        def forward(self, x, weight=None, *, scale=1):
            """By hand."""
            if scale is None:
                return super().forward(x, weight).double()
            return super().forward(x, weight) * scale

    op = ByHand((4,))
    x = torch.randn(2, 4)
    torch.testing.assert_close(op(x, scale=2), 2 * torch.nn.functional.rms_norm(x, (4,)))
    assert op.eval_roofline()[1] > 0
    with pytest.raises(CallError, match=r"x axis 1 must be normalized_shape\[0\] = 4, got 5"):
        op.forward(torch.randn(2, 5))
    with pytest.raises(ImplementationError, match=r"forward must give torch.float32.2, 4. on cpu"):
        op(x, scale=None)
    torch.compile(op, backend="eager", fullgraph=True)(x)
    held = ByHand((4,), kernel=object())
    held(x)
    with pytest.raises(Exception, match="holds kernel, which no operator schema carries"):
        torch.compile(held, backend="eager", fullgraph=True)(x)


@pytest.mark.rule("CAL-4")
def test_device_order_without_tensors(monkeypatch):
    from tileops.runtime.placement import place

    assert place(torch.device("meta"), "eager").type == "meta"
    assert place(None, None).type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    assert place(None, None).type == "cpu"
    assert place(None, "triton") == torch.device("cuda", 3)
    assert place(torch.device("cuda"), None) == torch.device("cuda", 3)
    with pytest.raises(CallError, match="target must be one of"):
        place(None, "nowhere")
