"""Every kernel and configuration of the first families compiles for every GPU we support.

A case is a launcher with the tensors of a real call; it names the branch that it is there for. No
register may spill: these kernels are bound by memory, and a spill is traffic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from tests.devices import compiles
from tileops.elementwise import (
    AddFwdOp,
    AlibiFwdOp,
    DropoutFwdOp,
    EqFwdOp,
    GELUAndMulFwdOp,
    GELUFwdOp,
    IsnanFwdOp,
    SiLUAndMulFwdOp,
    SinusoidalFwdOp,
    WhereFwdOp,
)
from tileops.norm import (
    AdaLayerNormFwdOp,
    AdaLayerNormZeroFwdOp,
    FusedAddLayerNormFwdOp,
    FusedAddRMSNormFwdOp,
    LayerNormFwdOp,
    RMSNormFwdOp,
)
from tileops.reduction import SoftmaxFwdOp
from tileops.rope import (
    LongRoPEFwdOp,
    RoPEFwdOp,
    RoPELlama31FwdOp,
    RoPENeoxPositionIdsFwdOp,
    YaRNFwdOp,
)
from tileops.runtime.op import Op
from tileops.testing.kernels import compile_launch, record
from tileops.testing.values import launcher_of

F16, BF16, F32, F64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
CAPABILITIES = ((8, 0), (9, 0), (10, 0))


@dataclass(frozen=True)
class Case:
    """One call of one launcher."""

    name: str
    op: type[Op]
    launcher: str
    outputs: list[torch.Tensor]
    inputs: list[torch.Tensor | None]
    params: Mapping[str, Any] = field(default_factory=dict)


def meta(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def normed(x: torch.Tensor, op: type[Op], name: str, launcher: str) -> Case:
    """A call of an operator over rows."""
    tiles, vectors = {
        RMSNormFwdOp: (0, 1),
        FusedAddRMSNormFwdOp: (1, 1),
        LayerNormFwdOp: (0, 2),
        FusedAddLayerNormFwdOp: (1, 2),
        AdaLayerNormFwdOp: (2, 0),
        AdaLayerNormZeroFwdOp: (3, 0),
    }[op]
    w = meta(x.shape[-1], dtype=x.dtype)
    added = op in (FusedAddRMSNormFwdOp, FusedAddLayerNormFwdOp)
    params: dict[str, Any] = {"eps": 1e-5}
    if op in (RMSNormFwdOp, LayerNormFwdOp):
        params["normalized_shape"] = [x.shape[-1]]
    inputs = [x, *[x] * tiles, *[w] * vectors]
    return Case(name, op, launcher, [x] * (1 + added), list(inputs), params)


def norms() -> Iterator[Case]:
    plain = (RMSNormFwdOp, FusedAddRMSNormFwdOp, LayerNormFwdOp)
    others = (FusedAddLayerNormFwdOp, AdaLayerNormFwdOp, AdaLayerNormZeroFwdOp)
    sizes = ((65536, 128), (2048, 4096), (2048, 16384), (512, 32768))
    for dtype in (F16, BF16, F32):
        for rows, n in (*sizes, (2048, 5120), (2048, 20480)) if dtype != F16 else ((2048, 5120),):
            x = meta(rows, n, dtype=dtype)
            most = {op: 32768 for op in plain + others}
            most |= dict.fromkeys(others[1:], 32768 // dtype.itemsize)
            if dtype == F32:
                most |= {FusedAddRMSNormFwdOp: 16384, FusedAddLayerNormFwdOp: 16384}
            newer = others if n in (5120, most[others[1]]) else ()
            for op in plain + newer if dtype != F16 else plain[:1]:
                yield normed(x, op, f"{n}-{dtype}", "row" if n <= most[op] else "long_row")
    for op in plain + others:
        yield normed(meta(4, 102400), op, "long", "split_row")
        yield normed(meta(4, 102400), op, "long", "long_row")
    x = meta(2, 32, 2048, 128).transpose(1, 2)
    for op in (RMSNormFwdOp, LayerNormFwdOp):
        yield normed(x, op, "swapped", "row")
    x = meta(2**19 + 1, 4096)
    yield normed(x, RMSNormFwdOp, "wide", "row")
    yield normed(x, LayerNormFwdOp, "wide", "long_row")


def softmaxes() -> Iterator[Case]:
    for dtype in (BF16, F32, F64):
        for rows, n in ((65536, 64), (1024, 4096), (1024, 16384)):
            x = meta(rows, n, dtype=dtype)
            yield Case(f"{n}-{dtype}", SoftmaxFwdOp, "row", [x], [x])
        for launcher in ("split_row", "long_row"):
            x = meta(4, 102400, dtype=dtype)
            yield Case(f"long-{dtype}", SoftmaxFwdOp, launcher, [x], [x])
            x = meta(64, 50257, dtype=dtype)
            yield Case(f"odd-{dtype}", SoftmaxFwdOp, launcher, [x], [x])
        x = meta(8, 2048, 1024, dtype=dtype)
        yield Case(f"column-{dtype}", SoftmaxFwdOp, "column", [x], [x], {"dim": 1})
        x = meta(8, 8192, 1024, dtype=dtype)
        yield Case(f"long-column-{dtype}", SoftmaxFwdOp, "column", [x], [x], {"dim": 1})
    x = meta(1024, 32768)
    yield Case("32768", SoftmaxFwdOp, "row", [x], [x])
    y = meta(1024, 4096, dtype=F16)
    x = meta(1024, 4096, dtype=F32)
    yield Case("cast", SoftmaxFwdOp, "row", [y], [x], {"dtype": F16})
    x = meta(2**19 + 1, 4096)
    yield Case("wide", SoftmaxFwdOp, "column", [x], [x], {"dim": 0})


def elementwise() -> Iterator[Case]:
    for dtype in (F16, BF16, F32, F64):
        x = meta(2048, 8192, dtype=dtype)
        for approximate in ("none", "tanh"):
            params = {"approximate": approximate}
            name = f"{approximate}-{dtype}"
            yield Case(name, GELUFwdOp, "flat", [x], [x], params)
            yield Case(name, GELUFwdOp, "tile", [meta(8192, 2048, dtype=dtype)], [x.t()], params)
        y = meta(2048, 4096, dtype=dtype)
        yield Case(f"{dtype}", SiLUAndMulFwdOp, "tile", [y], [x])
        yield Case(f"{dtype}", GELUAndMulFwdOp, "tile", [y], [x], {"approximate": "none"})
    integers = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    for dtype in (*integers, F16, BF16, F32, F64):
        x = meta(2048, 8192, dtype=dtype)
        for alpha in (1, 3):
            name, params = f"{alpha}-{dtype}", {"alpha": alpha}
            yield Case(name, AddFwdOp, "flat", [x], [x, x], params)
            yield Case(f"column-{name}", AddFwdOp, "tile", [x], [x, x[:, :1]], params)
    x = meta(2048, 8192)
    z = meta(2048, 4096, dtype=torch.complex64)
    yield Case("complex", AddFwdOp, "tile", [z], [z, z[0]])
    yield Case("row", AddFwdOp, "tile", [x], [x, x[0]])
    yield Case("swapped", AddFwdOp, "tile", [x.t()], [x.t(), meta(8192, 2048)])
    x = meta(2**19 + 1, 4096)
    yield Case("wide", AddFwdOp, "flat", [x], [x, x])
    yield Case("wide", AddFwdOp, "tile", [x], [x, x[0]])
    for dtype in (F16, BF16, F32):
        params = {"seq_len": 4096, "d_model": 1024, "out_dtype": dtype}
        yield Case(f"{dtype}", SinusoidalFwdOp, "tile", [meta(4096, 1024, dtype=dtype)], [], params)
        params = {"seq_len": 2048, "num_heads": 12, "out_dtype": dtype}
        yield Case(f"{dtype}", AlibiFwdOp, "tile", [meta(12, 2048, 2048, dtype=dtype)], [], params)
    for dtype in (F16, BF16, F32, F64):
        x, params = meta(2048, 8192, dtype=dtype), {"p": 0.1, "training": True, "seed": 7}
        yield Case(f"{dtype}", DropoutFwdOp, "tile", [x], [x], params)
        yield Case(f"crossed-{dtype}", DropoutFwdOp, "tile", [x], [meta(8192, 2048).t()], params)
    mask = meta(2048, 8192, dtype=torch.bool)
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        x = meta(2048, 8192, dtype=dtype)
        crossed = meta(8192, 2048, dtype=dtype).t()
        yield Case(f"{dtype}", EqFwdOp, "flat", [mask], [x, x])
        yield Case(f"crossed-{dtype}", EqFwdOp, "tile", [mask], [x, crossed])
        yield Case(f"{dtype}", IsnanFwdOp, "flat", [mask], [x])
        yield Case(f"crossed-{dtype}", IsnanFwdOp, "tile", [mask], [crossed])
    for dtype in (torch.float8_e5m2, torch.complex64, torch.complex128):
        x = meta(2048, 8192, dtype=dtype)
        launcher = "tile" if dtype == torch.complex128 else "flat"
        yield Case(f"{dtype}", WhereFwdOp, launcher, [x], [mask, x, x])


def ropes() -> Iterator[Case]:
    for dtype in (F16, BF16, F32):
        for layout in ("neox", "interleaved"):
            for size in (80, 128):
                x = meta(2, 2048, 32, size, dtype=dtype)
                params = {"rope_layout": layout, "input_layout": "2d"}
                yield Case(f"{layout}-{size}-{dtype}", RoPEFwdOp, "pairs", [x], [x], params)
                part = params | {"rotary_dim": size // 2}
                yield Case(f"{layout}-{size}-part-{dtype}", RoPEFwdOp, "pairs", [x], [x], part)
            x = meta(8192, 128, dtype=dtype)
            yield Case(
                f"1d-{layout}-{dtype}", RoPEFwdOp, "pairs", [x], [x], {"rope_layout": layout}
            )
    x, params = meta(2, 2048, 32, 128), {"input_layout": "2d"}
    yield Case("2d", RoPELlama31FwdOp, "pairs", [x], [x], params)
    yield Case("2d", YaRNFwdOp, "pairs", [x], [x], params)
    factors = {"rescale_factors": meta(64, dtype=F32), "max_position": 131072}
    yield Case("2d", LongRoPEFwdOp, "pairs", [x], [x], params | factors)
    for dtype, index, part in ((BF16, torch.int64, None), (F32, torch.int32, 32)):
        x, positions = meta(4096, 32, 128, dtype=dtype), meta(4096, dtype=index)
        params = {"max_position": 8192, "rotary_dim": part}
        inputs = [x, positions]
        yield Case(f"{part}-{dtype}", RoPENeoxPositionIdsFwdOp, "pairs", [x], inputs, params)
    x = meta(2, 32, 2**18, 160)
    params = {"input_layout": "2d"}
    y = x.transpose(1, 2)
    yield Case("wide", RoPEFwdOp, "pairs", [y], [y], params)


CASES = [*norms(), *softmaxes(), *elementwise(), *ropes()]


@compiles
@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda c: f"sm_{c[0]}{c[1]}")
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.op.__name__}-{c.launcher}-{c.name}")
def test_it_compiles_without_spills(case: Case, capability: tuple[int, int]) -> None:
    launcher = launcher_of(case.op, case.launcher)
    launches = record(launcher, case.outputs, case.inputs, case.params, capability)
    assert launches
    for launch in launches:
        resources = compile_launch(launch, capability)
        # Two words are not worth a smaller tile (LayerNorm, 16384 float32 elements, sm_80).
        assert resources.spills <= 8, f"{launch.name}: {resources}"
        assert resources.shared <= 48 * 1024
        warps = launch.options["num_warps"]
        # Two programs a multiprocessor, or one of the widest, or loads do not overlap stores.
        assert resources.registers * warps * 32 * (1 if warps >= 16 else 2) <= 65536


def test_every_kernel_of_these_operators_has_a_case() -> None:
    seen = {(case.op, case.launcher) for case in CASES}
    want = {(op, name) for op in {case.op for case in CASES} for name in op.kernel_types}
    assert seen == want
