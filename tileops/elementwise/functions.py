"""The functions that the pointwise kernels take, by name, and how a call chooses one.

In: a name, the tensors and parameters of a call. Out: the device function, the operands as it takes
them and its scalars; or a reason to leave the call to the reference. A function is a device
function of one of the modules beside this one, and a line of `FUNCTIONS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tileops.elementwise import activation_functions as activations
from tileops.elementwise import binary_functions as binary
from tileops.elementwise import half_functions as half
from tileops.elementwise import selection_functions as selections
from tileops.elementwise import unary_functions as unary
from tileops.elementwise.scalars import refuse_alpha, scalar_argument
from tileops.runtime.launch import Call

__all__ = ["CHOICES", "FUNCTIONS", "Chosen", "Function", "choose"]

Tensors = Sequence[torch.Tensor]


@dataclass(frozen=True, slots=True)
class Function:
    """A device function and the parameters that it is passed.

    `half`: another one, cheaper, for results of half precision. `real`: integers come as float32.
    `parts`: complex numbers are two real elements. `eight`: takes eight-bit floats, as float32.
    `moves`: elements of every dtype, for it leaves them as they are. `heavy`: takes so many
    registers that a thread gets few elements.
    """

    exact: Any
    half: Any = None
    real: bool = False
    scalars: tuple[str, ...] = ()
    parts: bool = False
    eight: bool = False
    moves: bool = False
    heavy: bool = False

    def device(self, output: torch.Tensor) -> Any:
        """The device function for results of that dtype."""
        narrow = output.dtype in (torch.float16, torch.bfloat16)
        return self.half if narrow and self.half is not None else self.exact


@dataclass(frozen=True, slots=True)
class Chosen:
    """A function by name, its operands before they are broadcast, and its scalars."""

    name: str
    operands: Tensors
    scalars: tuple[int | float, ...] = ()


FUNCTIONS = {
    "exp": Function(unary.exp, half.exp, real=True),
    "log": Function(unary.log, real=True),
    "sqrt": Function(unary.sqrt, real=True),
    "rsqrt": Function(unary.rsqrt, real=True),
    "abs": Function(unary.absolute),
    "neg": Function(unary.neg, parts=True),
    "reciprocal": Function(unary.reciprocal, half.reciprocal, real=True),
    "sign": Function(unary.sign),
    "sin": Function(unary.sin, real=True),
    "cos": Function(unary.cos, real=True),
    "floor": Function(unary.floor),
    "ceil": Function(unary.ceil),
    "trunc": Function(unary.trunc),
    "round": Function(unary.round_units),
    "round_fraction": Function(unary.round_fraction),
    "round_multiple": Function(unary.round_multiple),
    "erf": Function(unary.erf, real=True),
    "log1p": Function(unary.log1p, half.log1p, real=True),
    "expm1": Function(unary.expm1, half.expm1, real=True),
    "sigmoid": Function(unary.sigmoid, half.sigmoid, real=True),
    "tanh": Function(unary.tanh, half.tanh, real=True),
    "logical_not": Function(unary.logical_not),
    "bitwise_not": Function(unary.bitwise_not),
    "isnan": Function(unary.isnan, eight=True),
    "isinf": Function(unary.isinf, real=True, eight=True),
    "isfinite": Function(unary.isfinite, real=True, eight=True),
    "gelu_none": Function(unary.gelu_none, half.gelu_none),
    "gelu_tanh": Function(unary.gelu_tanh),
    "relu": Function(activations.relu),
    "silu": Function(activations.silu, half.silu),
    "hardswish": Function(activations.hardswish),
    "hardsigmoid": Function(activations.hardsigmoid),
    "mish": Function(activations.mish, half.mish),
    "selu": Function(activations.selu, half.selu),
    "elu": Function(activations.elu, half.elu, scalars=("alpha",)),
    "leaky_relu": Function(activations.leaky_relu, scalars=("negative_slope",)),
    "hardtanh": Function(activations.hardtanh, scalars=("min_val", "max_val")),
    "softplus": Function(activations.softplus, half.softplus, scalars=("beta", "threshold")),
    "add": Function(binary.add, parts=True),
    "add_scaled": Function(binary.add_scaled),
    "sub": Function(binary.sub, parts=True),
    "sub_scaled": Function(binary.sub_scaled),
    "mul": Function(binary.mul),
    "div": Function(binary.div),
    "div_trunc": Function(binary.div_trunc),
    "floor_divide": Function(binary.floor_divide, heavy=True),
    "remainder": Function(binary.remainder, heavy=True),
    "pow": Function(binary.pow, heavy=True),
    "pow_double": Function(binary.pow_double, heavy=True),
    "maximum": Function(binary.maximum),
    "minimum": Function(binary.minimum),
    "eq": Function(binary.eq, eight=True),
    "ne": Function(binary.ne, eight=True),
    "gt": Function(binary.gt),
    "lt": Function(binary.lt),
    "ge": Function(binary.ge),
    "le": Function(binary.le),
    "logical_and": Function(binary.logical_and),
    "logical_or": Function(binary.logical_or),
    "bitwise_and": Function(binary.bitwise_and),
    "bitwise_or": Function(binary.bitwise_or),
    "bitwise_xor": Function(binary.bitwise_xor),
    "lerp_scalar": Function(binary.lerp_scalar, scalars=("weight",)),
    "prelu": Function(binary.prelu),
    "masked_fill_scalar": Function(binary.masked_fill_scalar, scalars=("value",)),
    "where": Function(selections.where, moves=True),
    "masked_fill": Function(selections.masked_fill, moves=True),
    "lerp_tensor": Function(selections.lerp_tensor),
    "clamp": Function(selections.clamp),
    "clamp_scalar": Function(selections.clamp_scalar),
    "nan_to_num": Function(selections.nan_to_num, parts=True),
}


def choose(
    call: Call, function: str, inputs: Sequence[torch.Tensor | None], params: dict[str, Any]
) -> Chosen | str:
    """What serves a call of the operator whose kernels are named `function`, or why none does."""
    choice = CHOICES.get(function)
    if choice is not None:
        return choice(call, function, inputs, params)
    return _named(function, inputs, params)


def _named(
    function: str, inputs: Sequence[torch.Tensor | None], params: dict[str, Any]
) -> Chosen | str:
    """The function of that name, its scalars those that it is passed."""
    operands = [x for x in inputs if x is not None]
    names = FUNCTIONS[function].scalars
    if not names:
        return Chosen(function, operands)
    dtype = operands[0].dtype
    return Chosen(function, operands, tuple(scalar_argument(dtype, params[n]) for n in names))


Choice = Callable[[Call, str, Any, dict[str, Any]], "Chosen | str"]


def _scaled(call: Call, function: str, inputs: Any, params: dict[str, Any]) -> Chosen | str:
    """Sums and differences, with a factor or without."""
    dtype, alpha = inputs[0].dtype, params.get("alpha", 1)
    if dtype.is_complex:
        if isinstance(alpha, bool) or alpha != 1:
            return "complex tensors are scaled by the reference"
        return Chosen(function, inputs)
    if (reason := refuse_alpha(dtype, alpha)) is not None:
        return reason
    if alpha == 1:
        return Chosen(function, inputs)
    return Chosen(f"{function}_scaled", inputs, (scalar_argument(dtype, alpha),))


def _divided(call: Call, function: str, inputs: Any, params: dict[str, Any]) -> Chosen | str:
    names = {None: "div", "trunc": "div_trunc", "floor": "floor_divide"}
    return Chosen(names[params.get("rounding_mode")], inputs)


def _power(call: Call, function: str, inputs: Any, params: dict[str, Any]) -> Chosen | str:
    if inputs[0].dtype != torch.float64:
        return Chosen("pow", inputs)
    if call.capability is None:
        return "float64 powers are libdevice's, which the interpreter lacks"
    return Chosen("pow_double", inputs)


def _gelu(call: Call, function: str, inputs: Any, params: dict[str, Any]) -> Chosen | str:
    return Chosen(f"gelu_{params.get('approximate', 'none')}", inputs)


def _bitwise_not(call: Call, function: str, inputs: Any, params: dict[str, Any]) -> Chosen | str:
    return Chosen("logical_not" if inputs[0].dtype == torch.bool else function, inputs)


def _round(call: Call, function: str, inputs: Any, params: dict[str, Any]) -> Chosen | str:
    (x,) = inputs
    decimals = int(params.get("decimals", 0))
    if decimals == 0:
        return Chosen("round", inputs)
    if x.element_size() < 4:
        return "16-bit floats are rounded to decimals by the reference"
    if abs(decimals) > 37:
        return f"{decimals} decimals are more than a float32 has"
    name = "round_fraction" if decimals > 0 else "round_multiple"
    return Chosen(name, inputs, (scalar_argument(x.dtype, math.pow(10.0, abs(decimals))),))


def _clamp_tensor(call: Call, function: str, inputs: Any, params: dict[str, Any]) -> Chosen | str:
    x, low, high = inputs
    if low is None:
        return Chosen("minimum", (x, high))
    return Chosen("maximum", (x, low)) if high is None else Chosen("clamp", inputs)


def _clamp_scalar(call: Call, function: str, inputs: Any, params: dict[str, Any]) -> Chosen | str:
    """Bounds that are not given are the dtype's own."""
    dtype = inputs[0].dtype
    if dtype.is_floating_point:
        ends: tuple[int | float, int | float] = (-math.inf, math.inf)
    else:
        ends = (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
    given = (params.get("min"), params.get("max"))
    bounds = (end if bound is None else bound for bound, end in zip(given, ends, strict=True))
    return Chosen(function, inputs, tuple(scalar_argument(dtype, bound) for bound in bounds))


def _nan_to_num(call: Call, function: str, inputs: Any, params: dict[str, Any]) -> Chosen | str:
    dtype = inputs[0].dtype.to_real()
    if not dtype.is_floating_point:
        return Chosen(function, inputs)
    largest = torch.finfo(dtype).max
    given = (params.get("nan"), params.get("posinf"), params.get("neginf"))
    values = (v if x is None else x for x, v in zip(given, (0.0, largest, -largest), strict=True))
    return Chosen(function, inputs, tuple(scalar_argument(dtype, value) for value in values))


def _prelu(call: Call, function: str, inputs: Any, params: dict[str, Any]) -> Chosen | str:
    """Slopes of channels along axis 1."""
    x, weight = inputs
    if weight.numel() == 1:
        return Chosen(function, (x, weight.reshape(())))
    for _ in range(x.dim() - 2):
        weight = weight.unsqueeze(-1)
    return Chosen(function, (x, weight))


CHOICES: dict[str, Choice] = {
    "add": _scaled,
    "bitwise_not": _bitwise_not,
    "clamp_scalar": _clamp_scalar,
    "clamp_tensor": _clamp_tensor,
    "div": _divided,
    "gelu": _gelu,
    "nan_to_num": _nan_to_num,
    "pow": _power,
    "prelu": _prelu,
    "round": _round,
    "sub": _scaled,
}
