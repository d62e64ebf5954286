"""Launches kept from one call for the next: what they depend on, and that they are the same."""

from types import SimpleNamespace

import pytest
import torch

import tileops
from tests.devices import gpu
from tileops.runtime import relaunch
from tileops.runtime.launch import Call
from tileops.runtime.relaunch import KeptLaunches, RecordingCall, key_of

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
    packed_metadata = ()

    def __init__(self, kernel):
        self.kernel = kernel

    def __getitem__(self, grid):
        return lambda *args, stream: self.kernel.log.append((grid, args))


def serve(kernel, kept, out, x, n=5, workspace=True):
    """A call by way of the kept launches, as the dispatcher makes it; whether it was a first one."""
    memory, key = key_of([out], (x,), {"n": n})
    found = kept.find(key)
    if found is not None:
        found.again(memory)
        return False
    call = RecordingCall(CPU, None)
    partial = call.empty((2, 3), torch.float32) if workspace else torch.empty(6)
    call.launch(kernel, (4,), out, x, n, partial, num_warps=2)
    kept.keep(key, call, "row", [("flat", "too long")], memory)
    return True


def test_the_same_kernel_runs_over_the_tensors_of_the_next_call():
    kernel, kept = Kernel(), KeptLaunches()
    a, b = torch.zeros(5), torch.ones(5)
    assert serve(kernel, kept, a, b)
    c, d = torch.zeros(5), torch.ones(5)
    assert not serve(kernel, kept, c, d)
    (_, _), (grid, args) = kernel.log
    assert grid == (4, 1, 1) and args[0] is c and args[1] is d
    # A fresh workspace, and a constexpr that the first launch left to its default.
    assert args[2] == 5 and args[3].shape == (2, 3) and args[4] == 7
    found = kept.find(key_of([c], (d,), {"n": 5})[1])
    assert found.implementation == "row" and found.declined == (("flat", "too long"),)


def aligned(*shape, offset=0, dtype=torch.float32):
    """A tensor that begins `offset` elements past an address that is a multiple of 64."""
    count = torch.Size(shape).numel()
    block = torch.zeros(count + 64, dtype=dtype)
    skip = (-block.data_ptr() % 64) // block.element_size()
    return block[skip + offset : skip + offset + count].view(shape)


@pytest.mark.parametrize(
    ("x", "n"),
    [
        (aligned(6), 5),
        (aligned(5, dtype=torch.int32), 5),
        (aligned(10)[::2], 5),
        (aligned(5, offset=1), 5),
        (aligned(5), 1),
        (aligned(5), True),
        (aligned(5), 5.0),
        (aligned(5), -0.0),
        (aligned(5), None),
        (aligned(5), (5,)),
    ],
)
def test_anything_that_a_launcher_may_read_makes_another_launch(x, n):
    out = aligned(5)
    keys = {key_of([out], (aligned(5),), {"n": value})[1] for value in (5, 0.0)}
    assert key_of([out], (x,), {"n": n})[1] not in keys
    assert key_of([out], (aligned(5),), {"n": 5})[1] in keys
    assert key_of([aligned(5, offset=1)], (aligned(5),), {"n": 5})[1] not in keys


def test_what_cannot_be_told_is_not_kept():
    kernel, kept = Kernel(), KeptLaunches()
    x = torch.zeros(5)
    assert serve(kernel, kept, torch.zeros(5), x, n=object())
    assert serve(kernel, kept, torch.zeros(5), x, n=object())
    # Memory that is none of the call's.
    assert serve(kernel, kept, torch.zeros(5), x, workspace=False)
    assert serve(kernel, kept, torch.zeros(5), x, workspace=False)
    assert not kernel.log[4:]


def test_two_arguments_at_one_address_tell_nothing_apart():
    kernel, kept = Kernel(), KeptLaunches()

    def call(x, y):
        memory, key = key_of([], (x, y), {})
        found = kept.find(key)
        if found is not None:
            return found.again(memory)
        recording = RecordingCall(CPU, None)
        recording.launch(kernel, (1,), x, y)
        return kept.keep(key, recording, "row", [], memory)

    x, y = torch.zeros(5), torch.ones(5)
    call(x, x)
    call(x, y)
    call(x, x)
    assert [entry[0] for entry in kernel.log] == ["first", "first", (1, 1, 1)]
    assert kernel.log[2][1][0] is x and kernel.log[2][1][1] is x


def test_a_written_input_is_one_tensor():
    kernel, kept = Kernel(), KeptLaunches()
    for x in (torch.zeros(5), torch.zeros(5)):
        memory, key = key_of([x], (x,), {})
        found = kept.find(key)
        if found is not None:
            found.again(memory)
            assert kernel.log[-1][1][0] is x
            return
        recording = RecordingCall(CPU, None)
        recording.launch(kernel, (1,), x, x)
        kept.keep(key, recording, "row", [], memory)
    raise AssertionError("the second call was launched anew")


def test_kept_launches_are_bounded(monkeypatch):
    monkeypatch.setattr(relaunch, "_LIMIT", 4)
    kernel, kept = Kernel(), KeptLaunches()
    for n in range(20):
        serve(kernel, kept, torch.zeros(5), torch.zeros(5), n=n)
    assert len(kept._kept) <= 4


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
