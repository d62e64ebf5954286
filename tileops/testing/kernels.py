"""Triton kernels without a GPU: which launches a launcher makes, what they compile to, what they
compute in the interpreter.

In: a launcher and example tensors. Out: recorded launches, the registers, spilled bytes and shared
memory of their compiled code, or values.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tileops.runtime.launch import Call

__all__ = [
    "Declined",
    "Launch",
    "Resources",
    "compile_launch",
    "interpret",
    "record",
    "require_interpreter",
]

Launcher = Callable[..., str | None]
TensorLike = torch.Tensor | None

_TYPES = {
    torch.bool: "i1",
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.uint16: "u16",
    torch.int16: "i16",
    torch.uint32: "u32",
    torch.int32: "i32",
    torch.uint64: "u64",
    torch.int64: "i64",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.float64: "fp64",
    torch.float8_e4m3fn: "fp8e4nv",
    torch.float8_e5m2: "fp8e5",
}
_ALIGNMENT = 16


class Declined(Exception):
    """The launcher declined the call; the message is its reason."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch: what `Call.launch` was given, sorted into kernel arguments and options."""

    kernel: Any
    grid: tuple[int, ...]
    args: dict[str, Any]
    constexprs: dict[str, Any]
    options: dict[str, Any]

    @property
    def name(self) -> str:
        """The kernel's function name."""
        return str(self.kernel.__name__)


@dataclass(frozen=True, slots=True)
class Resources:
    """What one program of a compiled kernel takes."""

    registers: int
    """Registers of a thread."""
    spills: int
    """Bytes of a thread's stack; registers spill there."""
    shared: int
    """Bytes of shared memory of a program."""


class _RecordingCall(Call):
    """A call that notes its launches instead of making them."""

    __slots__ = ("launches",)

    def __init__(self, capability: tuple[int, int] | None) -> None:
        super().__init__(torch.device("meta"), capability)
        self.launches: list[Launch] = []

    def launch(self, kernel: Any, grid: tuple[int, ...], *args: Any, **options: Any) -> None:
        names = kernel.arg_names
        bound = dict(zip(names, args, strict=False))
        bound |= {name: options.pop(name) for name in list(options) if name in names}
        constexpr_names = {names[i] for i in kernel.constexprs}
        missing = [
            parameter.name
            for parameter in kernel.params
            if parameter.name not in bound and not parameter.has_default
        ]
        if missing:
            raise TypeError(f"{kernel.__name__}: no argument for {', '.join(missing)}")
        for parameter in kernel.params:
            bound.setdefault(parameter.name, parameter.default)
        self.launches.append(
            Launch(
                kernel=kernel,
                grid=tuple(int(size) for size in grid),
                args={name: bound[name] for name in names if name not in constexpr_names},
                constexprs={name: bound[name] for name in names if name in constexpr_names},
                options=dict(options),
            )
        )


def record(
    launcher: Launcher,
    outputs: Sequence[TensorLike],
    inputs: Sequence[TensorLike],
    params: Mapping[str, Any] | None = None,
    capability: tuple[int, int] | None = (9, 0),
) -> list[Launch]:
    """The launches `launcher` makes for tensors like these, on a GPU of that capability.

    The tensors may live anywhere: their meta twins (shape, stride, offset, dtype) are passed on.
    Raises `Declined` when the launcher declines.
    """
    _refuse_interpreter("record")
    call = _RecordingCall(capability)
    reason = launcher(call, *map(_meta, outputs), *map(_meta, inputs), **dict(params or {}))
    if reason is not None:
        raise Declined(reason)
    return call.launches


def compile_launch(launch: Launch, capability: int = 90) -> Resources:
    """Compiles a recorded launch for sm_80, sm_90 or sm_100, with the JIT's specialisation.

    Pointers count as aligned to 16 bytes unless the tensor's offset says otherwise.
    """
    _refuse_interpreter("compile_launch")
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    if not isinstance(capability, int):
        capability = capability[0] * 10 + capability[1]
    signature, constants, attributes = _specialise(launch)
    source = ASTSource(launch.kernel, signature, constants, attributes)
    compiled = triton.compile(
        source, target=GPUTarget("cuda", capability, 32), options=dict(launch.options)
    )
    registers, stack = _resource_usage(compiled.asm["cubin"], launch.name)
    return Resources(registers, stack, int(compiled.metadata.shared))


