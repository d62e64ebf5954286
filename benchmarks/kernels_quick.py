"""Norm, softmax, elementwise and rope kernels on this GPU: values against references, then times.

    python benchmarks/kernels_quick.py [norm] [softmax] [elementwise] [rope] [--no-compile] [--json]

Each case runs the launchers themselves and checks them in float64. Then it prints the median device
time of ours and of what torch offers, all inside one run: a CUDA graph replays calls that rotate
over enough copies of the inputs to leave the L2 cache. "of copy" is the achieved bandwidth over
that of a plain copy of 1 GiB, measured first. The kernel that served is named beside each case.
"""

from __future__ import annotations

import argparse
import functools
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tileops.elementwise import AddFwdOp, GELUFwdOp, SiLUAndMulFwdOp, SinusoidalFwdOp
from tileops.norm import FusedAddRMSNormFwdOp, LayerNormFwdOp, RMSNormFwdOp
from tileops.reduction import SoftmaxFwdOp
from tileops.rope import RoPEFwdOp
from tileops.runtime.launch import Call
from tileops.runtime.op import Op
from tileops.testing.tolerance import assert_close
from tileops.testing.values import launcher_of, poisoned, serve

BF16, F16, F32 = torch.bfloat16, torch.float16, torch.float32
ROTATION_BYTES = 256 * 2**20
CALLS_OF_A_GRAPH = 20
REPLAYS = 15

Tensors = list[torch.Tensor]


@dataclass(frozen=True)
class Case:
    """One call: its kernel, its shapes, and what torch has for it."""

    name: str
    op: type[Op]
    shapes: Sequence[tuple[int, ...]]
    dtype: torch.dtype = BF16
    params: Mapping[str, Any] = field(default_factory=dict)
    baselines: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    view: Callable[[Tensors], Tensors] = lambda tensors: tensors
    out_shapes: Sequence[tuple[int, ...]] | None = None
    length: int = 2
    """Terms of the sum behind an element, for the tolerance."""

    def inputs(self) -> Tensors:
        made = [torch.randn(shape, device="cuda").to(self.dtype) for shape in self.shapes]
        return self.view(made)

    def outputs(self, inputs: Tensors) -> Tensors:
        shapes = self.out_shapes or [inputs[0].shape]
        return [poisoned(shape, self.dtype, "cuda") for shape in shapes]


def norm_cases() -> Iterator[Case]:
    def rms(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x, (x.shape[-1],), w, 1e-6)

    def layer(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (x.shape[-1],), w, b)

    shapes = [(2048, 4096), (2048, 5120), (2048, 8192), (2048, 16384), (1024, 32768)]
    shapes += [(32768, 4096), (131072, 128), (4, 102400)]
    for rows, n in shapes:
        name, x, w = f"{rows} x {n}", (rows, n), (n,)
        shape = {"normalized_shape": [n]}
        params = {**shape, "eps": 1e-6}
        yield Case(f"rms_norm {name}", RMSNormFwdOp, [x, w], BF16, params, {"torch": rms}, length=n)
        yield Case(
            f"add_rms_norm {name}",
            FusedAddRMSNormFwdOp,
            [x, x, w],
            out_shapes=[x, x],
            length=n,
        )
        yield Case(
            f"layer_norm {name}", LayerNormFwdOp, [x, w, w], BF16, shape, {"torch": layer}, length=n
        )


def softmax_cases() -> Iterator[Case]:
    shapes = [(1024, 4096), (1024, 8192), (1024, 32768), (4, 102400), (2048, 50257), (131072, 128)]
    for shape, dim in [*((shape, -1) for shape in shapes), ((8, 2048, 1024), 1)]:
        torchs = {"torch": functools.partial(torch.softmax, dim=dim)}
        name = f"softmax {' x '.join(map(str, shape))}, {dim}"
        yield Case(name, SoftmaxFwdOp, [shape], BF16, {"dim": dim}, torchs, length=shape[dim])
    shape = (1024, 32768)
    torchs = {"torch": functools.partial(torch.softmax, dim=-1)}
    name = "softmax 1024 x 32768 float32"
    yield Case(name, SoftmaxFwdOp, [shape], F32, {"dim": -1}, torchs, length=32768)


