"""The compile boundary of an entry: every check that `tileops validate --compile` makes of it.

In: the rows of an operator, or calls made by hand. Out: `Step`s in the order in which they must
run. The first of them is a cold compile, so that in a fresh process the compiler is the first to
see the operator; those that run compiled code on memory come last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import torch

from tileops.runtime.boundary import policy_of
from tileops.testing import compiled
from tileops.testing.call import Call
from tileops.testing.cases import Case, Row
from tileops.testing.faults import CheckFailed, Fault, NothingToCheck
from tileops.testing.report import sized_calls
from tileops.testing.sizes import with_size
from tileops.testing.steps import Step

__all__ = ["SMALL", "call_of_class", "call_steps", "steps"]

#: What says of a case that its fake can be relied upon.
_FAKED = ("class", "static")

#: Elements at which a compile on the CPU is about the compiler and not about the arithmetic.
SMALL = 2048


# --- the steps of an entry ------------------------------------------------------------------------


def steps(found: Sequence[Row]) -> Iterator[Step]:
    """Every check of an entry, given all of its rows."""
    # What compiles to different code: dtypes, presence, overload.
    alike = _alike(found, lambda row: (*row.branch, *_presence(row)))
    # Layouts and sizes do not depend on dtypes.
    shapes = _alike(found, _presence)
    bound = [rows for rows in alike if _has_boundary(rows[0])]
    sized = _covering(bound)
    for rows in bound:
        row = rows[0]
        yield _step("class", row, lambda row=row: _class_static(row))
        if rows in sized:
            yield _step("class-dynamic", row, lambda rows=rows: _class_dynamic(rows), ("class",))
    for row in found:
        yield _step("static", row, lambda row=row: _static(row), ("class",))
    # A class's frame holds the operator, whose own call says nothing new of dtypes and presence.
    unbound = _alike(found, lambda row: row.overload) if bound else alike
    for rows in unbound:
        yield _step("dynamic", rows[0], lambda rows=rows: _dynamic(rows), ("class", "static"))
    chosen = [rows[0] for rows in shapes]
    for row in chosen:
        yield _step("real", row, lambda row=row: _every_real(row, _same_as_fake), _FAKED)
    traced = (*_FAKED, "dynamic", "real")
    for rows in sized:
        after = (*traced, "class-dynamic")
        yield _step("class-unbacked", rows[0], lambda row=rows[0]: _class_unbacked(row), after)
    for rows in unbound:
        yield _step("unbacked", rows[0], lambda row=rows[0]: _unbacked(row), traced)
    sound = ("static", "real")
    opaque = _stays_opaque(found)
    for rows in _covering(alike) if opaque else alike:
        small = rows[0].shrunk(SMALL)
        yield _step("inductor", rows[0], lambda row=small: _inductor(_call(row)), sound)
    # A backward traced for every presence costs more than all the rest, and takes the same path.
    traced_back = [
        max(rows, key=lambda row: sum(row.case.present.values()))
        for rows in _alike(chosen, lambda row: row.overload)
    ]
    for row in chosen:
        grad = any(row is other for other in traced_back)
        yield _step(
            "opcheck",
            row,
            lambda row=row, grad=grad: _opchecks(row, opaque, grad),
            ("class", *sound, "inductor"),
        )


def call_steps(
    name: str, call: Callable[[], Call], sizes: Callable[[], list[Call]], callee: Any = None
) -> Iterator[Step]:
    """The same checks of calls made by hand, through `callee` where there is one."""

    def step(check: str, run: Callable[[], Any], *after: str) -> Step:
        return Step(check, "", name, run, after)

    yield step("static", lambda: _compiles(call(), callee))
    yield step("dynamic", lambda: compiled.check_dynamic(sizes(), callee=callee), "static")
    yield step("real", lambda: _every_way(call(), _same_as_fake), "static")
    unknown = ("static", "dynamic", "real")
    yield step("unbacked", lambda: _compiles_unbacked(call(), callee), *unknown)
    sound = ("static", "real")
    yield step("inductor", lambda: _inductor(call()), *sound)
    yield step("opcheck", lambda: _every_way(call(), compiled.check_opcheck), *sound, "inductor")


def _presence(row: Row) -> Any:
    return row.overload, tuple(row.case.present.items())


def _covering(groups: Sequence[list[Row]]) -> list[list[Row]]:
    """The groups, in order, that have a dtype case or a presence that none before them has."""
    kept = []
    seen: set[Any] = set()
    for rows in groups:
        facts = {("dtypes", rows[0].branch), ("presence", _presence(rows[0]))}
        if not facts <= seen:
            kept.append(rows)
            seen |= facts
    return kept


def _stays_opaque(found: Sequence[Row]) -> bool:
    """Whether the operator's node is still there after AOT, on the CPU, where Inductor runs."""
    if not found:
        return False
    bound = found[0].bound
    if bound.op_class is None or bound.header.composite:
        return False
    return policy_of(bound.op_class, bound.header.op).cpu == "opaque"