def interpret(
    launcher: Launcher,
    outputs: Sequence[TensorLike],
    inputs: Sequence[TensorLike],
    params: Mapping[str, Any] | None = None,
) -> None:
    """Runs `launcher` on CPU tensors in Triton's interpreter; it writes `outputs`.

    The interpreter is chosen when Triton is imported, so the process must have been started with
    TRITON_INTERPRET=1. Raises `Declined` when the launcher declines.
    """
    require_interpreter("interpret")
    call = Call(torch.device("cpu"), None)
    reason = launcher(call, *outputs, *inputs, **dict(params or {}))
    if reason is not None:
        raise Declined(reason)


def _interpreting() -> bool:
    from triton import knobs

    return bool(knobs.runtime.interpret)


def require_interpreter(what: str) -> None:
    """Raises unless Triton interprets kernels in this process."""
    if not _interpreting():
        raise RuntimeError(f"{what}() needs a process started with TRITON_INTERPRET=1")


def _refuse_interpreter(what: str) -> None:
    if _interpreting():
        raise RuntimeError(f"{what}() needs a process started without TRITON_INTERPRET=1")


def _meta(tensor: TensorLike) -> TensorLike:
    """The same sizes, strides, offset and dtype, without storage."""
    if tensor is None or tensor.is_meta:
        return tensor
    # The storage is sized by hand: `.to("meta")` would lose strides and offsets.
    span = tensor.storage_offset() + 1
    span += sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True) if n > 0)
    base = torch.empty(span, dtype=tensor.dtype, device="meta")
    return base.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def _specialise(
    launch: Launch,
) -> tuple[dict[str, str], dict[tuple[int, ...], Any], dict[tuple[int, ...], Any]]:
    """Signature, constants and attributes, as the JIT would derive them from the arguments."""
    signature: dict[str, str] = {}
    constants: dict[tuple[int, ...], Any] = {}
    attributes: dict[tuple[int, ...], Any] = {}
    for index, parameter in enumerate(launch.kernel.params):
        name = parameter.name
        if parameter.is_constexpr:
            signature[name] = "constexpr"
            constants[(index,)] = launch.constexprs[name]
            continue
        value = launch.args[name]
        fixed = value is None or (
            isinstance(value, int)
            and not isinstance(value, bool)
            and value == 1
            and not parameter.do_not_specialize
        )
        if fixed:
            signature[name] = "constexpr"
            constants[(index,)] = value
            continue
        signature[name] = parameter.annotation_type or _type_of(value)
        aligned = not (parameter.do_not_specialize or parameter.do_not_specialize_on_alignment)
        if aligned and _is_aligned(value):
            attributes[(index,)] = [["tt.divisibility", _ALIGNMENT]]
    return signature, constants, attributes


def _type_of(value: Any) -> str:
    """Triton's name of an argument's type."""
    if isinstance(value, torch.Tensor):
        return f"*{_TYPES[value.dtype]}"
    if isinstance(value, bool):
        return "u1"
    if isinstance(value, int):
        if -(2**31) <= value < 2**31:
            return "i32"
        return "i64" if value < 2**63 else "u64"
    if isinstance(value, float):
        return "fp32"
    if type(value).__name__ == "TensorDescriptor":
        return f"tensordesc<{_TYPES[value.base.dtype]}{list(value.block_shape)}>"
    raise TypeError(f"no kernel argument type for {type(value).__name__}")


def _is_aligned(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.storage_offset() * value.itemsize % _ALIGNMENT == 0
    return isinstance(value, int) and not isinstance(value, bool) and value % _ALIGNMENT == 0


def _resource_usage(cubin: bytes, name: str) -> tuple[int, int]:
    """Registers and stack bytes of a thread, as cuobjdump reads them from the code."""
    from triton import knobs

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        text = subprocess.run(
            [knobs.nvidia.cuobjdump.path, "--dump-resource-usage", str(path)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    for line in text.splitlines():
        fields = dict(field.split(":", 1) for field in line.split() if ":" in field)
        if "REG" in fields:
            return int(fields["REG"]), int(fields.get("STACK", 0)) + int(fields.get("LOCAL", 0))
    raise RuntimeError(f"cuobjdump shows no resource usage for {name}")
