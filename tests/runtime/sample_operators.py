"""Hand-made operators in the shape that generation gives them, in a namespace of their own."""

import torch
import torch.nn.functional as F
from torch.fx.experimental.symbolic_shapes import guard_or_false

from tileops.codegen.model import (
    Argument,
    Header,
    Operator,
    Output,
    OverloadHeader,
    Parameter,
    Role,
)
from tileops.runtime.errors import CallError
from tileops.runtime.op import Kernel, Op, Policy
from tileops.runtime.registry import Registry

NAMESPACE = "tileops_sample"


def _hint(value):
    return value.node.hint if isinstance(value, torch.SymInt) else value


def compile_operator(operator):
    """A small equivalent of the generated code's support."""

    def require(condition, index, names):
        shown = {k: v for k, v in names.items() if not k.startswith("_")}
        text = CHECKS[operator.header.op][index]
        for name, value in names.items():
            text = text.replace("{" + name + "}", str(_hint(value)))
        if isinstance(condition, torch.SymBool):
            try:
                torch._check_value(condition, lambda: text)
            except ValueError as error:
                raise CallError(text) from error
            return
        assert shown is not None
        raise CallError(text)

    def broadcast(a, b):
        length = max(len(a), len(b))
        a, b = (1,) * (length - len(a)) + tuple(a), (1,) * (length - len(b)) + tuple(b)
        result = []
        for left, right in zip(a, b, strict=True):
            if guard_or_false(left == 1):
                result.append(right)
            elif guard_or_false(right == 1):
                result.append(left)
            else:
                condition = left == right
                if condition is not True:
                    require(condition, 0, {"left": left, "right": right})
                result.append(left)
        return tuple(result)

    names = {"_require": require, "_broadcast": broadcast, "torch": torch}
    exec(compile(operator.source, f"<sample {operator.header.op}>", "exec"), names)
    return names


def tensor(name, optional=False, keyword_only=False):
    return Argument(
        name, Role.INPUT, "Tensor?" if optional else "Tensor", "None" if optional else None,
        "None" if optional else None, keyword_only,
    )  # fmt: skip


def param(name, kind, default=None, python=None, role=Role.PARAM):
    return Argument(
        name, role, kind, default, python if python is not None else default, True, name
    )


TARGET = Argument("target", Role.TARGET, "str?", "None", "None", True, "")


def header(op, operator, overloads, **kwargs):
    facts = {
        "family": "sample",
        "status": "implemented",
        "takes_tensors": True,
        "composite": False,
        "contiguous": (),
        "differentiable": True,
    } | kwargs
    return Header(op=op, operator=operator, overloads=overloads, **facts)


CHECKS = {}


def declare(header, arguments, source, checks, parameters, outputs, index_names):
    """An operator without signature and plan, which only the generator's own code reads."""
    CHECKS[header.op] = checks
    names = tuple(a.name for a in arguments if a.role is not Role.TARGET)
    return Operator(
        header, arguments, parameters, outputs, index_names, names, "_", source, None, None
    )


RMS_NORM = declare(
    header=header(
        "RMSNormFwdOp",
        "rms_norm_fwd",
        (
            OverloadHeader(
                "default",
                "rms_norm_fwd(Tensor x, Tensor? weight=None, *, SymInt[] normalized_shape, "
                "float? eps=None, str? target=None) -> Tensor",
                (),
                ("output",),
            ),
        ),
    ),
    arguments=(
        tensor("x"),
        tensor("weight", optional=True),
        param("normalized_shape", "SymInt[]"),
        param("eps", "float?", "None"),
        TARGET,
    ),
    parameters=(
        Parameter("normalized_shape", "list[int] | tuple[int, ...]", "Sequence[int]", None, False),
        Parameter("eps", "float | None", "float | None", "None", False),
    ),
    outputs=(Output("output", False, "", False),),
    index_names=("rank",),
    source="""
def construct(normalized_shape, eps):
    if not all(size >= 0 for size in normalized_shape):
        _require(False, 2, locals())

def infer(x, weight, normalized_shape, eps):
    _x_shape = x.shape
    _x_dtype = x.dtype
    _x_device = x.device
    _n = len(normalized_shape)
    _lead = len(_x_shape) - _n
    if _lead < 0:
        _require(False, 0, locals())
    i = 0
    for size in normalized_shape:
        got = _x_shape[_lead + i]
        _c = got == size
        if _c is not True:
            _require(_c, 1, locals())
        i += 1
    if weight is not None:
        _weight_shape = weight.shape
        if len(_weight_shape) != _n:
            _require(False, 3, locals())
        i = 0
        for size in normalized_shape:
            got = _weight_shape[i]
            _c = got == size
            if _c is not True:
                _require(_c, 4, locals())
            i += 1
        if weight.dtype != _x_dtype:
            _require(False, 5, locals())
        if weight.device != _x_device:
            _require(False, 6, locals())
    return _x_device, ((tuple(_x_shape), _x_dtype),), (_n,)
""",
    checks=(
        "rms_norm_fwd: x must have at least {_n} axes",
        "rms_norm_fwd: x axis {i} from normalized_shape must be {size}, got {got}",
        "RMSNormFwdOp: normalized_shape must be non-negative, got {normalized_shape}",
        "rms_norm_fwd: weight must have {_n} axes",
        "rms_norm_fwd: weight axis {i} must be normalized_shape[{i}] = {size}, got {got}",
        "rms_norm_fwd: weight dtype must be that of x",
        "rms_norm_fwd: weight device must be that of x",
    ),
)

