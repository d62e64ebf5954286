"""GEMM and attention on this GPU: values against references, times against torch, other tiles.

    python benchmarks/matmul_quick.py [gemm] [split] [attention] [decode] [--no-search]

Each case checks the launchers' result in float32 first. Then it prints the median device time of
ours and of what torch offers, all inside one run: a CUDA graph replays calls that rotate over
enough copies of the inputs to leave the L2 cache. The search tries further tiles of the kernel
that served and prints the best, for the tables in tileops/gemm/tiles.py and
tileops/attention/tiles.py.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import matmul_candidates

from tileops.attention import gqa_dense, gqa_dense_split, reference
from tileops.gemm import gemm, gemm_descriptor
from tileops.runtime.launch import Call

CACHE_BYTES = 256 * 2**20
ATTENTION_DEFAULTS = {
    "is_causal": False,
    "window_size_left": -1,
    "window_size_right": -1,
    "sm_scale": None,
    "softcap": None,
    "pos_encoding_mode": "none",
    "rotary_dim": None,
    "rope_layout": "neox",
    "out_dtype": None,
}

# M, N, K, trans_a, trans_b
GEMM_SHAPES = [
    (4096, 4096, 7168, False, True),
    (2048, 6144, 4096, False, True),
    (2048, 4096, 6144, False, False),
    (6144, 4096, 2048, True, False),
    (1024, 1024, 1024, False, True),
    (256, 4096, 7168, False, True),
]
SPLIT_SHAPES = [
    (1, 4096, 7168, False, True),
    (16, 4096, 7168, False, True),
    (32, 6144, 4096, False, True),
    (64, 128256, 4096, False, True),
    (128, 4096, 7168, False, True),
]
# B, S_q, S_kv, H, H_kv, D, parameters, with sinks
ATTENTION_SHAPES = [
    (2, 2048, 2048, 32, 8, 128, {"is_causal": True}, False),
    (2, 8192, 8192, 32, 32, 128, {"is_causal": True}, False),
    (2, 2048, 2048, 32, 8, 128, {}, False),
    (2, 4096, 4096, 16, 16, 64, {"is_causal": True}, False),
    (1, 4096, 4096, 64, 8, 64, {"is_causal": True, "window_size_left": 127}, True),
    (1, 2048, 2048, 16, 8, 256, {"is_causal": True, "softcap": 50.0}, False),
    (1, 1024, 8192, 64, 8, 128, {"is_causal": True}, False),
    (8, 448, 1500, 20, 20, 80, {}, False),
]
DECODE_SHAPES = [
    (32, 1, 4096, 32, 8, 128, {"is_causal": True}, False),
    (1, 1, 32768, 32, 8, 128, {"is_causal": True}, False),
    (8, 4, 8192, 64, 8, 64, {"is_causal": True}, True),
]


def graph_us(calls: Sequence[Callable[[], Any]], budget_ms: float = 60.0) -> float:
    """Median microseconds of a call, from replays of a CUDA graph that makes each call once."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for call in calls:
            call()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for call in calls:
                call()
        graph.replay()
        stream.synchronize()

        def once() -> float:
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graph.replay()
            stop.record()
            stop.synchronize()
            return start.elapsed_time(stop)

        first = once()
        repeats = max(5, min(200, int(budget_ms / max(first, 1e-3))))
        times = [once() for _ in range(repeats)]
    return statistics.median(times) / len(calls) * 1e3


