"""Norms of channels, quantized norms and rotated heads compile for every GPU, and spill next to
nothing. The capabilities come in turn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

import pytest
import torch

from tests.devices import compiles
from tileops.norm import (
    BatchNormBwdOp,
    BatchNormFwdOp,
    FusedAddRMSNormPerTokenQuantFwdOp,
    FusedQKNormRoPEFwdOp,
    GroupNormFwdOp,
    InstanceNormFwdOp,
)
from tileops.testing.kernels import compile_launch, record
from tileops.testing.values import launcher_of

F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32
INT8, E4M3 = torch.int8, torch.float8_e4m3fn
CAPABILITIES = ((8, 0), (9, 0), (10, 0))
DTYPES = (BF16, F32, F16)

#: Batch, channels and planes, and whether channels lie side by side.
PLANES = {
    "stem": ((32, 64, 112, 112), False),
    "last": ((32, 64, 112, 112), True),
    "stage4": ((64, 2048, 7, 7), False),
    "samples": ((4096, 256), False),
    "wide": ((2**17 + 1, 512, 32), False),
}
#: Groups that are read once: shapes, and in how many groups.
GROUPS = {
    "channels": ((8, 512, 3199), 512),
    "long-channels": ((64, 256, 128, 256), 256),
    "groups": ((64, 320, 32, 32), 32),
    "long-groups": ((64, 128, 64, 64), 32),
}


def meta(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def planes() -> Iterator[tuple]:
    dtypes = cycle(DTYPES)
    for name, (shape, last) in PLANES.items():
        for kind in ("train", "infer", "backward"):
            dtype = next(dtypes)
            x = meta(*shape, dtype=dtype)
            x = x.to(memory_format=torch.channels_last) if last else x
            c = meta(shape[1], dtype=F32)
            if kind == "backward":
                inputs, params = [x, x, c, c], {"weight": c}
                yield f"{name}-{kind}", BatchNormBwdOp, "planes", [x, c, c], inputs, params
                continue
            params = {"training": kind == "train"}
            outputs = [x, c, c] if kind == "train" else [x, None, None]
            inputs = [x, c, c, c, c]
            yield f"{name}-{kind}", BatchNormFwdOp, "planes", outputs, inputs, params
    for name, (shape, groups) in GROUPS.items():
        for dtype in (BF16, F32):
            x, c = meta(*shape, dtype=dtype), meta(shape[1], dtype=dtype)
            params = {"num_groups": groups, "eps": 1e-5}
            yield f"{name}-{dtype}", GroupNormFwdOp, "row", [x], [x, c, c], params
    x, c = meta(2, 320, 128, 128), meta(320)
    params = {"num_groups": 32, "eps": 1e-5}
    yield "few", GroupNormFwdOp, "planes", [x], [x, c, c], params
    x, c = meta(8, 64, 128, 128), meta(64)
    running = meta(64, dtype=F32)
    yield "running", InstanceNormFwdOp, "planes", [x], [x, running, running, c, c], {}
    yield "row", InstanceNormFwdOp, "row", [x], [x, None, None, c, c], {"eps": 1e-5}


def rows() -> Iterator[tuple]:
    op = FusedAddRMSNormPerTokenQuantFwdOp
    for dtype, n, launcher in (
        (BF16, 128, "row"), (BF16, 5120, "row"), (BF16, 32768, "row"), (F32, 16384, "row"),
        (BF16, 65536, "long_row"), (F32, 32768, "long_row"),
    ):  # fmt: skip
        for codes in (E4M3, INT8):
            x, w = meta(2048, n, dtype=dtype), meta(n, dtype=dtype)
            outputs = [meta(2048, n, dtype=codes), meta(2048, 1, dtype=F32), x]
            params = {"quant_dtype": codes, "eps": 1e-6, "scale_ub": None}
            yield f"{n}-{dtype}-{codes}", op, launcher, outputs, [x, x, w], params
    for layout in ("neox", "interleaved"):
        for tokens, size, rotary in ((4096, 128, 128), (4096, 128, 64), (64, 128, 128)):
            inputs = [
                meta(tokens, 80 * size), meta(size), meta(size), meta(40960, rotary, dtype=F32),
                meta(tokens, dtype=torch.int64),
            ]  # fmt: skip
            params = {"num_heads": 64, "num_kv_heads": 8, "rope_layout": layout}
            name = f"{layout}-{tokens}-{rotary}"
            yield name, FusedQKNormRoPEFwdOp, "heads", [], inputs, params


CASES = [*planes(), *rows()]


@compiles
@pytest.mark.parametrize(
    ("case", "capability"),
    [
        pytest.param(case, capability, id=f"{case[1].__name__}-{case[2]}-{case[0]}")
        for case, capability in zip(CASES, cycle(CAPABILITIES), strict=False)
    ],
)
def test_it_compiles_without_spills(case, capability) -> None:
    _, op, launcher, outputs, inputs, params = case
    for launch in record(launcher_of(op, launcher), outputs, inputs, params, capability):
        resources = compile_launch(launch, capability)
        print(launch.name, capability, launch.options, resources)
        assert resources.spills <= 16, f"{launch.name}: {resources}"
        assert resources.shared <= 48 * 1024
        warps = launch.options["num_warps"]
        assert resources.registers * warps * 32 * (1 if warps >= 16 else 2) <= 65536


def test_every_kernel_of_these_operators_has_a_case() -> None:
    seen = {(case[1], case[2]) for case in CASES}
    assert seen == {(op, name) for op in {case[1] for case in CASES} for name in op.kernel_types}
