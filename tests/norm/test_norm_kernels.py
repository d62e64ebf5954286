"""The kernels over rows against the float64 references, in the interpreter and on a GPU."""

from __future__ import annotations

import math

import pytest
import torch

from tests.devices import DEVICES, gpu
from tileops.norm import (
    AdaLayerNormFwdOp,
    AdaLayerNormZeroFwdOp,
    FusedAddLayerNormFwdOp,
    FusedAddRMSNormFwdOp,
    LayerNormFwdOp,
    RMSNormFwdOp,
)
from tileops.testing.tolerance import assert_close
from tileops.testing.values import poisoned, serve, stride_variants

DTYPES = (torch.float16, torch.bfloat16, torch.float32)
#: What follows the input: (tensors of its shape, tensors of a row's shape).
OTHERS = {
    RMSNormFwdOp: (0, 1),
    LayerNormFwdOp: (0, 2),
    FusedAddRMSNormFwdOp: (1, 1),
    FusedAddLayerNormFwdOp: (1, 2),
    AdaLayerNormFwdOp: (2, 0),
    AdaLayerNormZeroFwdOp: (3, 0),
}
#: Those whose rows may have several axes, and whose weights are optional.
SHAPED = (RMSNormFwdOp, LayerNormFwdOp)
ADDING = (FusedAddRMSNormFwdOp, FusedAddLayerNormFwdOp)
every_op = pytest.mark.parametrize("op", OTHERS, ids=lambda op: op.__name__)


def others(op, x, trailing: int = 1) -> list[torch.Tensor]:
    """What the operator takes with x."""
    tiles, vectors = OTHERS[op]
    return [torch.randn(x.shape, device=x.device).to(x.dtype) for _ in range(tiles)] + [
        torch.randn(x.shape[-trailing:], device=x.device).to(x.dtype) for _ in range(vectors)
    ]


def turned(tensor) -> list[torch.Tensor]:
    return [view for _, view in stride_variants(tensor)][1:]


def check(op, x, given=None, trailing: int = 1, only=None, eps: float | None = 1e-5) -> str:
    """Holds the kernel to the reference; the name of the launcher that served."""
    params = {"normalized_shape": list(x.shape[-trailing:])} if op in SHAPED else {}
    params["eps"] = eps
    given = others(op, x, trailing) if given is None else given
    ys = [poisoned(x.shape, x.dtype, x.device) for _ in range(1 + (op in ADDING))]
    served = serve(op, ys, [x, *given], params, only)
    wide = [None if t is None else t.double() for t in (x, *given)]
    exact = op.reference(*wide, **params)
    for y, wanted in zip(ys, exact if isinstance(exact, tuple) else (exact,), strict=True):
        assert_close(y, wanted, x.dtype, math.prod(x.shape[-trailing:]))
    return served


@every_op
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((5, 37), torch.float16),
        ((1, 1), torch.float32),
        ((31, 8), torch.bfloat16),
        ((2, 3, 64), torch.float32),
        ((64,), torch.float16),
        ((3, 1300), torch.bfloat16),
        ((2, 5120), torch.float32),
    ],
)
def test_rows(op, device, shape, dtype) -> None:
    x = torch.randn(shape, device=device).to(dtype)
    assert check(op, x) == "row"


@pytest.mark.parametrize("device", DEVICES)
def test_weights_are_optional(device) -> None:
    x, w = torch.randn(2, 3, 1000, device=device)
    assert check(RMSNormFwdOp, x, [None], eps=None) == "row"
    assert check(LayerNormFwdOp, x, [None, w[0]]) == "row"
    assert check(LayerNormFwdOp, x, [w[0], None]) == "row"


@every_op
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("trailing", [1, 2, 3])
def test_strides(op, device, trailing) -> None:
    if trailing > 1 and op not in SHAPED:
        return
    x = torch.randn(3, 1, 2, 10, device=device, dtype=torch.bfloat16)
    given = others(op, x, trailing)
    ways = [(x, *given), *zip(*(turned(t) for t in (x, *given)), strict=False)]
    for at in range(len(ways)):
        # Every operand lies in another way than its neighbour.
        views = [ways[(at + i) % len(ways)][i] for i in range(len(ways[0]))]
        check(op, views[0], views[1:], trailing)


