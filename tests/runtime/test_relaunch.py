"""Launches kept from one call for the next: what they depend on, and that they are the same."""

from types import SimpleNamespace

import pytest
import torch

import tileops
from tests.devices import gpu
from tests.runtime import own
from tileops.runtime import launch_key, library, relaunch
from tileops.runtime.launch import Call
from tileops.runtime.relaunch import KeptLaunches, RecordingCall

CPU = torch.device("cpu")
ops = torch.ops.tileops


class Kernel:
    """Stands for a jitted function: what it launches, at first and again, goes into `log`."""

    arg_names = ("out", "x", "n", "partial", "BLOCK")

    def __init__(self):
        self.log = []
        self.params = [SimpleNamespace(name=name, default=7) for name in self.arg_names]

    def __getitem__(self, grid):
        def launch(*args, **options):
            self.log.append(("first", grid))
            return Compiled(self)

        return launch


class Compiled:
    packed_metadata = function = ()

    def __init__(self, kernel):
        self.kernel = kernel

    def run(self, x, y, z, stream, function, packed, metadata, enter, exit_, *args):
        self.kernel.log.append(((x, y, z), args))

    def __getitem__(self, grid):
        return lambda *args, stream: self.kernel.log.append(("watched", args))


def serve(kernel, kept, out, tensors, n=5, own=True):
    """A call by way of the kept launches, as the dispatcher makes it; whether it was a first one."""
    memory = relaunch.memory([out], tensors)
    key = (n, tuple(None if t is None else t.shape for t in tensors))
    found = kept.find(key)
    if found is not None:
        found.again(memory)
        return False
    call = RecordingCall(CPU, None)
    partial = call.empty((2, 3), torch.float32) if own else torch.empty(6)
    there = [t for t in tensors if t is not None]
    call.launch(kernel, (4,), out, *there, n, partial, num_warps=2)
    kept.keep(key, call, ("row", (("flat", "too long"),)), memory, 1, lambda outputs: outputs[0])
    return True


def test_the_same_kernel_runs_over_the_tensors_of_the_next_call():
    kernel, kept = Kernel(), KeptLaunches()
    a, b = torch.zeros(5), torch.ones(5)
    assert serve(kernel, kept, a, [b])
    c, d = torch.zeros(5), torch.ones(5)
    assert not serve(kernel, kept, c, [d])
    (_, _), (grid, args) = kernel.log
    assert grid == (4, 1, 1) and args[:2] == (c.data_ptr(), d.data_ptr())
    # A fresh workspace, and a constexpr that the first launch left to its default.
    assert args[2] == 5 and args[3] not in (0, *args[:2]) and args[4] == 7
    (found,) = kept._kept.values()
    assert found.implementation == "row" and found.declined == (("flat", "too long"),)
    result = found.call((d,))
    assert (
        kernel.log[-1][1][0] == result.data_ptr()
        and result.shape == (5,)
        and result.dtype is c.dtype
    )


def test_an_absent_tensor_keeps_its_place():
    kernel, kept = Kernel(), KeptLaunches()
    for first in (True, False):
        out, x = torch.zeros(5), torch.ones(5)
        assert serve(kernel, kept, out, [x, None]) is first
        args = kernel.log[-1][1]
    assert args[:2] == (out.data_ptr(), x.data_ptr())
    (found,) = kept._kept.values()
    found.call((x, None))
    assert kernel.log[-1][1][1] == x.data_ptr()


def test_memory_of_others_is_not_kept():
    kernel, kept = Kernel(), KeptLaunches()
    for _ in range(2):
        assert serve(kernel, kept, torch.zeros(5), [torch.zeros(5)], own=False)


def test_two_arguments_at_one_address_tell_nothing_apart():
    kernel, kept = Kernel(), KeptLaunches()
    kernel.params.insert(2, SimpleNamespace(name="y", default=None))
    kernel.arg_names = ("out", "x", "y", "n", "partial", "BLOCK")
    x, y = torch.zeros(5), torch.ones(5)
    assert serve(kernel, kept, torch.zeros(5), [x, x])
    assert serve(kernel, kept, torch.zeros(5), [x, y])
    assert not serve(kernel, kept, torch.zeros(5), [x, x])
    assert kernel.log[-1][1][1:3] == (x.data_ptr(), x.data_ptr())


