"""Compiled code on disk: a second process compiles nothing, and what changed is compiled again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SPEC = """
ScaleFwdOp:
  family: own
  ref_api: none
  status: implemented
  signature:
    forall: {N: Dim}
    params:
      by: {type: float, default: 2.0}
    inputs:
      x: {dtype: float32, shape: "[N]"}
    outputs:
      y: {dtype: float32, shape: "[N]"}
  workloads:
    - {label: one, N: 4}
  roofline: {flops: "N"}
"""
CODE = '''
"""An operator of one's own."""
from pathlib import Path
import tileops
from tileops.runtime.op import Op

def scale(x, *, by):
    return x * by

class ScaleFwdOp(Op):
    """A product."""
    reference = staticmethod(scale)

tileops.load_manifest(Path(__file__).parent / "spec", "mylib", [ScaleFwdOp])
'''
PROGRAM = """
import sys, torch, tileops, mylib
from torch._dynamo.utils import counters
from tileops.testing.inductor import know_the_machine
know_the_machine()
tileops.boundary_policy(sys.argv[1])

@torch.compile(fullgraph=True)
def model(x, w):
    h = torch.ops.tileops.norm_rms_norm_fwd(x, w, normalized_shape=[8])
    return torch.ops.mylib.own_scale_fwd(h[0])

result = model(torch.ones(3, 8), torch.ones(8))
hits = counters["aot_autograd"]["autograd_cache_hit"] + counters["inductor"]["fxgraph_cache_hit"]
print("hit" if hits else "miss", round(result[0].item()))
"""


def test_the_second_process_compiles_nothing_until_something_changes(tmp_path: Path) -> None:
    package, program = tmp_path / "mylib.py", tmp_path / "program.py"
    spec = tmp_path / "spec" / "own.yaml"
    spec.parent.mkdir()
    spec.write_text(SPEC)
    package.write_text(CODE)
    program.write_text(PROGRAM)
    env = os.environ | {
        "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}",
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"),
        "TILEOPS_CACHE_DIR": str(tmp_path / "tileops"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def ran(policy: str) -> str:
        done = subprocess.run(
            [sys.executable, str(program), policy],
            env=env, capture_output=True, text=True, timeout=500, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.strip()

    assert ran("opaque") == "miss 2"
    assert ran("opaque") == "hit 2"
    # Each of these compiles to other code, which the caches of torch alone would not notice.
    assert ran("reference") == "miss 2"
    package.write_text(CODE.replace("x * by", "x * by + 1"))
    assert ran("reference") == "miss 3"
    assert ran("reference") == "hit 3"
    spec.write_text(SPEC.replace("default: 2.0", "default: 5.0"))
    assert ran("reference") == "miss 6"
    assert ran("reference") == "hit 6"
