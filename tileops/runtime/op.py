"""Operators as Python classes.

In: a class statement with docstring, reference and kernels. Out: a class whose `__init__`,
`forward`, `__call__` and `eval_roofline` follow from the manifest and are generated on first use
(stub.py). Instances hold parameters and nothing of torch.ops, so that they pickle.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from tileops.codegen.model import Role
from tileops.runtime import checked, construction, stub
from tileops.runtime.bound import Bound
from tileops.runtime.boundary import Policy
from tileops.runtime.errors import CallError
from tileops.runtime.registry import Registry, default

__all__ = ["Kernel", "Op", "Policy"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A Triton launcher by its place, imported on first use: "package.module:function".

    A launcher that serves several operators is told which one by the keyword `function`.
    """

    path: str
    function: str | None = None

    def load(self) -> Callable[..., str | None]:
        """The launcher. Raises what importing its module raises."""
        module, _, name = self.path.partition(":")
        found = getattr(importlib.import_module(module), name)
        return found if self.function is None else partial(found, function=self.function)


class _CompileOpNames:
    """The operators that a compiled call of the class becomes; none where there is no boundary."""

    def __get__(self, instance: Any, owner: type[Op]) -> tuple[str, ...]:
        if not owner.has_entry():
            return ()
        bound = owner.bound()
        called = any(a.role is Role.INPUT for a in bound.operator.arguments)
        if bound.header.composite or not called:
            return ()
        return (f"{bound.namespace}::{bound.header.operator}",)


class Op:
    """Base of every operator class; see the family packages."""

    reference: ClassVar[Callable[..., Any] | None] = None
    kernel_types: ClassVar[Mapping[str, Kernel]] = {}
    #: The gradients by name of input, through the Bwd sibling where that is implemented, from the
    #: gradients of the outputs, the outputs, the inputs and the parameters. None leaves a call to
    #: the reference, which also serves double backward and torch.func.
    backward: ClassVar[Callable[..., Mapping[str, Any] | None] | None] = None
    #: The entry that `backward` asks; without one it is the operator's name with Bwd for Fwd.
    backward_op: ClassVar[str | None] = None
    #: The inputs that a meaningful call computes from its other inputs, by name, from those and the
    #: parameters: what rows are measured and tested with.
    dependent_inputs: ClassVar[Callable[..., Mapping[str, Any]] | None] = None
    policy: ClassVar[Policy] = Policy()
    #: False where Inductor cannot compile the kernels, so that policy "kernel" leaves the node.
    inductor_compiles_kernels: ClassVar[bool] = True
    #: The parameter without which results are a draw of torch's generator. Such a call is
    #: differentiated as its reference is, since evaluating that again would draw again.
    draws_without: ClassVar[str | None] = None
    #: Inputs whose integers must not be zero. No call checks contents; rows have none there.
    divisors: ClassVar[tuple[str, ...]] = ()
    #: Keyword-only arguments of `__init__` that hold objects, which no schema carries.
    injected_parameters: ClassVar[tuple[str, ...]] = ()
    registry: ClassVar[Registry | None] = None
    compile_op_names = _CompileOpNames()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "forward" in cls.__dict__ and "__call__" not in cls.__dict__:
            cls.__call__ = Op.__call__  # type: ignore[method-assign]
        if "forward" in cls.__dict__:
            cls.forward = checked.checked(cls.__dict__["forward"])  # type: ignore[method-assign]
        for name in stub.GENERATED:
            if name not in cls.__dict__ and not _written(cls, name):
                setattr(cls, name, stub.Lazy(name, getattr(Op, name)))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """What a class with an `__init__` of its own calls: the generated one."""
        stub.generated(type(self), "__init__")(self, *args, **kwargs)

    @classmethod
    def bound(cls) -> Bound:
        """The registered operator behind the class."""
        return cls._registry().bound(cls._entry() or cls.__name__)

    @classmethod
    def has_entry(cls) -> bool:
        """Whether the manifest declares the class; a base of several operators is not declared."""
        return cls._entry() is not None

    @classmethod
    def _entry(cls) -> str | None:
        """The name of the class, or of the nearest base that is declared."""
        registry = cls._registry()
        names = (base.__name__ for base in cls.__mro__ if base is not Op)
        return next((name for name in names if name in registry), None)

    @classmethod
    def _registry(cls) -> Registry:
        return cls.registry if cls.registry is not None else default()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the operator."""
        return stub.generated(type(self), "forward")(self, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls `forward`."""
        return self.forward(*args, **kwargs)

    def eval_roofline(self) -> tuple[int, int]:
        """(flops, bytes) of this instance's last completed eager call in this thread.

        Compiled calls do not count. Errors: CallError before there was a call, where the entry has
        no roofline, or where the function that it names cannot be imported or fails.
        """
        from tileops.runtime import pricing

        call = stub.last_call(self)
        if call is None:
            raise CallError(
                f"{type(self).__name__}: eval_roofline needs a completed eager call of this "
                "instance in this thread; compiled calls do not count"
            )
        return pricing.price(self.bound(), call)

    def parameters(self) -> dict[str, Any]:
        """The construction parameters by name, `target` last."""
        names = (*stub.parameter_names(type(self)), "target")
        return {name: self.__dict__[name] for name in names if name in self.__dict__}

    def __repr__(self) -> str:
        given = self.parameters()
        if given.get("target") is None:
            given.pop("target", None)
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in given.items())})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or stub.equal(self.parameters(), other.parameters())

    def __hash__(self) -> int:
        # Cheap, and right before __init__ too: Dynamo hashes an instance that it is about to make.
        return hash(type(self))

    def __getstate__(self) -> dict[str, Any]:
        passing = (stub.LAST_CALLS, construction.COPIES)
        return {k: v for k, v in self.__dict__.items() if k not in passing}

    def __setattr__(self, name: str, value: Any) -> None:
        stub.assign(self, name, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A compiled region must find real functions on the class.
        stub.materialise(type(self))
        self.__dict__.update(state)


def _written(cls: type, name: str) -> bool:
    """Whether a base between the class and Op writes the method by hand."""
    for base in cls.__mro__[1:]:
        if base is Op:
            return False
        found = base.__dict__.get(name)
        if found is not None:
            return not isinstance(found, stub.Lazy) and not hasattr(found, "generated_by_tileops")
    return False