@every_op
@pytest.mark.parametrize("device", DEVICES)
def test_expanded_and_swapped_batches(op, device) -> None:
    x = torch.randn(2, 1, 4, 16, device=device, dtype=torch.float16).expand(2, 3, 4, 16)
    given = others(op, x)
    check(op, x, given)
    swapped = [t.transpose(1, 2) if t.dim() == 4 else t for t in given]
    check(op, x.transpose(1, 2), swapped)
    # One scale for all tokens of an image, and one weight for all of a row.
    spread = [t[:, :1, :1].expand(x.shape) if t.dim() == 4 else t[:1].expand(16) for t in given]
    check(op, x, spread)
    check(op, x.contiguous(), [x.flip(1) if t.dim() == 4 else t for t in given])


@every_op
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("only", ["split_row", "long_row"])
def test_long_rows(op, device, only) -> None:
    x = torch.randn(2, 1, 8200, device=device).to(torch.bfloat16) * 2 + 5
    check(op, x, only=only)
    x = torch.randn(2, 1, 8192, device=device).to(torch.bfloat16) * 2 + 5
    check(op, x.transpose(0, 1), [None] * 2 if op is LayerNormFwdOp else None, only=only)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("op", "most"), [(LayerNormFwdOp, 32768), (AdaLayerNormFwdOp, 8192)])
def test_rows_that_registers_do_not_hold(op, most, device) -> None:
    # Enough rows that none is split on a GPU.
    rows = 8 if device == "cpu" else 1024
    assert check(op, torch.randn(rows, most + 1, device=device)) == "long_row"


@pytest.mark.parametrize("device", DEVICES)
def test_the_mean_may_be_far_from_zero(device) -> None:
    x = torch.randn(2, 9000, device=device) + 1000
    y = poisoned(x.shape, x.dtype, device)
    params = {"normalized_shape": [9000], "eps": 1e-5}
    exact = LayerNormFwdOp.reference(x.double(), **params)
    for only in ("row", "split_row", "long_row"):
        serve(LayerNormFwdOp, [y], [x, None, None], params, only)
        assert float((y - exact).norm() / exact.norm()) < 2e-4


@pytest.mark.parametrize("op", [RMSNormFwdOp, FusedAddLayerNormFwdOp, AdaLayerNormZeroFwdOp])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf, 0.0])
@pytest.mark.parametrize("only", ["row", "split_row", "long_row"])
def test_special_values(op, device, special, only) -> None:
    x = torch.randn(3, 5000, device=device)
    x[1] = special
    x[2, 3] = special
    given = [torch.zeros_like(x)] if op in ADDING else []
    given += others(op, x)[len(given) :]
    check(op, x, given, only=only)


@every_op
@pytest.mark.parametrize("device", DEVICES)
def test_offsets_past_two_to_the_31(op, device) -> None:
    store = torch.empty(2**31 + 64, dtype=torch.bfloat16, device=device)
    x = store.as_strided((2, 64), (2**31, 1))
    x.copy_(torch.randn(2, 64, device=device))
    given = others(op, x)
    check(op, x, given)
    check(op, x, given, only="long_row")
    check(op, x.contiguous(), [x if t.dim() == 2 else t for t in given])


@gpu
@every_op
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape",
    [(2048, 4096), (2048, 5120), (512, 16384), (4096, 32, 128), (300, 40000), (4, 102400)],
)
def test_full_size(op, dtype, shape) -> None:
    check(op, torch.randn(shape, device="cuda").to(dtype))


@gpu
def test_more_than_two_to_the_31_elements() -> None:
    x = torch.randn(2**19 + 3, 4096, device="cuda", dtype=torch.bfloat16)
    y = poisoned(x.shape, x.dtype, "cuda")
    serve(RMSNormFwdOp, [y], [x, None], {"normalized_shape": [4096], "eps": 1e-6})
    for rows in (slice(0, 64), slice(-64, None)):
        exact = RMSNormFwdOp.reference(x[rows].double(), normalized_shape=[4096], eps=1e-6)
        assert_close(y[rows], exact, torch.bfloat16, 4096)
    assert not bool(y.isnan().any())
