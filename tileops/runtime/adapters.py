"""The functions of one overload, with its exact arguments and defaults.

In: a bound operator and an overload. Out: `Functions`, generated as text (function_text.py) so that
a call costs no argument shuffling, and shown in tracebacks through linecache. torch drops an
argument that equals its schema default before it calls any of them, so all carry the same defaults.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import torch

from tileops.codegen.model import OverloadHeader
from tileops.runtime import (
    autograd,
    boundary,
    cache_tag,
    composite,
    construction,
    contents,
    function_text,
    inlining,
    library,
    placement,
    targets,
)
from tileops.runtime.bound import Bound
from tileops.runtime.dispatch import Dispatcher
from tileops.runtime.errors import CallError
from tileops.runtime.reference import own_memory


def build(bound: Bound, overload: OverloadHeader) -> library.Functions:
    """Builds what `torch.ops` calls for one overload."""
    layout = bound.layout(overload, library.schema_text(bound.header, overload))
    dispatcher = Dispatcher(bound, layout)
    names: dict[str, Any] = {
        "_infer": bound.functions["infer"],
        "_keep_tag": cache_tag.keep,
        "_empty": torch.empty,
        "_place": placement.place,
        "_indexed": placement.indexed,
        "_serve": dispatcher.serve,
        "_find": dispatcher.kept.find,
        "_plain": dispatcher.reference.plain,
        "_forward_ad": torch.autograd.forward_ad,
        "_grad_enabled": torch.is_grad_enabled,
        "_below_autograd": torch._C._AutoDispatchBelowAutograd,
        "_Tensor": torch.Tensor,
        "_own": own_memory,
        "_attention": targets.attention,
        "_by_reference": dispatcher.by_reference,
        "_autocast": torch._C._is_any_autocast_enabled,
        "_finish": dispatcher.reference.finish,
        "_implementation": _reference(bound) or dispatcher.reference,
        "_modes": torch._C._len_torch_dispatch_stack,
        "_direct": autograd.is_plain,
        "_validate": contents.validator(bound),
        "_refuse_transform": autograd.transform_refusal(bound),
        "_policy": boundary.decider(bound),
        "_kernels": inlining.inliner(dispatcher),
    }
    names |= {f"_default_{a.name}": a.default for a in layout.arguments if not a.required}
    names |= {f"_gather_{name}": gather for name, (_, gather) in layout.spread.items()}
    names |= {f"_follow_{name}": construction.follower(bound, name) for name in layout.held}
    names |= {f"_infinite_{name}": value for name, value in layout.infinite.items()}
    branches = bound.branch is not None
    if branches:
        names["_branch"] = bound.branch
        names["_wrong_branch"] = _wrong_branch(bound, overload)
    packet = bound.packet()
    names["_operator"] = getattr(packet, overload.name)

    label = f"{bound.namespace}.{bound.header.operator}.{overload.name}"
    whole = library.is_composite(bound.header)
    if whole:
        names["_compose"] = composite.composer(bound, layout)
    texts = {
        "run": (function_text.composite if whole else function_text.run)(layout, branches),
        "fake": function_text.fake(layout, branches),
        "plain": function_text.plain(layout, branches),
        "transform": function_text.transform(layout, bound.header.differentiable),
        "autograd": function_text.autograd(layout, getattr(bound.op_class, "draws_without", None)),
        "boundary": function_text.boundary(layout),
        "kernels": function_text.kernels(layout, branches),
    }
    made = {kind: define(label, kind, text, names)[kind] for kind, text in texts.items()}
    names["_plain_function"] = made["plain"]
    names["_transform_function"] = made["transform"]
    names["_run_function"] = made["run"]
    names["_apply"] = autograd.applier(bound, layout, made["run"])
    return library.Functions(**made)


def define(label: str, kind: str, text: str, names: dict[str, Any]) -> dict[str, Any]:
    """Executes generated text over `names`; tracebacks show its lines."""
    filename = f"<tileops {label} {kind}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), names)
    return names


def _reference(bound: Bound) -> Callable[..., Any] | None:
    return getattr(bound.op_class, "reference", None)


def _wrong_branch(bound: Bound, overload: OverloadHeader) -> Callable[[str], None]:
    name = bound.header.operator

    def refuse(right: str) -> None:
        raise CallError(
            f"{name}: this call writes other arguments than the overload {overload.name} does; "
            f"call {name}.{right}"
        )

    return refuse


def traced(function: Callable[..., Any]) -> str:
    """The generated text behind a function, for `tileops show`."""
    return "".join(linecache.getlines(function.__code__.co_filename))
