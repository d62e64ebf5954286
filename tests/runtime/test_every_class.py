"""A class of every entry that ships, without code: construction, a call on meta tensors, costs."""

import pytest
import torch

import tileops
from tileops.codegen.class_stub import class_stub
from tileops.manifest.workload.text import cost_of
from tileops.runtime.errors import CallError
from tileops.runtime.op import Op
from tileops.runtime.support import TORCH_DTYPES
from tileops.testing import cases

NAMES = [entry.name for entry in tileops.registry.entries]
FAMILIES = sorted({entry.family for entry in tileops.registry.entries})


def results_of(result):
    return list(result) if isinstance(result, tuple) else [] if result is None else [result]


def check(case, cls):
    """One row through the class: outputs as the manifest has them, written ones as passed."""
    op = cls(**case.params)
    result = results_of(op(**case.inputs))
    outputs = list(case.instance.outputs.values())
    if outputs:
        assert len(result) == len(outputs)
    for item, spec in zip(result, outputs, strict=False):
        assert (item is None) == (spec is None)
        if spec is not None:
            assert tuple(item.shape) == spec[0] and item.dtype is TORCH_DTYPES[spec[1]]
    assert op == cls(**case.params) and cls.__name__ in repr(op)
    model = case.instance.case.workload.roofline
    if model is not None and model.func is None:
        assert op.eval_roofline() == cost_of(case.instance, lambda path: None)
    elif model is not None:
        with pytest.raises(CallError, match="is spec-only, so its roofline"):
            op.eval_roofline()


@pytest.mark.parametrize("name", NAMES)
def test_a_class_serves_every_branch_of_its_rows(name):
    cls = type(name, (Op,), {"__doc__": "An entry as it ships, without code."})
    seen = set()
    for case in cases(name, device="meta"):
        instance = case.instance
        key = (case.overload, tuple(instance.case.point.items()).__repr__())
        if key not in seen:
            seen.add(key)
            check(case, cls)
    assert seen


@pytest.mark.parametrize("family", FAMILIES)
def test_stubs_of_every_entry_are_python(family):
    names = {"Tensor": torch.Tensor, "Op": Op}
    for entry in tileops.registry.entries:
        if entry.family == family:
            text = class_stub(tileops.registry.bound(entry.name).operator)
            exec("from __future__ import annotations\nimport torch\n" + text, names)
            assert entry.name in names


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_compiled_call_of_every_class_is_one_node(name, dynamic):
    if tileops.registry.bound(name).header.composite:
        return
    cls = type(name, (Op,), {"__doc__": "An entry as it ships, without code."})
    seen = set()
    for case in cases(name, device="meta"):
        if case.overload in seen:
            continue
        seen.add(case.overload)
        torch._dynamo.reset()
        nodes = []

        def backend(graph, inputs, nodes=nodes):
            nodes += [str(n.target) for n in graph.graph.nodes if "tileops" in str(n.target)]
            return graph.forward

        op = cls(**case.params)
        given = {key: value for key, value in case.inputs.items() if value is not None}
        torch.compile(op, backend=backend, fullgraph=True, dynamic=dynamic)(**given)
        assert len(nodes) == 1, (case.id, nodes)