def test_a_written_input_is_one_tensor():
    kernel, kept = Kernel(), KeptLaunches()
    for first in (True, False):
        x = torch.zeros(5)
        assert serve(kernel, kept, x, [x]) is first
    assert kernel.log[-1][1][:2] == (x.data_ptr(), x.data_ptr())


def test_a_profiler_is_told(monkeypatch):
    knobs = pytest.importorskip("triton.knobs")
    kernel, kept = Kernel(), KeptLaunches()
    serve(kernel, kept, torch.zeros(5), [torch.zeros(5)])
    with knobs.runtime.scope():
        knobs.runtime.launch_enter_hook.add(print)
        serve(kernel, kept, torch.zeros(5), [torch.zeros(5)])
        knobs.runtime.launch_enter_hook.remove(print)
    assert kernel.log[-1][0] == "watched"


def test_kept_launches_are_bounded(monkeypatch):
    monkeypatch.setattr(relaunch, "_LIMIT", 4)
    kernel, kept = Kernel(), KeptLaunches()
    for n in range(20):
        serve(kernel, kept, torch.zeros(5), [torch.zeros(5)], n=n)
    assert len(kept._kept) <= 4


def aligned(*shape, offset=0, dtype=torch.float32):
    """A tensor that begins `offset` elements past an address that is a multiple of 64."""
    count = torch.Size(shape).numel()
    block = torch.zeros(count + 64, dtype=dtype)
    skip = (-block.data_ptr() % 64) // block.element_size()
    return block[skip + offset : skip + offset + count].view(shape)


def layout_of(op, overload="default"):
    bound = tileops.registry.bound(op)
    item = next(item for item in bound.header.overloads if item.name == overload)
    return bound.layout(item, library.schema_text(bound.header, item))


def key(op, **given):
    """The key of a call; arguments that are left out have their defaults."""
    layout = layout_of(op)
    values = {a.name: a.default for a in layout.arguments} | given
    return eval(launch_key.expression(layout), {}, values)


def norm_key(x, **given):
    return key("RMSNormFwdOp", x=x, **{"normalized_shape": [8], "eps": 1e-6} | given)


@pytest.mark.parametrize(
    ("x", "given"),
    [
        (aligned(4, 8), {}),
        (aligned(3, 8, dtype=torch.bfloat16), {}),
        (aligned(3, 16)[:, ::2], {}),
        (aligned(3, 8, offset=1), {}),
        (aligned(3, 8), {"eps": 0.0}),
        (aligned(3, 8), {"eps": -0.0}),
        (aligned(3, 8), {"eps": None}),
        (aligned(3, 8), {"weight": aligned(8)}),
        (aligned(3, 8), {"weight": aligned(8, offset=1)}),
        (torch.empty(3, 8, device="meta"), {}),
        (aligned(1, 3, 8).squeeze(0), {"normalized_shape": [3, 8]}),
    ],
)
def test_whatever_a_launcher_may_read_makes_another_key(x, given):
    assert norm_key(aligned(3, 8)) == norm_key(aligned(3, 8))
    others = [norm_key(aligned(3, 8))]
    others += [norm_key(aligned(3, 8), eps=eps) for eps in (0.0, -0.0) if given.get("eps") != 0.0]
    assert norm_key(x, **given) not in others
    assert norm_key(x, eps=float("nan")) == norm_key(x, eps=float("nan"))


def test_numbers_of_other_types_make_other_keys():
    x = aligned(3, 8)
    alphas = (1, True, 1.0, 0.0, -0.0, 0, False, 1 + 0j)
    keys = {key("AddFwdOp", input=x, other=x, alpha=alpha) for alpha in alphas}
    assert len(keys) == len(alphas)


def test_what_no_key_tells_is_never_kept():
    assert launch_key.expression(layout_of("SinusoidalFwdOp")) == ""
    ops = own.classes(HELD_MANIFEST, ScaledFwdOp=lambda x, *, scale: x * scale)
    bound = ops["ScaledFwdOp"].bound()
    (item,) = bound.header.overloads
    layout = bound.layout(item, library.schema_text(bound.header, item))
    assert launch_key.expression(layout) == ""


HELD_MANIFEST = """
ScaledFwdOp:
  family: own
  ref_api: none
  status: implemented
  signature:
    forall: {N: Dim}
    params:
      scale: {dtype: float32, shape: "[N]"}
    inputs:
      x: {dtype: float32, shape: "[N]"}
    outputs:
      y: {dtype: float32, shape: "[N]"}
  workloads:
    - {label: one, N: 4}
  roofline: {flops: "N"}
"""