def _alike(found: Sequence[Row], key: Callable[[Row], Any]) -> list[list[Row]]:
    """Rows with one key together, in the order of the first of each."""
    groups: dict[Any, list[Row]] = {}
    for row in found:
        groups.setdefault(key(row), []).append(row)
    return list(groups.values())


def _step(check: str, row: Row, run: Callable[[], Any], after: tuple[str, ...] = ()) -> Step:
    return Step(check, row.case.label, row.id, run, after)


def _call(row: Row) -> Call:
    return row.tensors("cpu").call


# --- on fake CUDA tensors -------------------------------------------------------------------------


def _static(row: Row) -> None:
    case = row.tensors("cuda", "fake")
    with case.within():
        _declared(row, case, _compiles(case.call))


def _compiles(call: Call, callee: Any = None) -> Any:
    """A cold compile; where it fails for lack of a fake, that is what is said."""
    try:
        return compiled.check_static(call, callee=callee)
    except CheckFailed as error:
        if error.fault is Fault.GRAPH:
            _has_fake(call)
        raise


def _has_fake(call: Call) -> None:
    try:
        compiled.fake_result(call)
    except Exception as error:
        raise CheckFailed(
            f"{call.overload._schema.name}: must have a fake that takes the call, got"
            f" {type(error).__name__}: {error}",
            Fault.GRAPH,
        ) from error


def _declared(row: Row, case: Case, result: Any) -> None:
    """The result of a trace is what the manifest says of the row."""
    returned = next(o.returns for o in row.bound.header.overloads if o.name == row.overload)
    specs = [case.instance.outputs[name] for name in returned]
    results = [] if result is None else list(result) if isinstance(result, tuple) else [result]
    for name, spec, item in zip(returned, specs, results, strict=True):
        got = None if item is None else (tuple(item.shape), str(item.dtype).partition(".")[2])
        if got != spec or (item is not None and item.device.type != "cuda"):
            place = "" if item is None else f" on {item.device}"
            raise CheckFailed(
                f"{row.op}: the fake's {name} must be {spec} on cuda, got {got}{place}",
                Fault.RESULT,
            )


def _fake_sizes(row: Row, stack: ExitStack) -> list[Call]:
    """The row at four lengths on fake CUDA tensors of one mode, and that mode entered."""
    mode = row.tensors("cuda", "fake").mode
    assert mode is not None
    stack.enter_context(mode)

    def make(item: Row) -> Call:
        call = item.tensors("cuda", "meta").call
        return call.with_tensors(lambda _, t: torch.empty_like(t, device="cuda"))

    return sized_calls(row, make)


def _dynamic(rows: Sequence[Row], of_class: bool = False) -> None:
    """Four lengths in one frame, of the first row whose rules let a size take them."""
    for row in rows:
        with ExitStack() as stack:
            calls = _fake_sizes(row, stack)
            instance = None
            if of_class:
                calls = [call for call in calls if not call.free]
                # What the class holds is of the mode that its calls are of.
                held = calls[0].tensors if calls else {}
                instance = _instance(row, row.tensors("cuda", "fake"), held)
                calls = [call_of_class(row, call) for call in calls]
            if calls:
                compiled.check_dynamic(calls, callee=instance)
                return
    raise NothingToCheck(
        "a size should be free to take four lengths, got none that the rules of its rows let vary",
        Fault.FIXED,
    )


def _unbacked(row: Row, instance: Any = None) -> None:
    """On real tensors: torch 2.13 takes the sizes of fake ones as known, whatever marks them."""
    call = _call(row.shrunk(SMALL))
    call = call if instance is None else call_of_class(row, call)
    _compiles_unbacked(call, instance)