def copies(make: Callable[[], tuple[torch.Tensor, ...]]) -> list[tuple[torch.Tensor, ...]]:
    """Enough sets of random inputs that none is still cached when its turn comes."""
    first = make()
    size = sum(x.nbytes for x in first if x is not None)
    count = max(1, min(32, -(-CACHE_BYTES // size)))
    return [first, *(make() for _ in range(count - 1))]


def relative_error(actual: torch.Tensor, want: torch.Tensor) -> float:
    """||actual - want|| / ||want||."""
    return float((actual.float() - want.float()).norm() / want.float().norm().clamp(min=1e-30))


def report(label: str, served: str, error: float, ours: float, others: dict[str, float],
           flops: float, size: float) -> None:  # fmt: skip
    """One line of the table."""
    best = min((t for t in others.values() if t == t), default=float("nan"))
    rest = "  ".join(f"{name} {us:8.1f}" for name, us in others.items())
    print(
        f"{label:46s} {served:11s} err {error:.1e}  ours {ours:8.1f} us  {rest}  "
        f"ratio {best / ours:5.2f}  {flops / ours * 1e-6:6.1f} TFLOP/s "
        f"{size / ours * 1e-6:5.2f} TB/s",
        flush=True,
    )


def timed(make: Callable[[Any], Callable[[], Any]], sets: Iterable[Any]) -> float:
    """graph_us of make(inputs) over all input sets; NaN, with its cause printed, if it fails."""
    try:
        return graph_us([make(inputs) for inputs in sets])
    except Exception as error:
        torch.cuda.synchronize()
        print(f"    failed: {type(error).__name__}: {str(error).splitlines()[0][:140]}", flush=True)
        return float("nan")


def search(candidates: dict[str, Callable[[Any], Callable[[], Any]]], sets: list[Any],
           check: Callable[[Callable[[Any], Callable[[], Any]]], float]) -> None:  # fmt: skip
    """Times every candidate that is right; prints the best five."""
    results = []
    start = time.time()
    for name, make in candidates.items():
        us = timed(make, sets)
        if us == us:
            error = check(make)
            results.append((us, name if error < 2e-2 else f"WRONG ({error:.1e}) {name}"))
    for us, name in sorted(results)[:5]:
        print(f"    {us:8.1f} us  {name}")
    print(
        f"    ({len(results)} of {len(candidates)} tried in {time.time() - start:.0f} s)",
        flush=True,
    )


def gemm_case(call: Call, shape: tuple[int, int, int, bool, bool], searching: bool) -> None:
    """One GEMM: value, times, search."""
    m, n, k, trans_a, trans_b = shape
    flags = {"trans_a": trans_a, "trans_b": trans_b}

    def make() -> tuple[torch.Tensor, ...]:
        a = torch.randn((k, m) if trans_a else (m, k), device=call.device, dtype=torch.bfloat16)
        b = torch.randn((n, k) if trans_b else (k, n), device=call.device, dtype=torch.bfloat16)
        d = torch.full((m, n), float("nan"), device=call.device, dtype=torch.bfloat16)
        return d, a, b

    sets = copies(make)
    d, a, b = sets[0]
    want = (a.t() if trans_a else a).float() @ (b.t() if trans_b else b).float()
    launchers = {
        "descriptor": gemm_descriptor.launch_descriptor,
        "split_k": gemm.launch_split_k,
        "pointer": gemm.launch_pointer,
    }
    served = next(name for name, run in launchers.items() if run(call, d, a, b, **flags) is None)
    error = relative_error(d, want)
    ours = timed(lambda s: functools.partial(launchers[served], call, *s, **flags), sets)
    others = {
        "mm": timed(
            lambda s: (
                lambda: torch.mm(
                    s[1].t() if trans_a else s[1], s[2].t() if trans_b else s[2], out=s[0]
                )
            ),
            sets,
        )
    }
    if served == "descriptor":
        other = "split_k" if gemm.launch_split_k(call, *sets[0], **flags) is None else "pointer"
        others[other] = timed(
            lambda s: functools.partial(launchers[other], call, *s, **flags), sets
        )
    size = 2 * (m * k + n * k + m * n)
    label = f"gemm {m}, {n}, {k} {'T' if trans_a else 'N'}{'T' if trans_b else 'N'}"
    report(label, served, error, ours, others, 2 * m * n * k, size)
    if not searching:
        return

    def check(make: Callable[[Any], Callable[[], Any]]) -> float:
        d.fill_(float("nan"))
        make(sets[0])()
        error = relative_error(d, want)
        return error if error == error else float("inf")

    if served == "split_k":
        search(dict(matmul_candidates.split_candidates(call, shape, flags)), sets, check)
    elif served == "descriptor":
        search(dict(matmul_candidates.tile_candidates(call, m, n, flags)), sets, check)


def attention_flops(shape: Sequence[Any]) -> float:
    """Of the two products over the visible pairs."""
    b, s_q, s_kv, h, _, d, changed, _ = shape
    seen = reference._visible(
        s_q, s_kv, changed.get("is_causal", False), changed.get("window_size_left", -1), -1,
        torch.device("cuda"),
    )  # fmt: skip
    pairs = s_q * s_kv if seen is None else int(seen.sum())
    return 4.0 * b * h * d * pairs


def baselines(shape: Sequence[Any], sets: list[Any]) -> dict[str, float]:
    """torch's attention where it can express the call."""
    _, s_q, s_kv, _, _, _, changed, with_sinks = shape
    if with_sinks or set(changed) - {"is_causal"}:
        return {}
    causal = changed.get("is_causal", False) and s_q > 1
    if causal and s_q != s_kv:
        return {}
    times = {}
    for name, backend in [
        ("flash", SDPBackend.FLASH_ATTENTION),
        ("cudnn", SDPBackend.CUDNN_ATTENTION),
    ]:

        def make(s: Any, backend: Any = backend) -> Callable[[], Any]:
            q, k, v = (x.transpose(1, 2) for x in s[1:4])

            def run() -> Any:
                with sdpa_kernel(backend):
                    return F.scaled_dot_product_attention(
                        q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1]
                    )

            return run

        times[name] = timed(make, sets)
    return times


def attention_case(call: Call, shape: Sequence[Any], searching: bool) -> None:
    """One attention call: value, times, search."""
    b, s_q, s_kv, h, h_kv, d, changed, with_sinks = shape
    params = ATTENTION_DEFAULTS | changed

    def make() -> tuple[torch.Tensor | None, ...]:
        shapes = [(b, s_q, h, d), (b, s_kv, h_kv, d), (b, s_kv, h_kv, d)]
        q, k, v = (torch.randn(s, device=call.device, dtype=torch.bfloat16) for s in shapes)
        sinks = torch.randn(h, device=call.device) if with_sinks else None
        return torch.full_like(q, float("nan")), q, k, v, sinks

    sets = copies(make)
    o, q, k, v, sinks = sets[0]
    # One batch: the reference writes its scores out where no fused form has them.
    want = reference.gqa_dense(q[:1], k[:1], v[:1], sinks=sinks, **params)

    def run(launcher: Callable[..., Any], s: Any) -> Any:
        return launcher(call, *s[:4], *[None] * 5, s[4], **params)

    launchers = {
        "split_keys": gqa_dense_split.launch_split_keys,
        "tile": gqa_dense.launch_tile,
    }
    served = next(name for name, launcher in launchers.items() if run(launcher, sets[0]) is None)
    error = relative_error(o[:1], want) if bool(o.isfinite().all()) else float("inf")
    ours = timed(lambda s: lambda: run(launchers[served], s), sets)
    others = baselines(shape, sets)
    if served == "split_keys":
        others["tile"] = timed(lambda s: lambda: run(gqa_dense.launch_tile, s), sets)
    size = sum(x.nbytes for x in sets[0] if x is not None)
    flags = " ".join(f"{key}={value}" for key, value in changed.items() if key != "is_causal")
    label = (
        f"attn {b}x{s_q}/{s_kv} {h}/{h_kv} {d}{' causal' if params['is_causal'] else ''} {flags}"
    )
    report(label, served, error, ours, others, attention_flops(shape), size)
    if not searching:
        return

    def check(make: Callable[[Any], Callable[[], Any]]) -> float:
        o.fill_(float("nan"))
        make(sets[0])()
        return relative_error(o[:1], want) if bool(o.isfinite().all()) else float("inf")

    masking = gqa_dense.Masking.of(d, params)
    pick = (
        matmul_candidates.decode_candidates
        if served == "split_keys"
        else matmul_candidates.prefill_candidates
    )
    search(dict(pick(call, shape, masking, sets[0])), sets, check)


def main() -> None:
    """Runs the named groups, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    groups = {
        "gemm": (gemm_case, GEMM_SHAPES),
        "split": (gemm_case, SPLIT_SHAPES),
        "attention": (attention_case, ATTENTION_SHAPES),
        "decode": (attention_case, DECODE_SHAPES),
    }
    parser.add_argument("groups", nargs="*", metavar="group", help=", ".join(groups))
    parser.add_argument("--no-search", action="store_true")
    options = parser.parse_args()
    unknown = set(options.groups) - set(groups)
    if unknown:
        parser.error(f"no group {', '.join(sorted(unknown))}; there are {', '.join(groups)}")
    if not torch.cuda.is_available():
        parser.error("needs a CUDA device")
    import triton

    device = torch.device("cuda", torch.cuda.current_device())
    call = Call(device, torch.cuda.get_device_capability(device))
    torch.manual_seed(0)
    print(torch.cuda.get_device_name(device), torch.__version__, triton.__version__, flush=True)
    for name in options.groups or groups:
        case, shapes = groups[name]
        for shape in shapes:
            try:
                case(call, shape, not options.no_search)
            except Exception as error:
                print(f"{name} {shape}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