ADD = declare(
    header=header(
        "AddFwdOp",
        "add_fwd",
        (
            OverloadHeader(
                "default",
                "(Tensor input, Tensor other, *, Scalar alpha=1, str? target=None) -> Tensor",
                (),
                ("output",),
            ),
        ),
    ),
    arguments=(tensor("input"), tensor("other"), param("alpha", "Scalar", "1"), TARGET),
    parameters=(Parameter("alpha", "int | float", "int | float", "1", True),),
    outputs=(Output("output", False, "", False),),
    index_names=(),
    source="""
def infer(input, other, alpha):
    if input.dtype != other.dtype:
        _require(False, 1, locals())
    if input.device != other.device:
        _require(False, 2, locals())
    return input.device, ((_broadcast(input.shape, other.shape), input.dtype),), ()
""",
    checks=(
        "add_fwd: input and other must broadcast, got {left} and {right}",
        "add_fwd: other dtype must be that of input",
        "add_fwd: other device must be that of input",
    ),
)

SINUSOIDAL = declare(
    header=header(
        "SinusoidalFwdOp",
        "sinusoidal_fwd",
        (
            OverloadHeader(
                "default",
                "sinusoidal_fwd(*, SymInt seq_len, SymInt d_model, ScalarType out_dtype=float32, "
                "Device? device=None, str? target=None) -> Tensor",
                (),
                ("output",),
            ),
        ),
        takes_tensors=False,
    ),
    arguments=(
        param("seq_len", "SymInt"),
        param("d_model", "SymInt"),
        param("out_dtype", "ScalarType", "float32", "torch.float32"),
        param("device", "Device?", "None", role=Role.DEVICE),
        TARGET,
    ),
    parameters=(
        Parameter("seq_len", "int", "int", None, True),
        Parameter("d_model", "int", "int", None, True),
        Parameter("out_dtype", "float16 | bfloat16 | float32", "torch.dtype", "float32", True),
        Parameter("device", "torch.device | str | None", "torch.device | None", "None", True),
    ),
    outputs=(Output("output", False, "", False),),
    index_names=(),
    source="""
def infer(seq_len, d_model, out_dtype, device):
    _c = seq_len >= 0
    if _c is not True:
        _require(_c, 0, locals())
    return device, (((seq_len, d_model), out_dtype),), ()
""",
    checks=("sinusoidal_fwd: seq_len must be non-negative, got {seq_len}",),
)

FUSED = declare(
    header=header(
        "FusedAddRMSNormFwdOp",
        "fused_add_rms_norm_fwd",
        (
            OverloadHeader(
                "default",
                "fused_add_rms_norm_fwd(Tensor input, Tensor residual, Tensor weight, *, "
                "float eps=1e-06, str? target=None) -> (Tensor, Tensor)",
                (),
                ("output", "residual_out"),
            ),
        ),
    ),
    arguments=(
        tensor("input"),
        tensor("residual"),
        tensor("weight"),
        param("eps", "float", "1e-06"),
        TARGET,
    ),
    parameters=(Parameter("eps", "float", "float", "1e-06", False),),
    outputs=(Output("output", False, "", False), Output("residual_out", False, "", False)),
    index_names=(),
    source="""
def infer(input, residual, weight, eps):
    _shape = input.shape
    _dtype = input.dtype
    for got, size in zip(residual.shape, _shape):
        _c = got == size
        if _c is not True:
            _require(_c, 0, locals())
    return input.device, ((tuple(_shape), _dtype), (tuple(_shape), _dtype)), ()
""",
    checks=("fused_add_rms_norm_fwd: residual axis must be {size}, got {got}",),
)