def _compiles_unbacked(call: Call, callee: Any = None) -> None:
    """Where the call fails with known sizes too, that is what is said."""
    try:
        compiled.check_unbacked(call, callee=callee)
    except CheckFailed as error:
        if error.fault is Fault.UNBACKED:
            _same_as_fake(call)
        raise


def _has_boundary(row: Row) -> bool:
    """Whether the entry's class becomes a node: it takes tensors, and is no composite."""
    header = row.bound.header
    return row.bound.op_class is not None and header.takes_tensors and not header.composite


def _instance(row: Row, case: Case, tensors: Mapping[str, torch.Tensor] | None = None) -> Any:
    """The class with the row's parameters, its construction-time tensors those of `tensors`."""
    cls: Any = row.bound.op_class
    params = {name: (tensors or {}).get(name, value) for name, value in case.params.items()}
    try:
        return cls(**params)
    except Exception as error:
        raise CheckFailed(
            f"{row.op}: must take the parameters of the row, got {type(error).__name__}: {error}",
            Fault.GRAPH,
        ) from error


def _class_static(row: Row) -> None:
    case = row.tensors("cuda", "fake")
    instance = _instance(row, case)
    with case.within():
        _compiles(call_of_class(row, case.call), instance)


def _class_dynamic(rows: Sequence[Row]) -> None:
    _dynamic(rows, of_class=True)


def _class_unbacked(row: Row) -> None:
    _unbacked(row, _instance(row, row.shrunk(SMALL).tensors("cpu")))


def call_of_class(row: Row, call: Call) -> Call:
    """The call without the tensors that the class took at construction."""
    held = {tensor.name for tensor in row.bound.operator.signature.construction}
    return replace(call, kwargs={k: v for k, v in call.kwargs.items() if k not in held})


# --- on real CPU tensors --------------------------------------------------------------------------


def _every_real(row: Row, check: Callable[[Call], Any], grad: bool = True) -> None:
    """The check in every layout, and at the sizes 0 and 1; with `grad` also requiring gradients."""
    small = row.shrunk(SMALL)
    _every_way(_call(small), check, row.bound.header.contiguous, grad)
    _sizes_0_and_1(small, check)


def _sizes_0_and_1(small: Row, check: Callable[[Call], Any]) -> None:
    for size in (0, 1):
        for case in with_size(small.case, size):
            _named(f"size {size}", _call(replace(small, case=case)), check)


def _opchecks(row: Row, opaque: bool, grad: bool) -> None:
    """opcheck in every layout and at those sizes; with `grad` also requiring gradients.

    Its AOT trace takes nearly all of its time. An opaque operator gives one graph in all of them,
    its node, whose strides the rest of opcheck compares: it is traced where gradients are.
    """
    if not opaque:
        _every_real(row, compiled.check_opcheck, grad)
        return
    _every_real(row, compiled.check_opcheck_of_node, grad=False)
    traced = ("contiguous", "requires grad") if grad else ()
    for way, call in compiled.variants(_call(row.shrunk(SMALL)), row.bound.header.contiguous):
        if way in traced:
            _named(_shown(way), call, compiled.check_opcheck)


def _shown(way: str) -> str:
    return "" if way == "contiguous" else way


def _every_way(
    call: Call, check: Callable[[Call], Any], keep: Sequence[str] = (), grad: bool = True
) -> None:
    for way, variant in compiled.variants(call, keep):
        if way == "requires grad" and not grad:
            continue
        _named(_shown(way), variant, check)


def _named(way: str, call: Call, check: Callable[[Call], Any]) -> None:
    try:
        check(call)
    except CheckFailed as error:
        raise CheckFailed(f"{way}: {error}" if way else str(error), error.fault) from error


def _inductor(call: Call) -> None:
    _same_as_fake(call.cloned())
    compiled.check_inductor(call)


def _same_as_fake(call: Call) -> None:
    """`check_fake`; a real call that fails where its fake does not, differs from it too."""
    _has_fake(call)
    try:
        compiled.check_fake(call.cloned())
    except CheckFailed:
        raise
    except Exception as error:
        raise CheckFailed(
            f"{call.overload._schema.name}: the real call must succeed as the fake does, got"
            f" {type(error).__name__}: {error}",
            Fault.RESULT,
        ) from error
