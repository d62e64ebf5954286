"""Hand-made operators that write, refuse gradients, are composed or have no code."""

from tests.runtime.sample_syntax import TARGET, declare, header, param, tensor
from tileops.codegen.model import (
    Argument,
    Output,
    OverloadHeader,
    Parameter,
    Role,
)

SCALE = declare(
    header=header(
        "ScaleFwdOp",
        "scale_fwd",
        (
            OverloadHeader(
                "default",
                "scale_fwd(Tensor x, Tensor y, *, str? target=None) -> Tensor",
                (),
                ("output",),
            ),
            OverloadHeader(
                "out",
                "scale_fwd.out(Tensor x, Tensor y, *, Tensor(a!) out, str? target=None) -> ()",
                ("out",),
                (),
            ),
        ),
    ),
    arguments=(
        tensor("x"),
        tensor("y"),
        Argument("out", Role.OUT, "Tensor?", "None", "None", True, ""),
        TARGET,
    ),
    parameters=(),
    outputs=(Output("output", False, "", True),),
    index_names=(),
    source="""
def infer(x, y, out):
    for got, size in zip(y.shape, x.shape):
        _c = got == size
        if _c is not True:
            _require(_c, 0, locals())
    if out is not None:
        for got, size in zip(out.shape, x.shape):
            _c = got == size
            if _c is not True:
                _require(_c, 1, locals())
    return x.device, ((tuple(x.shape), x.dtype),), ()
""",
    checks=(
        "scale_fwd: y axis must be {size}, got {got}",
        "scale_fwd: out axis must be {size}, got {got}",
    ),
)

BATCH = declare(
    header=header(
        "RunningFwdOp",
        "running_fwd",
        (
            OverloadHeader(
                "default",
                "running_fwd(Tensor x, Tensor running, *, bool training=False, "
                "str? target=None) -> Tensor",
                (),
                ("output",),
            ),
            OverloadHeader(
                "writes_running",
                "running_fwd.writes_running(Tensor x, Tensor(a!) running, *, "
                "bool training=False, str? target=None) -> Tensor",
                ("running",),
                ("output",),
            ),
        ),
    ),
    arguments=(tensor("x"), tensor("running"), param("training", "bool", "False"), TARGET),
    parameters=(Parameter("training", "bool", "bool", "False", False),),
    outputs=(Output("output", False, "", False),),
    index_names=(),
    source="""
def overload(x, running, training):
    return "writes_running" if training else "default"

def infer(x, running, training):
    return x.device, ((tuple(x.shape), x.dtype),), ()
""",
    checks=(),
)

INPLACE = declare(
    header=header(
        "ShiftFwdOp",
        "shift_fwd",
        (
            OverloadHeader(
                "default",
                "shift_fwd(Tensor(a!) x, Tensor by, *, str? target=None) -> ()",
                ("x",),
                (),
            ),
        ),
    ),
    arguments=(tensor("x"), tensor("by"), TARGET),
    parameters=(),
    outputs=(Output("output", False, "x", False),),
    index_names=(),
    source="""
def infer(x, by):
    return x.device, ((tuple(x.shape), x.dtype),), ()
""",
    checks=(),
)

QUANT = declare(
    header=header(
        "QuantFwdOp",
        "quant_fwd",
        (
            OverloadHeader(
                "default",
                "quant_fwd(Tensor x, *, str? target=None) -> (Tensor, Tensor)",
                (),
                ("q", "scale"),
            ),
        ),
        differentiable=False,
        contiguous=("x",),
    ),
    arguments=(tensor("x"), TARGET),
    parameters=(),
    outputs=(Output("q", False, "", False), Output("scale", False, "", False)),
    index_names=(),
    source="""
def infer(x):
    return x.device, ((tuple(x.shape), torch.int8), ((1,), torch.float32)), ()
""",
    checks=(),
)

COMPOSITE = declare(
    header=header(
        "NormAddFwdOp",
        "norm_add_fwd",
        (
            OverloadHeader(
                "default",
                "norm_add_fwd(Tensor x, Tensor y, *, int size, str? target=None) -> Tensor",
                (),
                ("output",),
            ),
        ),
        composite=True,
    ),
    arguments=(tensor("x"), tensor("y"), param("size", "int"), TARGET),
    parameters=(Parameter("size", "int", "int", None, False),),
    outputs=(Output("output", False, "", False),),
    index_names=(),
    source="""
def infer(x, y, size):
    got = x.shape[-1]
    _c = got == size
    if _c is not True:
        _require(_c, 0, locals())
    return x.device, ((tuple(x.shape), x.dtype),), ()
""",
    checks=("norm_add_fwd: x axis -1 must be {size}, got {got}",),
)

SPEC_ONLY = declare(
    header=header(
        "PlannedFwdOp",
        "planned_fwd",
        (OverloadHeader("default", "planned_fwd(Tensor x) -> Tensor", (), ("output",)),),
        status="spec-only",
    ),
    arguments=(tensor("x"),),
    parameters=(),
    outputs=(Output("output", False, "", False),),
    index_names=(),
    source="def infer(x):\n    return x.device, ((tuple(x.shape), x.dtype),), ()\n",
    checks=(),
)
