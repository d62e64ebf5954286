"""The launch wrapper, with a recording kernel and with Triton's interpreter."""

import os
import subprocess
import sys
import textwrap

import pytest
import torch

from tileops.runtime.errors import CallError
from tileops.runtime.launch import Call, call_on


class Recorder:
    """Stands for a kernel: remembers its launches."""

    def __init__(self):
        self.launches = []

    def __getitem__(self, grid):
        return lambda *args, **options: self.launches.append((grid, args, options))


CPU = torch.device("cpu")


def test_a_launch_hands_everything_on():
    kernel, x = Recorder(), torch.zeros(3)
    Call(CPU, None).launch(kernel, (2, 3), x, 4, BLOCK=8, num_warps=2)
    assert kernel.launches == [((2, 3), (x, 4), {"BLOCK": 8, "num_warps": 2})]


@pytest.mark.parametrize("grid", [(2**31,), (1, 65536), (1, 1, 65536)])
def test_grid_limits(grid):
    kernel = Recorder()
    with pytest.raises(CallError, match="passes the limit"):
        Call(CPU, None).launch(kernel, grid)
    assert kernel.launches == []


def test_an_empty_grid_launches_nothing():
    kernel = Recorder()
    Call(CPU, None).launch(kernel, (4, 0))
    assert kernel.launches == []


def test_tensors_are_on_the_device_of_the_call():
    with pytest.raises(CallError, match="argument 1 must be on cpu, got a tensor on meta"):
        Call(CPU, None).launch(Recorder(), (1,), 3, torch.empty(1, device="meta"))


def test_one_call_object_per_device():
    assert call_on(CPU) is call_on(torch.device("cpu")) and call_on(CPU).capability is None


def test_interpreted_kernel(tmp_path):
    program = textwrap.dedent(
        """
        import torch, triton, triton.language as tl
        from tileops.runtime.launch import Call

        @triton.jit
        def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
            at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)

        x, y = torch.randn(100), torch.empty(100)
        Call(torch.device("cpu"), None).launch(double_kernel, (4,), x, y, 100, BLOCK=32)
        assert torch.equal(y, 2 * x)
        print("right")
        """
    )
    path = tmp_path / "program.py"
    path.write_text(program)
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [sys.executable, str(path)], env=environment, capture_output=True, text=True, check=False
    )
    assert result.stdout.strip() == "right", result.stderr


def test_a_kernel_is_not_compiled_during_capture():
    triton = pytest.importorskip("triton")
    from tileops.runtime.launch import launch_compiled_only

    class Compiling(Recorder):
        """Calls the hook, as Triton does before it compiles."""

        __name__ = "row_kernel"

        def __getitem__(self, grid):
            return lambda *args, **options: triton.knobs.runtime.jit_cache_hook(key="k")

    with pytest.raises(CallError, match="row_kernel: the kernel is not compiled for this call"):
        launch_compiled_only(Compiling(), (1,), (), {})
    assert triton.knobs.runtime.jit_cache_hook is None