SAVING = declare(
    header=header(
        "MeanSavingFwdOp",
        "mean_saving_fwd",
        (
            OverloadHeader(
                "default",
                "(Tensor x, *, bool save=False, str? target=None) -> (Tensor, Tensor?)",
                (),
                ("output", "mean"),
            ),
        ),
    ),
    arguments=(tensor("x"), param("save", "bool", "False"), TARGET),
    parameters=(Parameter("save", "bool", "bool", "False", False),),
    outputs=(Output("output", False, "", False), Output("mean", True, "", False)),
    index_names=(),
    source="""
def infer(x, save):
    _shape = tuple(x.shape)
    return x.device, ((_shape, x.dtype), (_shape[:-1], x.dtype) if save else None), ()
""",
    checks=(),
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

OPERATORS = {
    o.header.op: o
    for o in (
        RMS_NORM, ADD, SINUSOIDAL, FUSED, SAVING, SCALE, BATCH, INPLACE, QUANT, COMPOSITE,
        SPEC_ONLY,
    )
}  # fmt: skip


def sinusoidal(*, seq_len, d_model, out_dtype=torch.float32, device=None):
    position = torch.arange(seq_len, device=device, dtype=torch.float32)[:, None]
    column = torch.arange(d_model, device=device, dtype=torch.float32)
    return torch.sin(position / (column + 1)).to(out_dtype)


def fused(input, residual, weight, *, eps):
    total = input + residual
    return F.rms_norm(total, total.shape[-1:], weight, eps), total


def running(x, running, *, training=False):
    if not training:
        return x - running
    mean = x.mean(0)
    return x - mean, 0.9 * running + 0.1 * mean


def quant(x):
    scale = x.abs().amax() / 127
    return (x / scale).round().to(torch.int8), scale.reshape(1).float()


class Sample(Op):
    """Operators of these tests."""


def make(name, reference, **members):
    return type(name, (Sample,), {"reference": staticmethod(reference), **members})


CLASSES = {
    "RMSNormFwdOp": make(
        "RMSNormFwdOp",
        lambda x, weight=None, *, normalized_shape, eps=None: F.rms_norm(
            x, normalized_shape, weight, eps
        ),
        kernel_types={
            "never": Kernel("tests.runtime.sample_launchers:never"),
            "row": Kernel("tests.runtime.sample_launchers:rms_norm"),
        },
    ),
    "AddFwdOp": make(
        "AddFwdOp",
        lambda input, other, *, alpha=1: torch.add(input, other, alpha=alpha),
        policy=Policy(cpu="reference"),
    ),
    "SinusoidalFwdOp": make("SinusoidalFwdOp", sinusoidal),
    "FusedAddRMSNormFwdOp": make("FusedAddRMSNormFwdOp", fused),
    "MeanSavingFwdOp": make(
        "MeanSavingFwdOp", lambda x, *, save: (x * 2, x.mean(-1) if save else None)
    ),
    "ScaleFwdOp": make(
        "ScaleFwdOp",
        lambda x, y: x * y,
        kernel_types={"plain": Kernel("tests.runtime.sample_launchers:scale")},
    ),
    "RunningFwdOp": make(
        "RunningFwdOp", running, kernel_types={"plain": Kernel("tests.runtime.sample_launchers:running")}
    ),
    "ShiftFwdOp": make(
        "ShiftFwdOp",
        lambda x, by: x + by,
        kernel_types={"plain": Kernel("tests.runtime.sample_launchers:shift")},
    ),
    "QuantFwdOp": make("QuantFwdOp", quant),
}


class NormAddFwdOp(Sample):
    """A composite of two operators."""

    def forward(self, x, y):
        norm = CLASSES["RMSNormFwdOp"]((self.size,), target=self.target)
        return CLASSES["FusedAddRMSNormFwdOp"]()(norm(x), y, torch.ones_like(x[0]))[0]


CLASSES["NormAddFwdOp"] = NormAddFwdOp

REGISTRY = Registry(
    [o.header for o in OPERATORS.values()],
    OPERATORS.__getitem__,
    NAMESPACE,
    CLASSES,
    compile_operator=compile_operator,
)
Sample.registry = REGISTRY
REGISTRY.register()
