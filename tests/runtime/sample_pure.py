"""Hand-made operators that write nothing, in the shape that generation gives them."""

from tests.runtime.sample_syntax import TARGET, declare, header, param, tensor
from tileops.codegen.model import (
    Output,
    OverloadHeader,
    Parameter,
    Role,
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
