"""What an operator class does not write: `__init__`, `forward` and `__call__`, on first use.

In: a class. Out: its generated methods (methods.py spells them), and what those call: parameters
checked and kept, objects handed over, completed calls remembered.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from tileops.codegen.model import Operator, Role
from tileops.runtime import construction, parameters, spread, targets
from tileops.runtime.bound import Bound
from tileops.runtime.errors import CallError

if TYPE_CHECKING:
    from tileops.runtime.pricing import LastCall

GENERATED = ("__init__", "forward", "__call__")
LAST_CALLS = "_last_calls"
LISTED = "_as_list_"
_lock = threading.RLock()
_PLAIN = (torch.Tensor, torch.nn.Parameter, type(None))


class Lazy:
    """Stands on a class for a function that is generated when somebody first looks at it."""

    def __init__(self, name: str, general: Callable[..., Any]) -> None:
        self.name = name
        self.general = general

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None and not owner.has_entry():  # type: ignore[attr-defined]
            # help() looks at bases too.
            return self.general
        function = generated(owner, self.name)
        return function if instance is None else function.__get__(instance, owner)


def generated(cls: Any, name: str) -> Callable[..., Any]:
    """The generated method of a class, whether or not the class also writes it by hand."""
    made = cls.__dict__.get("_generated_methods")
    if made is None:
        made = materialise(cls)
    return made[name]  # type: ignore[no-any-return]


def materialise(cls: Any) -> dict[str, Callable[..., Any]]:
    """Generates the methods and puts those that the class does not write on it, once."""
    with _lock:
        made = cls.__dict__.get("_generated_methods")
        if made is not None:
            return made  # type: ignore[no-any-return]
        from tileops.runtime.methods import Methods

        methods = Methods(cls)
        made = methods.made
        declared = methods.operator.parameters
        cls._tests = {p.name: (p.type, parameters.fits(p.type)) for p in declared}
        cls._listed = methods.listed
        for name, function in made.items():
            if isinstance(cls.__dict__.get(name), Lazy):
                setattr(cls, name, function)
        cls._generated_methods = made
        return made


def parameter_names(cls: Any) -> tuple[str, ...]:
    """The construction parameters of a class, in manifest order."""
    return tuple(p.name for p in cls.bound().operator.parameters)


def construct(
    self: Any, values: dict[str, Any], target: str | None, injected: dict[str, Any]
) -> None:
    """Checks the parameters and keeps them; sequences become tuples."""
    cls = type(self)
    bound: Bound = cls.bound()
    if target is not None:
        targets.find(target, cls.__name__)
    # Inside a compiled region the operator's own checks are traced with the call.
    casts = {} if torch.compiler.is_compiling() else construction.check(bound, values)
    state = {
        name: parameters.checked(cls.__name__, name, text, test, values[name])
        for name, (text, test) in cls._tests.items()
    }
    checks = bound.functions.get("construct")
    if checks is not None:
        checks(**state)
    listed = {
        LISTED + name: (state[name],) if type(state[name]) is int else state[name]
        for name in cls._listed
    }
    self.__dict__.update(state, target=target, **listed, **injected)
    if casts:
        self.__dict__[construction.CASTS] = casts


def assign(self: Any, name: str, value: Any) -> None:
    """Sets an attribute; a parameter is held to its type and its derived forms follow.

    What a value must be beside others is checked by the next call, so that two parameters can be
    changed one after the other.
    """
    cls = type(self)
    if torch.compiler.is_compiling() or name not in cls.__dict__.get("_tests", ()):
        object.__setattr__(self, name, value)
        return
    text, test = cls._tests[name]
    value = parameters.checked(cls.__name__, name, text, test, value)
    self.__dict__[name] = value
    # The calls so far were made with the value before.
    self.__dict__.pop(LAST_CALLS, None)
    if name in cls._listed:
        self.__dict__[LISTED + name] = (value,) if type(value) is int else value
    if construction.CASTS in self.__dict__:
        known = {key: self.__dict__.get(key) for key in cls._tests} | {name: value}
        self.__dict__[construction.CASTS] = construction.casts(cls.bound(), known)


def held_objects(self: Any, names: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """The objects that the instance holds in parameters that no schema carries."""
    found = {name: self.__dict__.get(name) for name, _ in names}
    return {name: found[name] for name, default in names if found[name] is not default}


def holding(
    self: Any, names: tuple[tuple[str, Any], ...], call: Callable[..., Any], *inputs: Any
) -> Any:
    """A call of an instance that may hold objects: they reach the implementation beside the
    operator, which only an eager call can do."""
    held = held_objects(self, names)
    if not held:
        return call(self, *inputs)
    if torch.compiler.is_compiling():
        refuse_held(self, held)
    op = type(self).bound().header.op
    with spread.giving({(op, name): value for name, value in held.items()}):
        return call(self, *inputs)


def refuse_held(self: Any, held: dict[str, Any]) -> None:
    """Raises under torch.compile, where an object of the caller has no place in the graph."""
    raise CallError(
        f"{type(self).__name__}: holds {', '.join(held)}, which no operator schema carries; such an"
        " instance runs eagerly only, call it outside torch.compile"
    )


def completed(self: Any, *tensors: Any) -> None:
    """Remembers a finished call of real tensors, for `eval_roofline`, per thread."""
    for tensor in tensors:
        if type(tensor) not in _PLAIN:
            return
    self.__dict__.setdefault(LAST_CALLS, {})[threading.get_ident()] = [
        None if tensor is None else (tensor.shape, tensor.dtype) for tensor in tensors
    ]


def input_names(bound: Bound) -> list[str]:
    """The tensors of a call, `out` included, in the order of the schema."""
    return [a.name for a in bound.operator.arguments if a.role in (Role.INPUT, Role.OUT)]


def remember(cls: Any) -> Callable[..., None]:
    """What remembers a finished call of the class."""
    return generated(cls, "completed")


def completed_with(contents: tuple[int, ...]) -> Callable[..., None]:
    """`completed` where a cost function reads contents: of the inputs at these places."""
    from tileops.runtime.pricing import version_of

    def remember(self: Any, *tensors: Any) -> None:
        completed(self, *tensors)
        found = self.__dict__.get(LAST_CALLS, {}).get(threading.get_ident())
        if found is not None:
            given = {place: tensors[place] for place in contents if tensors[place] is not None}
            found.append({place: (item, version_of(item)) for place, item in given.items()})

    return remember


def last_call(self: Any) -> LastCall | None:
    """What `completed` remembers for this thread."""
    from tileops.runtime.pricing import LastCall

    found = self.__dict__.get(LAST_CALLS, {}).get(threading.get_ident())
    if found is None:
        return None
    operator: Operator = type(self).bound().operator
    names = [a.name for a in operator.arguments if a.role in (Role.INPUT, Role.OUT)]
    inputs = {
        name: None if item is None else (tuple(item[0]), item[1])
        for name, item in zip(names, found, strict=False)
    }
    contents = found[len(names)] if len(found) > len(names) else {}
    return LastCall(
        inputs, self.parameters(), {names[place]: item for place, item in contents.items()}
    )


def equal(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Equality of parameters, tensors by value; instances that hold none yet are not equal."""
    if not a or a.keys() != b.keys():
        return False
    for left, right in zip(a.values(), b.values(), strict=True):
        if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
            if left is not right and not (left.shape == right.shape and torch.equal(left, right)):
                return False
        elif type(left) is not type(right) or left != right:
            return False
    return True