class Counter:
    """Counts the launches that Triton specialises."""

    def __init__(self, monkeypatch):
        self.count = 0
        run = Call._run

        def counted(call, *args):
            self.count += 1
            return run(call, *args)

        monkeypatch.setattr(Call, "_run", counted)

    def of(self, function):
        before = self.count
        result = function()
        return result, self.count - before


NORM = {"normalized_shape": [1024]}
CALLS = {
    "norm": lambda x, y: ops.norm_rms_norm_fwd(x, y[0].clone(), normalized_shape=[x.shape[-1]]),
    "two-outputs": lambda x, y: ops.norm_fused_add_rms_norm_fwd(x, y, y[0].clone()),
    "few-long-rows": lambda x, y: ops.reduction_softmax_fwd(x.reshape(2, -1), dim=-1),
    "broadcast": lambda x, y: ops.elementwise_add_fwd(x, y[0].clone(), alpha=2),
    "twice-the-same": lambda x, y: ops.elementwise_add_fwd(x, x),
    "in-place": lambda x, y: (z := x.clone(), ops.elementwise_relu_fwd.writes_input(z, inplace=True))[0],
    "descriptors": lambda x, y: ops.gemm_fwd(x, y, trans_b=True),
}  # fmt: skip


@gpu
@pytest.mark.parametrize("name", CALLS)
def test_the_second_call_launches_what_the_first_did(name, monkeypatch):
    counter = Counter(monkeypatch)
    call = CALLS[name]
    for shape in [(256, 1024), (512, 1024)]:
        for round_ in range(3):
            x, y = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(2))
            # Another shape, and unaligned views, launch anew and stay right.
            with tileops.record_implementations() as served:
                result, anew = counter.of(lambda x=x, y=y: call(x, y))
            assert (anew == 0) == (round_ > 0 and name != "twice-the-same")
            assert served[-1].target == "triton"
            with tileops.use_target("eager"):
                expected = call(x, y)
            torch.testing.assert_close(result, expected, rtol=2e-2, atol=2e-2)
    block = torch.randn(512 * 1024 + 1, device="cuda", dtype=torch.bfloat16)
    odd = block[1:].view(512, 1024)
    with tileops.use_target("eager"):
        expected = call(odd, odd.clone())
    torch.testing.assert_close(call(odd, odd.clone()), expected, rtol=2e-2, atol=2e-2)


@gpu
def test_streams_and_captures_take_kept_launches():
    x = torch.randn(256, 1024, device="cuda", dtype=torch.bfloat16)
    w = torch.randn(1024, device="cuda", dtype=torch.bfloat16)
    expected = ops.norm_rms_norm_fwd(x, w, **NORM)
    ops.norm_rms_norm_fwd(x, w, **NORM)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)
        other = x * 2
        moved = ops.norm_rms_norm_fwd(other, w, **NORM)
    torch.cuda.current_stream().wait_stream(side)
    torch.testing.assert_close(moved, expected, rtol=1e-2, atol=1e-2)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = ops.norm_rms_norm_fwd(x, w, **NORM)
    x.copy_(torch.randn_like(x))
    graph.replay()
    torch.testing.assert_close(captured, ops.norm_rms_norm_fwd(x, w, **NORM))


@gpu
def test_a_first_call_inside_a_capture_says_what_to_do():
    x = torch.randn(3, 1000, device="cuda", dtype=torch.float16)[:, 3:]
    graph = torch.cuda.CUDAGraph()
    refusal = pytest.raises(tileops.CallError, match="not compiled for this call yet")
    with refusal, torch.cuda.graph(graph):
        ops.norm_rms_norm_fwd(x, None, normalized_shape=[997])
    torch.cuda.synchronize()
    result = ops.norm_rms_norm_fwd(x, None, normalized_shape=[997])
    expected = torch.nn.functional.rms_norm(x, (997,))
    torch.testing.assert_close(result, expected, rtol=1e-2, atol=1e-2)


@gpu
def test_an_absent_keyword_tensor_and_workspaces():
    """More than once, since only the first call runs its launcher."""
    x, dy = torch.randn(2, 4096, 16, device="cuda")
    mean, invstd = x.mean(0), x.var(0).rsqrt()
    first, *others = [ops.norm_batch_norm_bwd(dy, x, mean, invstd) for _ in range(3)]
    for found in others:
        torch.testing.assert_close(found, first, rtol=0, atol=0)
