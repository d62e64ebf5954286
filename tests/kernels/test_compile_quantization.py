"""Every kernel of quantization compiles without a GPU, in registers, for calls of real models.

sm_80 has no eight-bit floats: their bits are made there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import tileops.quantization as family
from tests.devices import compiles
from tests.kernels.test_compile import BF16, CAPABILITIES, F16, F32, Case, meta
from tileops.runtime.op import Op
from tileops.testing.kernels import compile_launch, record
from tileops.testing.values import launcher_of

FP8, INT8 = torch.float8_e4m3fn, torch.int8
ROWS = (
    ("groups", 65536, 128, BF16), ("groups", 2048, 5120, BF16), ("groups", 2048, 4096, F32),
    ("groups", 256, 32768, F32), ("parts", 4, 102400, BF16),
)  # fmt: skip


def case(name: str, op: type[Op], launcher: str, inputs: list[Any], **params: Any) -> Case:
    outputs = op(**params)(*inputs)
    results = list(outputs) if isinstance(outputs, tuple) else [outputs]
    return Case(name, op, launcher, results, inputs, params)


def cases() -> Iterator[Case]:
    for launcher, rows, n, dtype in ROWS:
        x, name = meta(rows, n, dtype=dtype), f"{n}-{dtype}"
        yield case(name, family.INT8QuantPerChannelFwdOp, launcher, [x])
        yield case(name, family.FP8QuantPerTokenGroupFwdOp, launcher, [x[None, :, None]])
    for rows, n, dtype in ((2048, 5120, F32), (1024, 2880, BF16)):
        x, name = meta(rows, n, dtype=dtype), f"{n}-{dtype}"
        yield case(name, family.INT8QuantPerTokenGroupFwdOp, "groups", [x])
        yield case(name, family.INT8QuantPerTensorFwdOp, "parts", [x])
        yield case(name, family.FP8QuantPerBlockFwdOp, "block", [x])
    x = meta(2048, 5120)
    yield case("rows", family.INT8QuantPerTensorFwdOp, "parts", [x[:, :-64]])
    yield case("columns", family.FP8QuantPerBlockFwdOp, "block", [x.t()])
    for launcher, n in (("groups", 7168), ("parts", 102400)):
        inputs = [meta(64, n, dtype=F16), meta(n, dtype=F32)]
        yield case(f"{n}", family.SmoothQuantFwdOp, launcher, inputs)
    for size in (100, 128, 14336):
        w = meta(4000, 14336, dtype=F16)
        yield case(f"{size}", family.INT4QuantPerGroupFwdOp, "groups", [w], group_size=size)
    for dtype in (F16, BF16, F32):
        q = meta(2048, 4096, dtype=INT8)
        scales = (
            (family.INT8DequantPerTensorFwdOp, (1,)),
            (family.INT8DequantPerChannelFwdOp, (2048,)),
            (family.INT8DequantPerBlockFwdOp, (2048, 32)),
        )
        for op, shape in scales:
            inputs = [q, meta(*shape, dtype=F32)]
            yield case(f"{dtype}", op, "tile", inputs, out_dtype=dtype)
    x = meta(2**19 + 1, 4096)
    yield case("wide", family.INT8QuantPerTokenGroupFwdOp, "groups", [x])
    yield case("wide", family.INT8QuantPerTensorFwdOp, "parts", [x])
    yield case("wide", family.FP8QuantPerBlockFwdOp, "block", [x])


CASES = list(cases())
#: The capabilities come in turn.
TURNS = [(item, CAPABILITIES[at // 2 % 3]) for at, item in enumerate(CASES)]


@compiles
@pytest.mark.parametrize(
    ("item", "capability"),
    TURNS,
    ids=[f"{i.op.__name__}-{i.launcher}-{i.name}-sm_{a}{b}" for i, (a, b) in TURNS],
)
def test_it_compiles_without_spills(item: Case, capability: tuple[int, int]) -> None:
    launcher = launcher_of(item.op, item.launcher)
    launches = record(launcher, item.outputs, item.inputs, item.params, capability)
    assert len(launches) == (2 if item.launcher == "parts" else 1)
    for launch in launches:
        resources = compile_launch(launch, capability)
        assert resources.spills <= 8, f"{launch.name}: {resources}"
        assert resources.shared <= 48 * 1024
        warps = launch.options["num_warps"]
        assert resources.registers * warps * 32 * (1 if warps >= 16 else 2) <= 65536


def test_every_kernel_of_the_family_has_a_case() -> None:
    seen = {(item.op, item.launcher) for item in CASES}
    operators = [getattr(family, name) for name in family.__all__]
    assert {(op, name) for op in operators for name in op.kernel_types} == seen
