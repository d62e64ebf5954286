"""Recording, compiling and interpreting a launcher without a GPU."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest
import torch

from tileops.testing import kernels
from tileops.testing.tolerance import assert_close

INTERPRETING = os.environ.get("TRITON_INTERPRET") == "1"
compiles = pytest.mark.skipif(INTERPRETING, reason="compiles kernels: not in the interpreter")
interprets = pytest.mark.skipif(not INTERPRETING, reason="needs TRITON_INTERPRET=1")


@pytest.fixture
def launch_scale(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    yield importlib.import_module("launchers").launch_scale
    sys.modules.pop("launchers", None)


@compiles
def test_record_sorts_arguments_and_passes_meta_twins(launch_scale) -> None:
    x = torch.empty(1000, 3)[:, 1]
    (launch,) = kernels.record(launch_scale, [torch.empty(1000)], [x, None], {"scale": 2.0})
    assert launch.name == "scale_kernel" and launch.grid == (4,)
    twin = launch.args["x_ptr"]
    assert twin.is_meta and twin.stride() == (3,) and twin.storage_offset() == 1
    assert launch.args["w_ptr"] is None and launch.args["scale"] == 2.0
    assert launch.constexprs == {"HAS_W": False, "BLOCK": 256}
    assert launch.options == {"num_warps": 2}


@compiles
def test_a_declined_call_shows_its_reason(launch_scale) -> None:
    with pytest.raises(kernels.Declined, match="only vectors"):
        kernels.record(launch_scale, [torch.empty(2, 2)], [torch.empty(2, 2), None], {"scale": 1.0})


@compiles
@pytest.mark.parametrize("capability", [80, 90, 100])
def test_compile_launch_reports_resources(launch_scale, capability: int) -> None:
    x = torch.empty(1024, dtype=torch.bfloat16)
    (launch,) = kernels.record(launch_scale, [x], [x, x], {"scale": 2.0})
    resources = kernels.compile_launch(launch, capability)
    assert 8 <= resources.registers <= 64
    assert resources.spills == 0 and resources.shared == 0


@compiles
def test_the_arguments_are_specialised_as_by_the_jit(launch_scale) -> None:
    x = torch.empty(2050)
    (launch,) = kernels.record(launch_scale, [x[:1024]], [x[1:1025], None], {"scale": 2.0})
    signature, constants, attributes = kernels._specialise(launch)
    assert list(signature.values()) == [
        *("*fp32", "*fp32", "constexpr", "i32", "constexpr", "fp32", "constexpr", "constexpr")
    ]
    assert constants == {(2,): None, (4,): 1, (6,): False, (7,): 256}
    assert sorted(attributes) == [(1,), (3,)], "y and the length divide by 16, x is off by one"


@compiles
def test_interpret_says_what_it_needs(launch_scale) -> None:
    with pytest.raises(RuntimeError, match="TRITON_INTERPRET=1"):
        kernels.interpret(launch_scale, [torch.empty(4)], [torch.empty(4), None], {"scale": 1.0})


@interprets
@pytest.mark.interpreter
def test_interpret_writes_the_outputs(launch_scale) -> None:
    x, w, y = torch.randn(300, 2)[:, 0], torch.randn(300), torch.full((300,), float("nan"))
    kernels.interpret(launch_scale, [y], [x, w], {"scale": 0.5})
    assert_close(y, x.double() * 0.5 + w.double(), torch.float32)
    with pytest.raises(kernels.Declined, match="only vectors"):
        kernels.interpret(launch_scale, [y], [x[None], None], {"scale": 0.5})
    with pytest.raises(RuntimeError, match="without TRITON_INTERPRET"):
        kernels.record(launch_scale, [y], [x, w], {"scale": 0.5})
