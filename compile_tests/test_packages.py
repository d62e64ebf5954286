"""AOTInductor packages: what they need where they are loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import tileops
from tileops.norm import RMSNormFwdOp
from tileops.testing.inductor import know_the_machine

ROOT = Path(__file__).resolve().parent.parent
LOAD = """
import sys, torch
if sys.argv[2] == "with":
    import tileops
package = torch._inductor.aoti_load_package(sys.argv[1])
for rows in (5, 8):
    x = torch.arange(rows * 64, dtype=torch.float32).view(rows, 64).cos()
    expected = x + torch.nn.functional.rms_norm(x, (64,))
    torch.testing.assert_close(package(x), expected)
print("right")
"""


class Block(torch.nn.Module):
    """A normalization and a residual sum."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = RMSNormFwdOp((64,))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.tileops.elementwise_add_fwd(x, self.norm(x))


@pytest.mark.parametrize(
    ("policy", "loading", "outcome"),
    [
        ("opaque", ["with", "without"], ["right", "Could not find schema for tileops::"]),
        # Nothing of tileops is left in the code.
        ("reference", ["without"], ["right"]),
    ],
)
def test_a_package_runs_in_another_process(policy, loading, outcome, tmp_path):
    know_the_machine()
    rows = torch.export.Dim("rows")
    program = torch.export.export(Block(), (torch.randn(4, 64),), dynamic_shapes=({0: rows},))
    with tileops.boundary_policy(policy):
        package = torch._inductor.aoti_compile_and_package(
            program, package_path=str(tmp_path / "block.pt2")
        )
    for how, expected in zip(loading, outcome, strict=True):
        done = subprocess.run(
            [sys.executable, "-c", LOAD, package, how],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=500, check=False,
        )  # fmt: skip
        assert expected in done.stdout + done.stderr
        assert (done.returncode == 0) == (expected == "right")
