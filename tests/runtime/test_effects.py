"""Every effect of the manifest, end to end: eager, compiled, exported, and under opcheck."""

import pytest
import torch

from tests.runtime import own
from tileops.runtime.errors import CallError

HEAD = """
{name}:
  family: own
  ref_api: none
  status: implemented
  signature:
    forall: {{N: Dim}}
    params: {params}
    inputs:
      {inputs}
    outputs: {outputs}
  workloads:
    - {{label: one, N: 4{row}}}
  roofline: {{flops: "N"}}
"""


def entry(name, inputs, outputs="{}", params="{}", row=""):
    lines = "\n      ".join(inputs)
    return HEAD.format(name=name, inputs=lines, outputs=outputs, params=params, row=row)


F = 'dtype: float32, shape: "[N]"'
FLAG = "{flag: {type: bool, default: false}}"
MANIFEST = "".join(
    [
        entry("BufferFwdOp", [f"x: {{{F}}}"], f"{{y: {{{F}, buffer: out}}}}"),
        entry("StepFwdOp", [f"x: {{{F}}}", f"state: {{{F}, mutated: true}}"], f"{{y: {{{F}}}}}"),
        entry("InplaceFwdOp", [f"x: {{{F}, mutated: true}}"], f"{{y: {{{F}, alias: x}}}}"),
        entry("FillFwdOp", [f"x: {{{F}}}", f"y: {{{F}, mutated: true, write_only: true}}"]),
        entry(
            "MaybeFwdOp", [f"x: {{{F}, mutated: flag}}"], f"{{y: {{{F}, alias: x}}}}", FLAG
        ),
        entry(
            "StatsFwdOp",
            [f"x: {{{F}}}", f"run: {{{F}, mutated: flag}}"],
            f"{{y: {{{F}}}, mean: {{{F}, nullable: save}}}}",
            "{flag: {type: bool, default: false}, save: {type: bool, default: false}}",
        ),
        entry(
            "OptionalFwdOp",
            [f"x: {{{F}}}", f"count: {{{F}, optional: true, mutated: true}}"],
            f"{{y: {{{F}, buffer: out}}}}",
            row=", some: [count]",
        ),
        entry("IdentityFwdOp", [f"x: {{{F}}}"], f"{{y: {{{F}}}}}", FLAG),
    ]
)


def stats(x, run, *, flag=False, save=False):
    outputs = (x - run, x * 2 if save else None)
    return (*outputs, run * 0.5 + x) if flag else outputs


REFERENCES = {
    "BufferFwdOp": lambda x: x + 1,
    "StepFwdOp": lambda x, state: (x * state, state + x),
    "InplaceFwdOp": lambda x: x * 2,
    "FillFwdOp": lambda x, y: x * 3,
    "MaybeFwdOp": lambda x, *, flag=False: x * 4,
    "StatsFwdOp": stats,
    "OptionalFwdOp": lambda x, count=None: x + 1 if count is None else (x + count, count + 1),
    "IdentityFwdOp": lambda x, *, flag=False: x * 1 if flag else x,
}
REGISTRY = own.load(MANIFEST, **REFERENCES)
C = {name: REGISTRY.bound(name).op_class for name in REFERENCES}


def tensors(n=4):
    return torch.arange(1.0, n + 1), torch.full((n,), 2.0)


# Name, parameters, how many of two tensors and whether a buffer is passed.
CALLS = [
    ("BufferFwdOp", {}, 1, False),
    ("BufferFwdOp", {}, 1, True),
    ("StepFwdOp", {}, 2, False),
    ("InplaceFwdOp", {}, 1, False),
    ("FillFwdOp", {}, 2, False),
    ("MaybeFwdOp", {}, 1, False),
    ("MaybeFwdOp", {"flag": True}, 1, False),
    ("StatsFwdOp", {}, 2, False),
    ("StatsFwdOp", {"save": True}, 2, False),
    ("StatsFwdOp", {"flag": True}, 2, False),
    ("StatsFwdOp", {"flag": True, "save": True}, 2, False),
    ("OptionalFwdOp", {}, 1, False),
    ("OptionalFwdOp", {}, 2, False),
    ("OptionalFwdOp", {}, 2, True),
    ("IdentityFwdOp", {}, 1, False),
]
IDS = [f"{n[:-5]}{'-'.join(['', *p])}-{c}{'-out' * o}" for n, p, c, o in CALLS]
every_call = pytest.mark.parametrize(("name", "params", "count", "buffer"), CALLS, ids=IDS)


def inputs_of(count, buffer, n=4):
    given = [item.clone() for item in tensors(n)[:count]]
    return given, ({"out": torch.empty(n)} if buffer else {})


def flat(results):
    return list(results) if isinstance(results, tuple) else [results]


