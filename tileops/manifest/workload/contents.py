"""Contents of metadata tensors held to what the signature says of them.

In: a workload, a branch, what each name is, and contents by tensor. Out: the requirements that do
not hold, or the first of them as a sentence. Rows are checked with generated contents; a call with
`validate_inputs` hands over what it was passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from tileops.diagnostics.text import shorten
from tileops.manifest.language.arrays import Values
from tileops.manifest.language.evaluate import evaluate
from tileops.manifest.language.symbolic import DomainError
from tileops.manifest.language.syntax import Expr, Name, names_in
from tileops.manifest.signature.interpret import show
from tileops.manifest.workload.branch import Branch, Workload


def broken_requirements(
    workload: Workload, branch: Branch, env: Mapping[str, Any], contents: Mapping[str, Values]
) -> Iterator[tuple[str, int]]:
    """The requirements, by tensor and place, that the contents break.

    One that reads something unknown is passed over: a call does not know the lists its lengths
    came from. Raises `DomainError` where an argument is outside a primitive's domain.
    """
    for name, calls in branch.required.items():
        for at, arguments in enumerate(calls):
            known = all(_known(item, env, contents) for item in arguments)
            if name not in contents or not known:
                continue
            given = [
                contents[item.id]
                if isinstance(item, Name) and item.id in contents
                else evaluate(item, env)
                for item in arguments
            ]
            if not workload.metadata[name].requirements[at].predicate.holds(contents[name], given):
                yield name, at


def _known(argument: Expr, env: Mapping[str, Any], contents: Mapping[str, Values]) -> bool:
    if isinstance(argument, Name) and argument.id in contents:
        return True
    return all(name in env for name in names_in(argument))


def requirement_sentence(
    workload: Workload, name: str, at: int, env: Mapping[str, Any], contents: Mapping[str, Values]
) -> str:
    """What a broken requirement is told as."""
    requirement = workload.metadata[name].requirements[at]
    read: set[str] = set().union(*map(names_in, requirement.arguments))
    known = ", ".join(f"{key}={shorten(show(env[key]))}" for key in sorted(read) if key in env)
    ending = f" ({known})" if known else ""
    return f"{name} must satisfy {requirement}, got {contents[name]}{ending}"


def broken_contents(
    workload: Workload,
    params: Mapping[str, Any],
    indices: Mapping[str, Any],
    passed: frozenset[str],
    contents: Mapping[str, Values],
) -> str | None:
    """What is wrong with the contents of a call's metadata tensors, as a sentence, or None.

    `passed` are the optional tensors with a presence of their own, `contents` the tensors present
    that have `values`. Tensors that declare the same deterministic `values` must be equal too.
    """
    branch = workload.branch(workload.point(params, passed))
    env = {**params, **{name: value for name, value in indices.items() if value is not None}}
    try:
        for name, expr in branch.lets.items():
            if name not in env and all(key in env for key in names_in(expr)):
                env[name] = evaluate(expr, env)
        for name, at in broken_requirements(workload, branch, env, contents):
            return requirement_sentence(workload, name, at, env, contents)
    except DomainError as error:
        return str(error)
    for first, second in combinations(contents, 2):
        one, other = workload.metadata[first].generation, workload.metadata[second].generation
        alike = not one.generator.seeded and str(one) == str(other)
        if alike and list(contents[first].data) != list(contents[second].data):
            return (
                f"{second} must equal {first}, both being {one},"
                f" got {contents[second]} and {contents[first]}"
            )
    return None