def elementwise_cases() -> Iterator[Case]:
    wide = (2048, 28672)
    yield Case("silu_and_mul", SiLUAndMulFwdOp, [wide], out_shapes=[(2048, 14336)])
    for approximate in ("none", "tanh"):
        params = {"approximate": approximate}
        torchs = {"torch": functools.partial(F.gelu, **params)}
        yield Case(f"gelu {approximate}", GELUFwdOp, [wide], BF16, params, torchs)
    torchs = {"torch": F.gelu}
    yield Case("gelu, columns", GELUFwdOp, [wide], BF16, {}, torchs, lambda t: [t[0].t()])
    for name, other in {
        "same": wide,
        "row": (28672,),
        "column": (2048, 1),
        "scalar": (),
        "small": None,
    }.items():
        shapes = [wide, other] if other is not None else [(2048,), (2048,)]
        for dtype in (BF16, F32) if name == "same" else (BF16,):
            yield Case(f"add {name} {dtype}", AddFwdOp, shapes, dtype, {}, {"torch": torch.add})
    torchs = {"torch": functools.partial(torch.add, alpha=0.5)}
    yield Case("add alpha", AddFwdOp, [wide, wide], BF16, {"alpha": 0.5}, torchs)
    yield Case(
        "add, one transposed",
        AddFwdOp,
        [(8192, 8192), (8192, 8192)],
        baselines={"torch": torch.add},
        view=lambda t: [t[0], t[1].t()],
    )
    for rows, columns, dtype in ((4096, 1024, F32), (131072, 512, BF16)):
        params = {"seq_len": rows, "d_model": columns, "out_dtype": dtype, "device": "cuda"}
        yield Case(
            f"sinusoidal {rows} x {columns}",
            SinusoidalFwdOp,
            [],
            dtype,
            params,
            out_shapes=[(rows, columns)],
        )