def expected(name, params, count, n):
    """Results, and what the inputs hold afterwards, from the reference."""
    operator = C[name].bound().operator
    given = [item.clone() for item in tensors(n)[:count]]
    found = flat(REFERENCES[name](*given, **params))
    outputs = found[: len(operator.outputs)]
    rest = iter(found[len(operator.outputs) :])
    written = set()
    for overload in C[name].bound().header.overloads:
        written |= set(overload.written)
    for at, tensor in enumerate(operator.signature.inputs[:count]):
        condition = str(tensor.written)
        writes = tensor.written is True or (condition == "flag" and params.get("flag", False))
        if writes:
            alias = [i for i, out in enumerate(operator.outputs) if out.alias == tensor.name]
            given[at] = outputs[alias[0]] if alias else next(rest)
    return outputs, given


def compare(found, wanted):
    assert len(found) == len(wanted)
    for have, want in zip(found, wanted, strict=True):
        assert (have is None) == (want is None)
        if have is not None:
            torch.testing.assert_close(have, want)


def check(call, name, params, count, buffer, n=4):
    given, out = inputs_of(count, buffer, n)
    results = flat(call(*given, **out))
    outputs, after = expected(name, params, count, n)
    compare(results if C[name].bound().operator.outputs else [], outputs)
    compare(given, after)
    return given, out, results


@every_call
def test_eager(name, params, count, buffer):
    given, out, results = check(C[name](**params), name, params, count, buffer)
    if buffer:
        assert results[0] is out["out"]
    writes = params.get("flag", False) or name == "InplaceFwdOp"
    if name in ("InplaceFwdOp", "MaybeFwdOp"):
        assert (results[0] is given[0]) == writes
    fresh = [r for r in results if r is not None and not any(r is g for g in given)]
    pointers = {t.untyped_storage().data_ptr() for t in (*given, *fresh)}
    assert len(pointers) == len(given) + len(fresh), "outputs have memory of their own"


@every_call
def test_versions_of_written_inputs(name, params, count, buffer):
    given, out = inputs_of(count, buffer)
    before = [item._version for item in (*given, *out.values())]
    _, after = expected(name, params, count, 4)
    C[name](**params)(*given, **out)
    original = tensors()
    for at, item in enumerate(given):
        changed = not torch.equal(after[at], original[at])
        assert (item._version > before[at]) == changed
    assert all(t._version > 0 for t in out.values())


@every_call
def test_compiled(name, params, count, buffer):
    torch._dynamo.reset()
    op = C[name](**params)
    for dynamic in (False, True):
        # A function, since torch counts the compilations of callable objects together.
        compiled = torch.compile(
            lambda *a, op=op, **k: op(*a, **k), fullgraph=True, dynamic=dynamic
        )
        for n in (4, 6) if dynamic else (4,):
            given, out, results = check(compiled, name, params, count, buffer, n)
            if buffer:
                assert results[0] is out["out"]
            if name == "InplaceFwdOp" or (name == "MaybeFwdOp" and params):
                assert results[0] is given[0]


@every_call
def test_exported(name, params, count, buffer):
    op = C[name](**params)

    class Model(torch.nn.Module):
        def forward(self, given, out):
            return op(*given, **out)

    given, out = inputs_of(count, buffer)
    sizes = torch.export.Dim("n", min=2, max=64)
    shapes = ([{0: sizes} for _ in given], {k: {0: sizes} for k in out})
    program = torch.export.export(Model(), (given, out), dynamic_shapes=shapes)
    nodes = [n for n in program.graph.nodes if "own" in str(n.target)]
    assert len(nodes) == 1
    module = program.module()
    check(lambda *a, **k: module(list(a), k), name, params, count, buffer, 6)


@every_call
def test_opcheck(name, params, count, buffer):
    bound = C[name].bound()
    given, out = inputs_of(count, buffer)
    overload = "out" if out else "default"
    if bound.branch is not None:
        defaults = {p.name: p.default for p in bound.operator.signature.params}
        order = bound.operator.infer_arguments
        values = {**defaults, **params, **out, **dict(zip(order, given, strict=False))}
        overload = bound.branch(*(values.get(key) for key in order))
    torch.library.opcheck(getattr(bound.packet(), overload), tuple(given), {**params, **out})


def test_a_wrong_overload_names_the_right_one():
    x, run = tensors()
    packet = C["StatsFwdOp"].bound().packet()
    with pytest.raises(CallError, match=r"call own_stats_fwd\.writes_run"):
        packet.default(x, run, flag=True)
    with pytest.raises(CallError, match=r"call own_stats_fwd\.default"):
        packet.writes_run(x, run)


def test_a_written_input_that_is_also_a_source():
    x = torch.arange(1.0, 5)
    y = C["StepFwdOp"]()(x, x)
    assert y.tolist() == [1, 4, 9, 16] and x.tolist() == [2, 4, 6, 8]
