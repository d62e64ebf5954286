"""The dtypes of the manifest language: names, sizes, categories and finite limits, without torch.

A dtype is written by its torch name. `float8_e4m3` is a format of the language that torch has no
dtype for: it may stand in sets and in `representable`, and an operator that needs it is skipped.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DTypeInfo:
    """Facts of one dtype. `low` and `high` are the finite limits of a real dtype."""

    name: str
    bits: int
    category: str
    low: float | int = 0
    high: float | int = 0
    infinite: bool = False
    in_torch: bool = True
    signed: bool = True


def _integer(name: str, bits: int, signed: bool) -> DTypeInfo:
    low = -(1 << (bits - 1)) if signed else 0
    high = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
    return DTypeInfo(name, bits, "int", low, high, signed=signed)


def _float(name: str, bits: int, high: float, *, inf: bool = True, torch: bool = True) -> DTypeInfo:
    return DTypeInfo(name, bits, "float", -high, high, infinite=inf, in_torch=torch)


_F16 = 65504.0
_BF16 = float.fromhex("0x1.fep127")
_F32 = float.fromhex("0x1.fffffep127")
_F64 = float.fromhex("0x1.fffffffffffffp1023")

DTYPES: dict[str, DTypeInfo] = {
    info.name: info
    for info in (
        DTypeInfo("bool", 8, "bool", 0, 1),
        _integer("uint8", 8, False),
        _integer("int8", 8, True),
        _integer("int16", 16, True),
        _integer("int32", 32, True),
        _integer("int64", 64, True),
        _float("float16", 16, _F16),
        _float("bfloat16", 16, _BF16),
        _float("float32", 32, _F32),
        _float("float64", 64, _F64),
        DTypeInfo("complex64", 64, "complex", -_F32, _F32, infinite=True),
        DTypeInfo("complex128", 128, "complex", -_F64, _F64, infinite=True),
        _float("float8_e4m3fn", 8, 448.0, inf=False),
        _float("float8_e5m2", 8, 57344.0),
        _float("float8_e4m3", 8, 240.0, torch=False),
        _float("float8_e5m2fnuz", 8, 57344.0, inf=False),
        _float("float8_e4m3fnuz", 8, 240.0, inf=False),
    )
}

#: Every dtype in declaration order; what the parameter type `torch.dtype` ranges over.
DTYPE_NAMES: tuple[str, ...] = tuple(DTYPES)

_FLOAT8 = {name for name in DTYPES if name.startswith("float8")}
_RANK = {"bool": 0, "int": 1, "float": 2, "complex": 3}


def promote(a: str, b: str) -> str:
    """PyTorch's promotion of two dimensioned tensors.

    Raises ValueError where PyTorch has no promotion (a float8 dtype with anything but itself).
    """
    if a == b:
        return a
    if a in _FLOAT8 or b in _FLOAT8:
        raise ValueError(f"PyTorch does not promote {a} with {b}")
    first, second = DTYPES[a], DTYPES[b]
    if _RANK[first.category] < _RANK[second.category]:
        first, second = second, first
    if first.category == "complex":
        if second.category == "complex" or second.name == "float64":
            return "complex128"
        return first.name
    if first.category != second.category:
        return first.name
    if first.category == "float":
        if first.bits == second.bits:
            return "float32"
        return first.name if first.bits > second.bits else second.name
    if first.signed == second.signed:
        return first.name if first.bits > second.bits else second.name
    signed, unsigned = (first, second) if first.signed else (second, first)
    if signed.bits > unsigned.bits:
        return signed.name
    return f"int{unsigned.bits * 2}"
