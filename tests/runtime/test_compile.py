"""torch.compile: one own node, dynamic and unbacked sizes, effects, opcheck, boundary policies."""

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.testing import CompileCounterWithBackend
from torch._inductor.utils import run_and_get_code

from tests.runtime import sample_operators as sample
from tileops.runtime.errors import CallError
from tileops.runtime.targets import use_target

ops = getattr(torch.ops, sample.NAMESPACE)


@pytest.fixture(autouse=True)
def cold():
    torch._dynamo.reset()
    with torch._inductor.config.patch(force_disable_caches=True):
        yield
    torch._dynamo.reset()


def own_nodes(function, *args):
    """The calls of our operators in the Dynamo graph of a cold fullgraph compile."""
    graphs = []

    def backend(module, inputs):
        graphs.append(module.graph)
        return module.forward

    result = torch.compile(function, backend=backend, fullgraph=True)(*args)
    assert len(graphs) == 1
    calls = [n for n in graphs[0].nodes if n.op in ("call_function", "call_method")]
    return [str(n.target) for n in calls], result


CALLS = {
    "rms_norm": (
        lambda x, w: ops.rms_norm_fwd(x, w, normalized_shape=[8], eps=1e-6),
        lambda: (torch.randn(3, 8), torch.randn(8)),
    ),
    "rms_norm_class": (
        sample.CLASSES["RMSNormFwdOp"]((8,), eps=1e-6),
        lambda: (torch.randn(3, 8), torch.randn(8)),
    ),
    "add": (sample.CLASSES["AddFwdOp"](alpha=2), lambda: (torch.randn(3, 8), torch.randn(8))),
    "out": (
        lambda x, y, out: ops.scale_fwd(x, y, out=out),
        lambda: (torch.randn(3, 8), torch.randn(3, 8), torch.empty(3, 8)),
    ),
    "out_class": (
        sample.CLASSES["ScaleFwdOp"](),
        lambda: (torch.randn(3, 8), torch.randn(3, 8), torch.empty(3, 8)),
    ),
    "writes": (
        sample.CLASSES["RunningFwdOp"](training=True),
        lambda: (torch.randn(3, 8), torch.randn(8)),
    ),
    "in_place": (sample.CLASSES["ShiftFwdOp"](), lambda: (torch.randn(3, 8), torch.randn(3, 8))),
    "no_tensor": (lambda x: ops.sinusoidal_fwd(seq_len=3, d_model=8), lambda: (torch.randn(1),)),
}


@pytest.mark.parametrize("name", CALLS)
def test_cold_fullgraph_gives_one_own_node(name):
    function, make = CALLS[name]
    args = make()
    copies = [a.clone() for a in args]
    targets, result = own_nodes(function, *args)
    own = [t for t in targets if t.startswith(sample.NAMESPACE)]
    assert len(own) == 1, targets
    assert [t for t in targets if t not in own and "getitem" not in t] == []
    expected = function(*copies)
    torch.testing.assert_close(result, expected)
    torch.testing.assert_close(args, tuple(copies))


@pytest.mark.parametrize("name", CALLS)
def test_inductor_gives_the_same_values(name):
    function, make = CALLS[name]
    args = make()
    copies = [a.clone() for a in args]
    result = torch.compile(function, fullgraph=True)(*args)
    torch.testing.assert_close(result, function(*copies))
    torch.testing.assert_close(args, tuple(copies))


def test_a_composite_is_one_node_and_then_its_stages():
    x, y = torch.randn(3, 8, requires_grad=True), torch.randn(3, 8)
    expected = sample.CLASSES["NormAddFwdOp"](8)(x, y)

    def function(a, b):
        return ops.norm_add_fwd(a, b, size=8)

    targets, result = own_nodes(function, x, y)
    assert targets == [f"{sample.NAMESPACE}.norm_add_fwd"]
    torch.testing.assert_close(result, expected)
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    gradient = torch.autograd.grad(compiled(x, y).square().sum(), x)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected.square().sum(), x))
    with pytest.raises(CallError, match="x axis -1 must be 9, got 8"):
        ops.norm_add_fwd(x, y, size=9)
    assert sample.CLASSES["NormAddFwdOp"].compile_op_names == ()
    targets, _ = own_nodes(sample.CLASSES["NormAddFwdOp"](8), x, y)
    stages = [t for t in targets if t.startswith(sample.NAMESPACE)]
    assert [t.split(".")[1] for t in stages] == ["rms_norm_fwd", "fused_add_rms_norm_fwd"]