def rope_cases() -> Iterator[Case]:
    @functools.cache
    def cached(layout: str, positions: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
        frequency = 10000.0 ** (-torch.arange(size // 2, device="cuda").double() * 2 / size)
        angle = torch.arange(positions, device="cuda").double()[:, None] * frequency
        return angle.cos().float(), angle.sin().float()

    def from_cache(x: torch.Tensor, layout: str, cos: torch.Tensor, sin: torch.Tensor) -> Any:
        from tileops.rope.reference import rotate

        if x.dim() == 4:
            cos, sin = cos[:, None], sin[:, None]
        return rotate(x, cos, sin, layout)

    shapes: list[tuple[int, ...]] = [(2, 2048, 32, 128), (1, 8192, 8, 128), (131072, 128)]
    for shape in shapes:
        for layout in ("neox", "interleaved"):
            positions = shape[1] if len(shape) == 4 else shape[0]
            cos, sin = cached(layout, positions, shape[-1])
            compiled = torch.compile(
                functools.partial(from_cache, layout=layout, cos=cos, sin=sin), dynamic=False
            )
            params = {"rope_layout": layout, "input_layout": "2d" if len(shape) == 4 else "1d"}
            name = f"rope {layout} {' x '.join(map(str, shape))}"
            yield Case(name, RoPEFwdOp, [shape], F16, params, {"cached": compiled})


FAMILIES = {
    "norm": norm_cases,
    "softmax": softmax_cases,
    "elementwise": elementwise_cases,
    "rope": rope_cases,
}


def median_us(calls: Sequence[Callable[[], Any]]) -> float:
    """Median device time of a call, over replays of one graph of all of them, several times."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            for call in calls:
                call()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    rounds = -(-CALLS_OF_A_GRAPH // len(calls))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(rounds):
            for call in calls:
                call()
    times = []
    for i in range(REPLAYS + 3):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        if i >= 3:
            times.append(start.elapsed_time(end) * 1000 / (rounds * len(calls)))
    return statistics.median(times)


def copy_bandwidth() -> float:
    """Bytes a second of a plain copy of 1 GiB, read and written."""
    x = torch.randn(2**28, device="cuda")
    y = torch.empty_like(x)
    return 2 * x.nbytes / (median_us([lambda: y.copy_(x)]) * 1e-6)


def measure(case: Case, compiling: bool) -> tuple[str, dict[str, float], int]:
    """(kernel that served, microseconds by name, bytes of a call); raises on a wrong value."""
    inputs = case.inputs()
    outputs = case.outputs(inputs)
    served = serve(case.op, outputs, inputs, case.params)
    exact_params = dict(case.params)
    if "out_dtype" in exact_params:
        exact_params["out_dtype"] = torch.float64
    exact = case.op.reference(*(x.double() for x in inputs), **exact_params)
    for y, want in zip(outputs, exact if isinstance(exact, tuple) else (exact,), strict=True):
        assert_close(y, want, case.dtype, case.length)
    del exact
    size = sum(t.numel() * t.itemsize for t in (*inputs, *outputs))
    copies = max(1, min(24, -(-ROTATION_BYTES // size)))
    sets = [(inputs, outputs)]
    for _ in range(copies - 1):
        more = case.inputs()
        sets.append((more, case.outputs(more)))
    call = Call(outputs[0].device, torch.cuda.get_device_capability())
    launcher = launcher_of(case.op, served)
    ours = [functools.partial(launcher, call, *y, *x, **case.params) for x, y in sets]
    times = {"ours": median_us(ours)}
    rivals = dict(case.baselines)
    if compiling:
        torch._dynamo.reset()
        rivals["compile"] = torch.compile(
            functools.partial(case.op.reference, **case.params), dynamic=False
        )
    for name, rival in rivals.items():
        times[name] = median_us([functools.partial(rival, *x) for x, _ in sets])
    return served, times, size


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", help=", ".join(FAMILIES))
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--json", action="store_true", help="JSON lines instead of a table")
    options = parser.parse_args()
    if unknown := set(options.families) - set(FAMILIES):
        parser.error(f"no family {', '.join(sorted(unknown))}; known are {', '.join(FAMILIES)}")
    torch.manual_seed(0)
    ceiling = copy_bandwidth()
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, copy {ceiling / 1e12:.2f} TB/s"
    )
    failed = 0
    for family in options.families or FAMILIES:
        for case in FAMILIES[family]():
            try:
                served, times, size = measure(case, not options.no_compile)
            except Exception as error:
                failed += 1
                print(
                    f"{case.name:34} FAILED {type(error).__name__}: {str(error)[:300]}", flush=True
                )
                continue
            report(case.name, served, times, size, ceiling, options.json)
            torch.cuda.empty_cache()
    print("all values right" if not failed else f"{failed} cases failed")
    return 1 if failed else 0


def report(
    name: str, served: str, times: dict[str, float], size: int, ceiling: float, as_json: bool
) -> None:
    """One line for one case; ratios above 1 are ours faster."""
    rate = size / (times["ours"] * 1e-6)
    if as_json:
        record = {"case": name, "kernel": served, "us": times, "bytes": size}
        print(json.dumps({**record, "bytes_per_s": rate, "of_copy": rate / ceiling}), flush=True)
        return
    others = "  ".join(
        f"{rival} {time:8.2f} us ({time / times['ours']:.2f}x)"
        for rival, time in times.items()
        if rival != "ours"
    )
    print(
        f"{name:34} {served:9} ours {times['ours']:8.2f} us  {rate / 1e12:5.2f} TB/s"
        f"  {rate / ceiling:5.1%} of copy  {others}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
