"""Other tiles for GEMM and attention: what tileops/gemm/tiles.py and attention/tiles.py might hold.

In: the rows of both entries, on a CUDA device. Out: for each row the time of the kernel that serves
it and of the best candidates whose values are right. Offline and by name only:
`python -m benchmarks tiles`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks.case import Benchmark, Case, Options, Shown, Table, Unmeasurable, Values

OPS = ("GEMMFwdOp", "GQADenseFwdOp")
BEST = 5
Maker = Callable[[Any], Callable[[], Any]]


def measure(row: Any) -> Values:
    """Times every candidate of one row."""
    import torch

    from benchmarks.kernels import device_time
    from benchmarks.kernels.measure import ERROR_LIMIT, serving
    from benchmarks.kernels.subject import subject_of

    with torch.no_grad():
        first = subject_of(row, device_time.device())
        served, _ = serving(first)
        if served is None:
            raise Unmeasurable("no kernel takes the row")
        count = device_time.sets_for(sum(tensor.nbytes for tensor in first.tensors))
        subjects = [first, *(first.with_copy() for _ in range(count - 1))]
        launcher = dict(first.launchers())[served]
        ours = device_time.graph_us([item.launch(launcher) for item in subjects])
        want = first.ours()
        sets = [(torch.full_like(want, float("nan")), *_tensors(item)) for item in subjects]
        found, failed = [], 0
        for name, make in _candidates(first, served, sets[0]):
            try:
                us = device_time.graph_us([make(item) for item in sets])
                error = _error(make, sets[0], want)
            except Exception:
                # A tile that needs too much shared memory is no candidate here.
                torch.cuda.synchronize()
                failed += 1
                continue
            found.append((us, name if error <= ERROR_LIMIT else f"WRONG {name}"))
    best = [list(item) for item in sorted(found)[:BEST]]
    return {"served": served, "us": ours, "best": best, "tried": len(found), "failed": failed}


def _tensors(subject: Any) -> tuple[Any, ...]:
    """What a candidate takes after the output."""
    names = ("a", "b") if subject.row.op == "GEMMFwdOp" else ("q", "k", "v", "sinks")
    return tuple(subject.values[name] for name in names)


def _error(make: Maker, tensors: Any, want: Any) -> float:
    tensors[0].fill_(float("nan"))
    make(tensors)()
    error = (tensors[0].float() - want.float()).norm() / want.float().norm()
    return float(error.nan_to_num(nan=float("inf")))


def _candidates(subject: Any, served: str, first: Sequence[Any]) -> Iterable[tuple[str, Maker]]:
    from benchmarks.kernels import tile_candidates
    from tileops.attention import gqa_dense
    from tileops.runtime.launch import call_on

    call = call_on(first[0].device)
    if subject.row.op == "GEMMFwdOp":
        flags = {name: subject.values[name] for name in ("trans_a", "trans_b")}
        m, n = first[0].shape
        k = first[1].shape[0] if flags["trans_a"] else first[1].shape[1]
        if served == "split_k":
            return tile_candidates.split_candidates(call, (m, n, k), flags)
        return tile_candidates.tile_candidates(call, m, n, flags)
    further = ("q_scale", "k_scale", "v_scale", "rope_cos", "rope_sin")
    if any(subject.values[name] is not None for name in further):
        raise Unmeasurable("candidates take neither scales nor rotation")
    q, k = first[1], first[2]
    shape = (q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3])
    masking = gqa_dense.Masking.of(q.shape[3], subject.keywords)
    few = served == "split_keys"
    pick = tile_candidates.decode_candidates if few else tile_candidates.prefill_candidates
    return pick(call, shape, masking, first)


def cases(options: Options) -> Iterable[Case]:
    """The rows of both entries."""
    from tileops.testing.cases import rows

    for op in OPS:
        for row in [item for item in rows(op) if not item.out][: 1 if options.quick else None]:
            yield Case(f"{op.removesuffix('Op')} {row.id}", functools.partial(measure, row))


def shown(values: dict[str, Values]) -> Shown:
    """Ours, then the best candidates of each row."""
    table = Table(("row and tile", "us", "to ours"))
    for name, item in values.items():
        table.add(f"{name}: {item['served']}", item["us"], None)
        for us, tile in item["best"]:
            table.add(f"  {tile}", us, item["us"] / us)
    return [table]


BENCHMARK = Benchmark(
    "tiles", "other tiles for GEMM and attention", cases, shown, needs_gpu=True, by_name_only=True
)