def test_class_without_tensors_follows_the_default_device():
    op = sample.CLASSES["SinusoidalFwdOp"](seq_len=3, d_model=4)
    compiled = torch.compile(lambda: op(), fullgraph=True, backend="eager")
    assert compiled().device.type == "cpu"
    with torch.device("meta"):
        assert op().device.type == "meta"


def test_four_lengths_are_one_frame():
    counter = CompileCounterWithBackend("aot_eager")
    norm = sample.CLASSES["RMSNormFwdOp"]((24,))

    @torch.compile(backend=counter, fullgraph=True, dynamic=True)
    def model(x, w):
        return ops.add_fwd(norm(x, w), x)

    w = torch.randn(24)
    for rows in (8, 9, 300, 301):
        x = torch.randn(rows, 24)
        torch.testing.assert_close(model(x, w), F.rms_norm(x, (24,), w) + x)
    assert counter.frame_count == 1


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_unbacked_rows_compile(backend):
    norm = sample.CLASSES["RMSNormFwdOp"]((8,))
    compiled = torch.compile(
        lambda x, w: ops.fused_add_rms_norm_fwd(norm(x, w), x, w), backend=backend, fullgraph=True
    )
    x, w = torch.randn(5, 8), torch.randn(8)
    torch._dynamo.decorators.mark_unbacked(x, 0)
    y, total = compiled(x, w)
    torch.testing.assert_close(total, F.rms_norm(x, (8,), w) + x)
    assert y.shape == x.shape


@pytest.mark.parametrize("transposed", [False, True])
def test_training_matches_the_reference(transposed):
    def loss(x, w, norm):
        y, total = ops.fused_add_rms_norm_fwd(norm(x, w), x, w)
        return (y * total).sum()

    def make():
        x = torch.randn(8, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        x = x.t() if transposed else x.reshape(5, 8)
        return x.detach().requires_grad_(), torch.ones(8, dtype=torch.float64, requires_grad=True)

    def plain(x, w):
        total = F.rms_norm(x, (8,), w) + x
        return (F.rms_norm(total, (8,), w, 1e-6) * total).sum()

    expected = torch.autograd.grad(plain(*(args := make())), args)
    norm = sample.CLASSES["RMSNormFwdOp"]((8,))
    for backend in (None, "aot_eager", "inductor"):
        args = make()
        function = lambda x, w: loss(x, w, norm)  # noqa: E731
        if backend is not None:
            function = torch.compile(function, backend=backend, fullgraph=True)
        torch.testing.assert_close(torch.autograd.grad(function(*args), args), expected)


def test_inductor_keeps_an_overlapping_source_right(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")

    def function(x):
        source = x.clone()
        ops.shift_fwd(x, source, target="triton")
        return x + 1

    x = torch.randn(4)
    expected = x + x.flip(0) + 1
    torch.testing.assert_close(torch.compile(function, fullgraph=True)(x), expected)


def test_contiguous_input_arrives_contiguous_from_inductor():
    compiled = torch.compile(lambda x: ops.quant_fwd((x * 2).t()), fullgraph=True)
    x = torch.randn(4, 6)
    torch.testing.assert_close(compiled(x), ops.quant_fwd((x * 2).t().contiguous()))


def test_errors_keep_their_text():
    compiled = torch.compile(
        lambda x, w: ops.rms_norm_fwd(x, w, normalized_shape=[8]), backend="eager", fullgraph=True
    )
    with pytest.raises(Exception, match=r"weight axis 0 must be normalized_shape\[0\] = 8, got 7"):
        compiled(torch.randn(3, 8), torch.randn(7))


OPCHECKS = {
    "rms_norm": lambda: (
        ops.rms_norm_fwd.default,
        (torch.randn(3, 8, requires_grad=True), torch.randn(8)),
        {"normalized_shape": [8]},
    ),
    "transposed": lambda: (ops.rms_norm_fwd.default, (torch.randn(8, 3).t(),),
                           {"normalized_shape": [8]}),
    "empty": lambda: (ops.rms_norm_fwd.default, (torch.randn(0, 8),), {"normalized_shape": [8]}),
    "one": lambda: (ops.add_fwd.default, (torch.randn(1, 8), torch.randn(3, 1)), {"alpha": 2}),
    "absent": lambda: (ops.mean_saving_fwd.default, (torch.randn(3, 8),), {}),
    "present": lambda: (ops.mean_saving_fwd.default, (torch.randn(3, 8),), {"save": True}),
    "out": lambda: (ops.scale_fwd.out, (torch.randn(3, 8), torch.randn(3, 8)),
                    {"out": torch.empty(3, 8)}),
    "writes": lambda: (
        ops.running_fwd.writes_running,
        (torch.randn(3, 8, requires_grad=True), torch.randn(8)),
        {"training": True},
    ),
    "in_place": lambda: (ops.shift_fwd.default, (torch.randn(3, 8), torch.randn(3, 8)), {}),
    "no_tensor": lambda: (ops.sinusoidal_fwd.default, (), {"seq_len": 3, "d_model": 4}),
    "quant": lambda: (ops.quant_fwd.default, (torch.randn(3, 8),), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", OPCHECKS)
def test_opcheck(name):
    operator, args, kwargs = OPCHECKS[name]()
    torch.library.opcheck(operator, args, kwargs)


def test_reference_policy_fuses_and_keeps_the_dynamo_node():
    def chain(x, y):
        return ops.add_fwd(ops.add_fwd(x, y), y, alpha=3)

    x, y = torch.randn(64, 8), torch.randn(8)
    targets, _ = own_nodes(chain, x, y)
    assert len(targets) == 2
    torch._dynamo.reset()
    result, (code,) = run_and_get_code(torch.compile(chain, fullgraph=True), x, y)
    torch.testing.assert_close(result, x + y + 3 * y)
    assert sample.NAMESPACE not in code


def test_reference_policy_trains_and_is_dynamic():
    def chain(x, y):
        return ops.add_fwd(ops.add_fwd(x, y), y, alpha=3)

    y = torch.randn(8)
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(chain, backend=counter, fullgraph=True, dynamic=True)
    for rows in (9, 300, 301):
        x = torch.randn(rows, 8, requires_grad=True)
        (gradient,) = torch.autograd.grad(compiled(x, y).sum(), x)
        assert torch.equal(gradient, torch.ones_like(x))
    assert counter.frame_count == 1
    torch._dynamo.reset()
    with use_target("eager"):
        _, (code,) = run_and_get_code(torch.compile(chain, fullgraph=True), torch.randn(9, 8), y)
    assert f"{sample.NAMESPACE}.add_fwd" in code


def test_export_keeps_the_node():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = sample.CLASSES["RMSNormFwdOp"]((8,))
            self.weight = torch.nn.Parameter(torch.randn(8))

        def forward(self, x):
            return ops.add_fwd(self.norm(x, self.weight), x)

    x = torch.randn(4, 8)
    rows = torch.export.Dim("rows")
    program = torch.export.export(Model(), (x,), dynamic_shapes=({0: rows},))
    for exported in (program, program.run_decompositions({})):
        own = [str(n.target) for n in exported.graph.nodes if sample.NAMESPACE in str(n.target)]
        assert own == [f"{sample.NAMESPACE}.rms_norm_fwd.default",
                       f"{sample.NAMESPACE}.add_fwd.default"]  # fmt: skip
    longer = torch.randn(9, 8)
    assert program.module()(longer).shape == (9, 8)
